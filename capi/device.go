package main

// #include "const_types.h"
import "C"

import (
	"strings"
	"unicode/utf8"
	"unsafe"

	"qtsaccel/backends/providers"
	"qtsaccel/core/choice"
	"qtsaccel/core/status"
)

//export go_qtsa_devices_list
func go_qtsa_devices_list(options *C.const_backend_options, devices *C.qtsa_device, capacity C.size_t, outCount *C.size_t) C.qtsa_status {
	return guard(func() error {
		found, err := listDevices(options)
		if err != nil {
			return err
		}
		n := len(found.Cards)
		*outCount = C.size_t(n)
		switch {
		case devices == nil && capacity == 0:
			return nil
		case devices == nil:
			return status.Errorf(status.InvalidArgument, "devices is null, but its capacity is %d", uint64(capacity))
		case uint64(capacity) < uint64(n):
			return status.Errorf(status.InvalidArgument, "there is room for %d devices, there are %d", uint64(capacity), n)
		}
		to, err := readStructs[C.qtsa_device](unsafe.Pointer(devices), C.size_t(n), "devices", unsafe.Sizeof(C.qtsa_device{}))
		if err != nil {
			return err
		}
		for i := range found.Cards {
			d := describeDevice(&found.Cards[i])
			to.put(i, &d)
		}
		return nil
	})
}

func listDevices(options *C.const_backend_options) (*providers.Listing, error) {
	r, err := readRequest(options)
	if err != nil {
		return nil, err
	}
	return build.List(r)
}

func describeDevice(c *choice.Card) C.qtsa_device {
	var names, problems []string
	usable := C.int32_t(0)
	for _, d := range append([]choice.Device{c.Device}, c.Also...) {
		names = append(names, d.String())
		if d.Problem == "" {
			usable = 1
		} else {
			problems = append(problems, d.Problem)
		}
	}
	d := C.qtsa_device{
		kind: C.int32_t(c.Kind), usable: usable,
		memory_total: C.uint64_t(c.MemoryTotal), memory_free: C.uint64_t(c.MemoryFree),
	}
	cut(d.apis[:], strings.Join(names, " "))
	cut(d.name[:], c.Name)
	cut(d.driver[:], c.DriverVersion)
	cut(d.pci[:], c.PCI)
	cut(d.uuid[:], c.UUID)
	cut(d.problem[:], strings.Join(problems, "; "))
	return d
}

// cut puts as much of a text into an array as fits with a zero behind it, and no
// part of a character.
func cut(to []C.char, text string) {
	if len(text) >= len(to) {
		n := len(to) - 1
		for n > 0 && !utf8.RuneStart(text[n]) {
			n--
		}
		text = text[:n]
	}
	for i := range len(text) {
		to[i] = C.char(text[i])
	}
}

//export go_qtsa_devices_report_copy
func go_qtsa_devices_report_copy(options *C.const_backend_options, format C.int32_t, buffer *C.char, capacity C.size_t, outSize *C.size_t) C.qtsa_status {
	return guard(func() error {
		found, err := listDevices(options)
		if err != nil {
			return err
		}
		return fillReport(found, format, buffer, capacity, outSize)
	})
}
