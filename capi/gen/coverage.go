package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// place is where what the header has must be found again: what lies behind it, or a
// binding. Files that are made of the header are left out, since they name all of it.
type place struct {
	name    string
	files   []string // patterns below the root of the tree
	without []string // ends of the names of files that do not count
	// function gives what the place calls a function, value an enumerator: names, or two
	// with a dot between; a field is named as it is.
	function func(name string) []string
	value    func(name string) []string
	// except has what is not there, with the reason.
	except map[string]string
}

func same(name string) []string { return []string{name} }

var places = []place{
	{
		name: "capi", files: []string{"capi/*.go", "capi/*.c", "capi/*.h", "core/*/*.go", "core/*/*/*.go", "backends/ggml/library/log.cpp"},
		without:  []string{"_test.go", "capi/trampolines.c", "capi/const_types.h", "core/abi/abi.go"},
		function: func(name string) []string { return []string{"go_" + name, name} },
		value:    func(name string) []string { return []string{name, "abi." + goName(name)} },
		except: map[string]string{
			"qtsa_status_name":      "made of core/status, in names.c",
			"qtsa_dtype_name":       "made of core/tensor, in names.c",
			"QTSA_ERR_":             "the codes of core/status, which the generator compares",
			"QTSA_OK":               "likewise",
			"QTSA_DTYPE_":           "the types of core/tensor, likewise",
			"QTSA_LOG_":             "ggml's levels, passed on; backends/ggml has a line's own",
			"struct_size":           "read for every struct alike, in arguments.go",
			"qtsa_input.":           "read where the host has it: backend.Buffer, whose layout is compared",
			"qtsa_output.":          "likewise",
			"qtsa_timing.":          "written where the host has it: backend.Timing, likewise",
			"qtsa_attr.":            "read by readAttrs, with cgo's names",
			"qtsa_product.n_out":    "nOut in a struct of Go's whose layout is compared",
			"qtsa_upload_options.":  "uploadOptions, likewise",
			"qtsa_weights_options.": "weightsOptions, likewise",
			"QTSA_WHOLE":            "abi.Whole",
			"QTSA_MAX_THREADS":      "core/choice has the number, and tests compare",
			"QTSA_NONE":             "core/graph has the number",
		},
	},
	{
		name: "C++", files: []string{"include/*.hpp"}, without: []string{"qtsaccel_ops.hpp"},
		function: same, value: same,
		except: map[string]string{
			"qtsa_version":              "the C API's, which qtsaccel.hpp includes",
			"qtsa_importance.n_columns": "given in its order",
			"qtsa_dtype_name":           "likewise",
			"qtsa_tensor_bytes":         "likewise",
			"qtsa_device.":              "devices() gives the structs of the C API",
			"qtsa_tensor_info.":         "likewise info()",
			"qtsa_weights_memory.":      "likewise plan_memory()",
			"qtsa_metadata_info.":       "likewise metadata_info()",
			"qtsa_split_report.":        "likewise add_split()",
			"qtsa_timing.":              "likewise run_options",
			"qtsa_split_matrix.":        "add_split() takes the struct of the C API",
			"qtsa_array.":               "likewise set_array()",
			"qtsa_conv2d_norm.":         "likewise conv2d()",
			"qtsa_backend_options.":     "backend_options is the struct of the C API",
			"reserved":                  "0",
			"QTSA_":                     "values go as the C API's, which qtsaccel.hpp includes",
		},
	},
	{
		name: "Python", files: []string{"bindings/python/qtsaccel/*.py"},
		without:  []string{"/_bindings.py", "/ops.py"},
		function: func(name string) []string { return []string{"api." + strings.TrimPrefix(name, "qtsa_")} },
		value:    func(name string) []string { return []string{"_bindings." + strings.TrimPrefix(name, "QTSA_")} },
		except: map[string]string{
			"qtsa_status_name":      "Status is an enumeration",
			"qtsa_dtype_name":       "DType is an enumeration",
			"qtsa_tensor_bytes":     "arrays know their size",
			"qtsa_plan_find":        "a plan knows the names of its graph",
			"QTSA_ERR_":             "Status, made of the header",
			"QTSA_OK":               "likewise",
			"QTSA_DTYPE_":           "DType, made of the header",
			"reserved":              "0",
			"qtsa_timing.":          "Timing is the struct of the C API",
			"qtsa_conv2d_geometry.": "given in its order",
			"qtsa_conv2d_norm.":     "likewise",
			"QTSA_LOG_":             "levels go as numbers; _bindings has them",
			"QTSA_MAX_THREADS":      "checked by the library",
			"qtsa_tensor_info.":     "info_of reads it",
		},
	},
	{
		name: "Swift", files: []string{"bindings/swift/Sources/QtsAccel/*.swift"},
		without:  []string{"/Values.swift", "/Ops.swift"},
		function: same, value: same,
		except: map[string]string{
			"QTSA_ERR_":            "QtsError, made of the header",
			"QTSA_OK":              "0",
			"QTSA_DTYPE_":          "DType, made of the header",
			"QTSA_ATTR_":           "Attribute's cases, by the inline functions",
			"qtsa_attr.":           "likewise",
			"reserved":             "0",
			"QTSA_MAX_THREADS":     "checked by the library",
			"QTSA_NONE":            "-1",
			"qtsa_weights_memory.": "Weights.memory gives the struct of the C API",
			"qtsa_array.":          "by qtsa_array_dense, but for strides and release",
		},
	},
}

// uncovered lists what of the header a place does not name, in a tree.
func (p *place) uncovered(h *header, root string) ([]string, error) {
	words, err := p.words(root)
	if err != nil {
		return nil, err
	}
	var missing []string
	used := map[string]bool{}
	look := func(what string, names []string, keys ...string) {
		for _, key := range keys {
			if _, ok := p.except[key]; ok {
				used[key] = true
				return
			}
		}
		if !slices.ContainsFunc(names, func(n string) bool { return words[n] }) {
			missing = append(missing, p.name+" lacks "+what)
		}
	}
	for _, f := range h.functions {
		look(f.name, p.function(f.name), f.name)
	}
	for _, s := range h.types.structs {
		for _, f := range s.fields {
			name := s.name + "." + f.name
			look(name, same(f.name), name, s.name+".", f.name)
		}
	}
	for _, e := range h.enumerated {
		group := "QTSA_" + strings.SplitAfter(strings.TrimPrefix(e.name, "QTSA_"), "_")[0]
		look(e.name, p.value(e.name), e.name, group, "QTSA_")
	}
	for _, c := range h.types.constants {
		if !strings.HasPrefix(c.name, "QTSA_VERSION_") {
			look(c.name, p.value(c.name), c.name, "QTSA_")
		}
	}
	for key := range p.except {
		if !used[key] {
			missing = append(missing, p.name+" is excused for "+key+", which the header has not")
		}
	}
	slices.Sort(missing)
	return missing, nil
}

var wordForm = regexp.MustCompile(`\w+(\.\w+)?`)

// words are all names in a place's files, alone and with what stands behind their dot.
func (p *place) words(root string) (map[string]bool, error) {
	words := map[string]bool{}
	for _, pattern := range p.files {
		names, err := fs.Glob(os.DirFS(root), pattern)
		if err != nil {
			return nil, err
		}
		if len(names) == 0 {
			return nil, fmt.Errorf("%s: no file is called %s", p.name, pattern)
		}
		for _, name := range names {
			if slices.ContainsFunc(p.without, func(end string) bool { return strings.HasSuffix(name, end) }) {
				continue
			}
			text, err := os.ReadFile(filepath.Join(root, name))
			if err != nil {
				return nil, err
			}
			for _, word := range wordForm.FindAllString(string(text), -1) {
				words[word] = true
				for part := range strings.SplitSeq(word, ".") {
					words[part] = true
				}
			}
		}
	}
	return words, nil
}
