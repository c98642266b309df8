package mem

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"qtsaccel/core/status"
)

func files(m map[string]string) fstest.MapFS {
	root := fstest.MapFS{}
	for name, content := range m {
		root[name] = &fstest.MapFile{Data: []byte(content)}
	}
	return root
}

func TestWhatCgroupsLeave(t *testing.T) {
	const stat2 = "anon 700\nfile 250\ninactive_file 200\nactive_file 50\n"
	for name, c := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"none":            {nil, unlimited},
		"unreadable":      {map[string]string{"proc/self/cgroup": "nonsense\n0\n"}, unlimited},
		"v2, no limit":    {map[string]string{"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/memory.max": "max\n", "sys/fs/cgroup/a/memory.current": "5\n"}, unlimited},
		"v2":              {map[string]string{"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "2000\n", "sys/fs/cgroup/a/b/memory.current": "950\n", "sys/fs/cgroup/a/b/memory.stat": stat2}, 1300},
		"v2, from above":  {map[string]string{"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/memory.max": "1000\n", "sys/fs/cgroup/a/memory.current": "400\n", "sys/fs/cgroup/a/b/memory.max": "2000\n", "sys/fs/cgroup/a/b/memory.current": "0\n"}, 600},
		"v2, a container": {map[string]string{"proc/self/cgroup": "0::/host/only\n", "sys/fs/cgroup/memory.max": "1000\n", "sys/fs/cgroup/memory.current": "100\n"}, 900},
		"v1": {map[string]string{
			"proc/self/cgroup": "9:name=systemd:/\n4:memory:/job\n1:cpu:/x\n", "sys/fs/cgroup/memory/job/memory.limit_in_bytes": "4096\n",
			"sys/fs/cgroup/memory/job/memory.usage_in_bytes": "5000\n", "sys/fs/cgroup/memory/job/memory.stat": "inactive_file 4000\ntotal_inactive_file 1000\ntotal_active_file 0\n",
		}, 96},
		"v1, no limit": {map[string]string{"proc/self/cgroup": "4:memory:/\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n", "sys/fs/cgroup/memory/memory.usage_in_bytes": "1\n"}, unlimited},
	} {
		require.Equal(t, c.want, cgroupFree(files(c.files)), name)
	}
}

func TestWhatTheMachineHas(t *testing.T) {
	require.EqualValues(t, unlimited, machineFree(files(nil)))
	require.EqualValues(t, 1100<<10, machineFree(files(map[string]string{
		"proc/meminfo": "MemTotal:    3000 kB\nMemFree: 10 kB\nMemAvailable:   1000 kB\nSwapFree:  100 kB\n",
	})))
}

func TestCheckSaysWhatIsWantedAndFree(t *testing.T) {
	free := Available()
	require.Greater(t, free, int64(1<<20))
	require.NoError(t, Check(1))
	err := Check(1 << 60)
	require.Equal(t, status.OutOfMemory, status.Of(err))
	require.ErrorContains(t, err, "1152921504606846976 bytes wanted, ")
	require.ErrorContains(t, err, " free")
}

// childTask, when set, makes the test binary a child under a limit.
const childTask = "QTSACCEL_MEM_TEST_CHILD"

// child takes too much, which must be an error and not its end, and then what
// there is.
func TestMain(m *testing.M) {
	task := os.Getenv(childTask)
	if task == "" {
		os.Exit(m.Run())
	}
	if task == "address space" { // what the process has and 700 MiB
		statm, err := os.ReadFile("/proc/self/statm")
		must(err)
		pages, err := strconv.ParseUint(strings.Fields(string(statm))[0], 10, 64)
		must(err)
		limit := pages*uint64(os.Getpagesize()) + 700<<20
		must(syscall.Setrlimit(syscall.RLIMIT_AS, &syscall.Rlimit{Cur: limit, Max: limit}))
	}
	if procs, ok := strings.CutPrefix(task, "cgroup:"); ok {
		must(os.WriteFile(procs, []byte(strconv.Itoa(os.Getpid())), 0))
	}
	_, err := Alloc(1 << 30)
	if status.Of(err) != status.OutOfMemory {
		must(fmt.Errorf("1 GiB gave %w", err))
	}
	fmt.Println(err)
	b, err := Alloc(64 << 20)
	must(err)
	for i := range b {
		b[i] = 1
	}
	must(Free(b))
	os.Exit(0)
}

func must(err error) {
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

func runChild(t *testing.T, task string) {
	t.Helper()
	child := exec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), childTask+"="+task)
	out, err := child.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "1073741824 bytes wanted, ")
	t.Logf("%s: %s", task, out)
}

func TestUnderAnAddressSpaceLimit(t *testing.T) { runChild(t, "address space") }

// A limit on the process's cgroup is met by an error, not by the kernel's killer.
func TestUnderACgroupLimit(t *testing.T) {
	for _, c := range []cgroupFiles{cgroupV1, cgroupV2} {
		dir := filepath.Join("/", c.mount, fmt.Sprintf("qtsaccel-test-%d", os.Getpid()))
		if _, err := os.Stat(filepath.Join("/", c.mount, "cgroup.procs")); err != nil {
			continue
		}
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Skipf("a cgroup cannot be made here: %v", err)
		}
		t.Cleanup(func() { require.NoError(t, os.Remove(dir)) })
		if err := os.WriteFile(filepath.Join(dir, c.limit), []byte("300000000"), 0); err != nil {
			t.Skipf("the cgroup cannot be limited: %v", err)
		}
		runChild(t, "cgroup:"+filepath.Join(dir, "cgroup.procs"))
		return
	}
	t.Skip("no memory cgroups are mounted")
}
