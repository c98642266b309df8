package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

// machine is where and when a result was measured, and with which ggml.
type machine struct {
	CPU   string `json:"cpu"`
	Cores int    `json:"cores"`
	OS    string `json:"os"`
	GGML  string `json:"ggml"`
	Date  string `json:"date"`
}

func (m machine) String() string {
	return fmt.Sprintf("%s, %d cores, %s, ggml %s, %s", m.CPU, m.Cores, m.OS, m.GGML, m.Date)
}

func thisMachine() machine {
	return machine{
		CPU:   valueIn("/proc/cpuinfo", "model name"),
		Cores: runtime.NumCPU(),
		OS:    runtime.GOOS + "/" + runtime.GOARCH,
		GGML:  valueIn("dist/ggml/VERSION", "version"),
		Date:  time.Now().UTC().Format(time.RFC3339),
	}
}

// valueIn gives the value of the first line "key: value" of a file, "unknown"
// where there is none.
func valueIn(file, key string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return "unknown"
	}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		if k, v, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(k) == key {
			return strings.TrimSpace(v)
		}
	}
	return "unknown"
}
