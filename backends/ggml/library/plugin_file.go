package library

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"runtime"
	"syscall"

	"qtsaccel/core/osfile"
	"qtsaccel/core/status"
)

// checkPluginFile looks at a plugin before the system's loader does: that waits for a
// pipe's other end, and touches what a file that was cut short has no more, which ends
// the process. IO: no descriptor is left to look with; DEVICE_UNAVAILABLE: it cannot be
// loaded.
func checkPluginFile(path string) error {
	f, err := osfile.Open(path)
	if err != nil {
		return pluginError(path, err)
	}
	defer f.Close()
	if runtime.GOOS != "linux" {
		return nil
	}
	size, err := f.Size()
	if err == nil {
		err = checkELF(f, size)
	}
	if err != nil {
		return pluginError(path, err)
	}
	return nil
}

func pluginError(path string, err error) error {
	code := status.DeviceUnavailable
	if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
		code = status.IO
	}
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		err = p.Err
	}
	return status.Errorf(code, "plugin %s cannot be loaded: %w", path, err)
}

// The layout of an ELF file of 64 bits (elf.h): where its header has the tables of
// segments and of sections, and where a segment has its part of the file.
const (
	elfHeaderBytes     = 64
	elfSegmentBytes    = 56
	elfSectionBytes    = 64
	elfSegments        = 32
	elfSections        = 40
	elfSegmentCount    = 56
	elfSectionCount    = 60
	elfSegmentOffset   = 8
	elfSegmentFileSize = 32
)

var (
	errNoELF    = errors.New("it is no ELF file of 64 bits")
	errCutShort = errors.New("the file was cut short: it ends before its segments and sections do")
)

// checkELF makes sure that all that a file says to have lies within it.
func checkELF(f *osfile.File, size int64) error {
	var h [elfHeaderBytes]byte
	if size < elfHeaderBytes {
		return errNoELF
	}
	if _, err := f.ReadAt(h[:], 0); err != nil {
		return err
	}
	const class64, littleEndian = 2, 1
	if string(h[:4]) != "\x7fELF" || h[4] != class64 || h[5] != littleEndian {
		return errNoELF
	}
	within := func(offset, bytes uint64) bool {
		return offset <= uint64(size) && bytes <= uint64(size)-offset
	}
	get := binary.LittleEndian
	segments, count := get.Uint64(h[elfSegments:]), int(get.Uint16(h[elfSegmentCount:]))
	sections, sectionCount := get.Uint64(h[elfSections:]), uint64(get.Uint16(h[elfSectionCount:]))
	if !within(segments, uint64(count)*elfSegmentBytes) || !within(sections, sectionCount*elfSectionBytes) {
		return errCutShort
	}
	table := make([]byte, count*elfSegmentBytes) // 3.5 MiB at most
	if _, err := f.ReadAt(table, int64(segments)); err != nil {
		return err
	}
	for i := range count {
		s := table[i*elfSegmentBytes:]
		if !within(get.Uint64(s[elfSegmentOffset:]), get.Uint64(s[elfSegmentFileSize:])) {
			return errCutShort
		}
	}
	return nil
}
