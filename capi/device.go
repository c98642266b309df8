package main

// #include "const_types.h"
import "C"

import (
	"strings"
	"sync"
	"unicode/utf8"

	"qtsaccel/backends/providers"
	"qtsaccel/core/choice"
	"qtsaccel/core/status"
)

// machine is what the last qtsa_device_count found; nil before.
var machine struct {
	mu   sync.Mutex
	list *providers.Listing
}

//export go_qtsa_device_count
func go_qtsa_device_count(options *C.const_backend_options, outCount *C.size_t) C.qtsa_status {
	return guard(func() error {
		r, err := readRequest(options)
		if err != nil {
			return err
		}
		list, err := build.List(r)
		if err != nil {
			return err
		}
		machine.mu.Lock()
		defer machine.mu.Unlock()
		machine.list = list
		*outCount = C.size_t(len(list.Cards))
		return nil
	})
}

// counted gives the list of the last count.
func counted() (*providers.Listing, error) {
	machine.mu.Lock()
	defer machine.mu.Unlock()
	if machine.list == nil {
		return nil, status.Errorf(status.InvalidState, "no devices are known yet: call qtsa_device_count first")
	}
	return machine.list, nil
}

//export go_qtsa_device_info
func go_qtsa_device_info(index C.size_t, outDevice *C.qtsa_device) C.qtsa_status {
	return guard(func() error {
		list, err := counted()
		if err != nil {
			return err
		}
		if uint64(index) >= uint64(len(list.Cards)) {
			return status.Errorf(status.InvalidArgument, "device %d is asked for, %d were counted", uint64(index), len(list.Cards))
		}
		fillDevice(outDevice, &list.Cards[index])
		return nil
	})
}

func fillDevice(out *C.qtsa_device, c *choice.Card) {
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
	*out = d
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

//export go_qtsa_device_report_copy
func go_qtsa_device_report_copy(format C.int32_t, buffer *C.char, capacity C.size_t, outSize *C.size_t) C.qtsa_status {
	return guard(func() error {
		list, err := counted()
		if err != nil {
			return err
		}
		return fillReport(list, format, buffer, capacity, outSize)
	})
}
