package main

import (
	"bytes"
	"fmt"
	"strings"
)

// statusCodes writes backends/ggml/library/status_codes.h: the header's statuses for the shim,
// which gives some of them.
func statusCodes(h *header) []byte {
	var b bytes.Buffer
	b.WriteString(notice + `
#ifndef SHIM_STATUS_CODES_H
#define SHIM_STATUS_CODES_H

#include <cstdint>

namespace shim {

enum status : int32_t {
`)
	for _, e := range h.enumerated {
		name, ok := strings.CutPrefix(e.name, "QTSA_ERR_")
		if e.name == "QTSA_OK" {
			name, ok = "ok", true
		}
		if ok {
			fmt.Fprintf(&b, "    %s = %d,\n", strings.ToLower(name), e.value)
		}
	}
	b.WriteString("};\n\n}  // namespace shim\n\n#endif\n")
	return b.Bytes()
}
