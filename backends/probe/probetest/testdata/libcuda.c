/*
 * Stands in for NVIDIA's libcuda.so.1 on machines without one. FAKE_CUDA says how
 * it behaves: a number of devices, "absent" (error 100, as the real one without a
 * card), "broken" (another error), or "crash".
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *mode(void) {
    const char *m = getenv("FAKE_CUDA");
    return m ? m : "1";
}

int cuInit(unsigned flags) {
    (void)flags;
    if (!strcmp(mode(), "absent")) return 100;
    if (!strcmp(mode(), "broken")) return 803;
    if (!strcmp(mode(), "crash")) abort();
    return 0;
}

int cuDriverGetVersion(int *version) {
    *version = 13010;
    return 0;
}

int cuDeviceGetCount(int *count) {
    *count = atoi(mode());
    return 0;
}

int cuDeviceGet(int *device, int ordinal) {
    *device = ordinal;
    return 0;
}

int cuDeviceGetName(char *name, int length, int device) {
    snprintf(name, length, "Pretender %d", device);
    return 0;
}

int cuDeviceGetPCIBusId(char *id, int length, int device) {
    snprintf(id, length, "0000:%02X:00.0", 0xa0 + device);
    return 0;
}

int cuDeviceGetUuid(unsigned char *uuid, int device) {
    for (int i = 0; i < 16; i++) uuid[i] = i;
    uuid[15] = device;
    return 0;
}

int cuDeviceTotalMem_v2(size_t *bytes, int device) {
    *bytes = (size_t)(device + 1) << 40;
    return 0;
}

int cuDeviceGetAttribute(int *value, int attribute, int device) {
    *value = attribute == 18 && device == 1; /* integrated */
    return 0;
}

int cuGetErrorString(int code, const char **text) {
    if (code != 803) return 1;
    *text = "system has unsupported display driver / cuda driver combination";
    return 0;
}

/* Flags of each device's primary context; FAKE_CUDA_ACTIVE=1: the process uses it. */
static unsigned context_flags[16];

int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active) {
    *flags = context_flags[device];
    *active = getenv("FAKE_CUDA_ACTIVE") != NULL;
    return 0;
}

int cuDevicePrimaryCtxSetFlags_v2(int device, unsigned flags) {
    context_flags[device] = flags;
    return 0;
}
