package driver

// cudaScheduleBlockingSync is CU_CTX_SCHED_BLOCKING_SYNC of cuda.h.
const cudaScheduleBlockingSync = 4

// LetWaitsSleep makes threads of this process sleep while they wait for a CUDA
// device, of which CUDA by itself makes them spin on a core. It is to be called
// before the device's plugin is loaded. Where the process uses the device already,
// the host has made its own choice, and it stands. It calls the driver, so the
// device must have been proven.
func LetWaitsSleep(ordinal int) error { return letWaitsSleep("libcuda.so.1", ordinal) }

func letWaitsSleep(name string, ordinal int) error {
	c, err := openCUDA(name)
	if err != nil {
		return err
	}
	l := library{name: name, handle: c.handle}
	var (
		state func(device int32, flags *uint32, active *int32) int32
		set   func(device int32, flags uint32) int32
	)
	if err := l.bindAll([]function{
		{"cuDevicePrimaryCtxGetState", &state},
		{"cuDevicePrimaryCtxSetFlags_v2", &set},
	}); err != nil {
		return err
	}
	var device, active int32
	var flags uint32
	if err := c.check("cuInit", c.init(0)); err != nil {
		return err
	}
	if err := c.check("cuDeviceGet", c.get(&device, int32(ordinal))); err != nil {
		return err
	}
	if err := c.check("cuDevicePrimaryCtxGetState", state(device, &flags, &active)); err != nil || active != 0 {
		return err
	}
	return c.check("cuDevicePrimaryCtxSetFlags", set(device, cudaScheduleBlockingSync))
}
