/* Steps for the header's sections Status, Element type, Backend and Devices. */
#ifndef FUZZCALLS_STEPS_BACKEND_H
#define FUZZCALLS_STEPS_BACKEND_H

#include "steps.h"

static void step_qtsa_status_name(Thread &t) {
    const qtsa_status s = t.random.chance(80) ? static_cast<qtsa_status>(-t.random.between(-2, 22))
                                              : static_cast<qtsa_status>(t.random.next());
    t.note(F_qtsa_status_name, {static_cast<uint64_t>(s)});
    const char *name = qtsa_status_name(s);
    const bool known = s <= QTSA_OK && s >= QTSA_ERR_INTERNAL;
    if (name == nullptr || (strcmp(name, "UNKNOWN") != 0) != known) t.violation("qtsa_status_name(%d) is %s", s, name);
    t.trace.ok[F_qtsa_status_name]++;
}

static void step_qtsa_last_error(Thread &t) {
    t.note(F_qtsa_last_error, {});
    if (qtsa_last_error() == nullptr) t.violation("qtsa_last_error() is null");
    t.trace.ok[F_qtsa_last_error]++;
}

static void step_qtsa_version(Thread &t) {
    t.note(F_qtsa_version, {});
    if (qtsa_version() != QTSA_VERSION) t.violation("qtsa_version() is %d", qtsa_version());
    t.trace.ok[F_qtsa_version]++;
}

static void step_qtsa_set_log_callback(Thread &t) {
    t.CALL(qtsa_set_log_callback, t.random.chance(50) ? on_log : nullptr, static_cast<void *>(&t.process));
}

static void step_qtsa_dtype_name(Thread &t) {
    const qtsa_dtype d = t.dtype();
    t.note(F_qtsa_dtype_name, {static_cast<uint64_t>(d)});
    if (qtsa_dtype_name(d) == nullptr) t.violation("qtsa_dtype_name(%d) is null", d);
    t.trace.ok[F_qtsa_dtype_name]++;
}

static void step_qtsa_tensor_bytes(Thread &t) {
    int32_t rank;
    const int64_t *shape = t.shape(&rank);
    const qtsa_dtype d = t.random.chance(50) ? QTSA_DTYPE_F32 : t.dtype();
    const Out<size_t> out = t.out<size_t>();
    if (t.CALL(qtsa_tensor_bytes, d, shape, rank, out) != QTSA_OK || d != QTSA_DTYPE_F32) return;
    size_t want = 4;
    for (int32_t i = 0; i < rank; i++) want *= static_cast<size_t>(shape[i]);
    t.right(out.value() == want, "qtsa_tensor_bytes");
}

/* Options with which a backend may be had; of GPUs only where the process is to use one. */
static qtsa_backend_options *backend_options(Thread &t) {
    static const char *const names[] = {"cpu", "cpu",  "reference", " CPU ",  "auto", "",
                                        "tpu", "\xff", "cuda",      "vulkan", "metal"};
    static const int32_t threads[] = {0, 1, 1, 1, 2, 3, -1, INT32_MIN};
    static const char *const lists[] = {"cpu", "reference, cpu", ",", "cuda,cpu", "auto", "cpu,,cpu", "none"};
    qtsa_backend_options *o = options_of<qtsa_backend_options>(t, sizeof *o);
    if (o == nullptr || o->struct_size != sizeof *o) return o;
    o->backend = t.random.of(names);
    o->threads = t.random.of(threads);
    if (t.random.chance(5)) o->fallback = t.random.of(lists);
    if (t.random.chance(5)) o->device = t.text(t.any_text());
    if (t.random.chance(3)) o->plugin_dir = t.text(t.any_text());
    if (t.random.chance(30)) o->probe = t.random.chance(80) ? "off" : t.text(t.any_text());
    o->repack = t.flag(1);
    if (t.random.chance(3)) o->reserved = t.flag(1);
    if (t.random.chance(10)) o->weights_budget_bytes = t.random.next() >> t.random.below(64);
    return o;
}

static void step_qtsa_backend_create(Thread &t) {
    const qtsa_backend_options *o = backend_options(t);
    const Out<qtsa_backend> out = t.out<qtsa_backend>(5);
    if (t.CALL(qtsa_backend_create, o, out) == QTSA_OK) t.keep(BACKEND, out.value());
}

static void step_qtsa_backend_free(Thread &t) {
    const uintptr_t h = t.handle(BACKEND);
    if (!t.is_main(h)) t.CALL(qtsa_backend_free, reinterpret_cast<qtsa_backend>(h));
}

static void step_qtsa_backend_report_copy(Thread &t) { COPY(qtsa_backend_report_copy, t.backend(), t.flag(1)); }

/* What is settled is so for the process: one backend, and no other afterwards. */
static void step_qtsa_backend_install(Thread &t) {
    if (t.process.installs && t.random.chance(20)) {
        t.CALL(qtsa_backend_install, t.process.backends[0]);
        return;
    }
    const uintptr_t h = t.pool().stale[BACKEND][t.random.below(Pool::room)];
    if (h != 0 && !t.is_main(h)) t.CALL(qtsa_backend_install, reinterpret_cast<qtsa_backend>(h));
}

static void step_qtsa_backend_get_active(Thread &t) {
    const Out<qtsa_backend> out = t.out<qtsa_backend>();
    if (t.CALL(qtsa_backend_get_active, out) != QTSA_OK) return;
    if (out.value() == nullptr) t.violation("it is settled that there is no backend, which nobody said");
    if (t.CALL(qtsa_backend_free, out.value()) != QTSA_ERR_INVALID_ARGUMENT)
        t.violation("the active backend was freed");
}

static void step_qtsa_devices_list(Thread &t) {
    const qtsa_backend_options *o = backend_options(t);
    const size_t capacity = t.random.chance(50) ? 0 : t.random.below(3);
    qtsa_device *devices = capacity == 0 && t.random.chance(80) ? nullptr : t.memory<qtsa_device>(capacity);
    if (devices != nullptr && capacity > 0) devices->struct_size = t.random.chance(90) ? sizeof *devices : 8;
    Out<size_t> count = t.out<size_t>(20);
    count.kept_on_failure = true;
    const qtsa_status s = t.CALL(qtsa_devices_list, o, devices, capacity, count);
    if (s == QTSA_OK && devices != nullptr && *count.p > capacity)
        t.violation("qtsa_devices_list: %zu devices in room for %zu", *count.p, capacity);
}

static void step_qtsa_devices_report_copy(Thread &t) { COPY(qtsa_devices_report_copy, backend_options(t), t.flag(1)); }

#endif
