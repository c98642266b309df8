// Gen reads include/qtsaccel.h and writes what lies between it and Go:
//
//	trampolines.c   the functions of the header, each calling its Go export
//	const_types.h   names for const types, since cgo has no const of its own
//	names.c         qtsa_status_name and qtsa_dtype_name, from core's own names
//	core/abi        the header's values as Go's
//	backends/ggml/library/status_codes.h        its statuses for the shim
//	tests/c/programs/layout.h           the structs' layout, for compilers to confirm
//	tests/c/programs/every_function.h   a call of each function, for what all refuse
//
// and what the bindings need of it and of the operator table:
//
//	bindings/python/qtsaccel/_bindings.py   types, values and functions for ctypes
//	bindings/python/qtsaccel/ops.py         a function per operator
//	include/qtsaccel_ops.hpp                the same for C++
//	bindings/swift/.../Ops.swift            the same for Swift
//	bindings/swift/.../Values.swift         element types and statuses
//
// Run it with `go generate ./capi`; "gen -abi HEADER" prints what include/qtsaccel.abi
// records. The results are committed, and tests hold them against a fresh run.
//
// "gen -reference HEADER FOLDER" writes the header as pages of the documentation, which
// are made with the site and not committed.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	var err error
	switch args := os.Args[1:]; {
	case len(args) == 2 && args[0] == "-abi":
		err = printABI(args[1])
	case len(args) == 3 && args[0] == "-reference":
		err = writeReference(args[1], args[2])
	case len(args) == 2:
		err = write(args[0], args[1])
	default:
		fmt.Fprintln(os.Stderr, "usage: gen [-reference] HEADER FOLDER, or gen -abi HEADER")
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func printABI(header string) error {
	text, err := os.ReadFile(header)
	if err != nil {
		return err
	}
	h, err := parse(string(text))
	if err != nil {
		return fmt.Errorf("%s: %w", header, err)
	}
	lines, err := abi(h)
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(lines)
	return err
}

func write(header, folder string) error {
	files, err := generate(header)
	if err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// generate gives the files by name.
func generate(header string) (map[string][]byte, error) {
	text, err := os.ReadFile(header)
	if err != nil {
		return nil, err
	}
	h, err := parse(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", header, err)
	}
	names, err := nameTables(h)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", header, err)
	}
	python, err := pythonBindings(h)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", header, err)
	}
	structs, err := layout(h)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", header, err)
	}
	constants, err := goConstants(h)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", header, err)
	}
	return map[string][]byte{
		"../core/abi/abi.go": constants,

		"../bindings/python/qtsaccel/_bindings.py": python,
		"../bindings/python/qtsaccel/ops.py":       pythonOps(),
		"../include/qtsaccel_ops.hpp":              cppOps(),
		"../backends/ggml/library/status_codes.h":  statusCodes(h),
		"../tests/c/programs/every_function.h":     everyFunction(h),
		"../tests/c/programs/layout.h":             structs,

		"../bindings/swift/Sources/QtsAccel/Ops.swift":    swiftOps(),
		"../bindings/swift/Sources/QtsAccel/Values.swift": swiftValues(h),

		"trampolines.c": trampolines(h),
		"const_types.h": constTypes(h),
		"names.c":       names,
	}, nil
}
