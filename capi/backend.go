package main

// #include "const_types.h"
import "C"

import (
	"fmt"
	"math"
	"os"

	"qtsaccel/backends/environment"
	"qtsaccel/backends/ggml/library"
	"qtsaccel/backends/providers"
	"qtsaccel/core/choice"
	"qtsaccel/core/engine"
	"qtsaccel/core/status"
)

// build is what this build has, available are its backends by name.
var (
	build     = providers.New(environment.Get, "")
	available = build.All()
)

// The size of qtsa_backend_options in its first form.
const firstBackendOptions = 32

//export go_qtsa_backend_create
func go_qtsa_backend_create(options *C.const_backend_options, outBackend *C.uintptr_t) C.qtsa_status {
	return guard(func() error {
		r, err := readRequest(options)
		if err != nil {
			return err
		}
		b, err := engine.Open(r, environment.Get, available)
		if err != nil {
			return err
		}
		return give(backends, b, outBackend)
	})
}

// readRequest reads a backend's options.
func readRequest(options *C.const_backend_options) (choice.Request, error) {
	o, err := readStruct(options, firstBackendOptions)
	if err != nil {
		return choice.Request{}, err
	}
	if err := checkReserved(o.reserved); err != nil {
		return choice.Request{}, err
	}
	r := choice.Request{Threads: int(o.threads), NoRepack: o.repack == C.QTSA_REPACK_NEVER}
	if o.repack != C.QTSA_REPACK_AUTO && o.repack != C.QTSA_REPACK_NEVER {
		return r, status.Errorf(status.InvalidArgument, "repack is %d, want 0 (auto) or 1 (never)", o.repack)
	}
	for _, t := range []struct {
		to   *string
		from *C.char
		name string
	}{
		{&r.Backend, o.backend, "backend"},
		{&r.PluginDir, o.plugin_dir, "plugin_dir"},
		{&r.Fallback, o.fallback, "fallback"},
		{&r.Device, o.device, "device"},
		{&r.Probe, o.probe, "probe"},
	} {
		if *t.to, err = optionalText(t.from, t.name); err != nil {
			return choice.Request{}, err
		}
	}
	if o.weights_budget_bytes > math.MaxInt64 {
		return choice.Request{}, status.Errorf(status.InvalidArgument, "weights_budget_bytes is %d, more than any memory", uint64(o.weights_budget_bytes))
	}
	r.WeightsBudget = int64(o.weights_budget_bytes)
	if o.debug != 0 || choice.WantsDebug(environment.Get) {
		r.Debug = debugLine
	}
	return r, nil
}

// debugLine reaches the host's callback or, where it has set none, stderr.
func debugLine(line string) {
	if !library.Log(C.QTSA_LOG_DEBUG, line) {
		fmt.Fprintln(os.Stderr, "qtsaccel:", line)
	}
}

//export go_qtsa_backend_free
func go_qtsa_backend_free(backend C.uintptr_t) C.qtsa_status {
	if backend != 0 && backend == C.uintptr_t(activeHandle.Load()) {
		return guard(func() error {
			return status.Errorf(status.InvalidArgument, "the handle of qtsa_backend_get_active is not to be freed")
		})
	}
	return free(backends, backend)
}

//export go_qtsa_backend_report_copy
func go_qtsa_backend_report_copy(backend C.uintptr_t, format C.int32_t, buffer *C.char, capacity C.size_t, outSize *C.size_t) C.qtsa_status {
	return with(backends, backend, func(b *engine.Backend) error {
		return fillReport(b.Report(), format, buffer, capacity, outSize)
	})
}
