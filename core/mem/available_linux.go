package mem

import (
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"syscall"

	"qtsaccel/core/osfile"
)

func available() int64 {
	root := osfile.Root{}
	return min(machineFree(root), cgroupFree(root), addressSpaceFree())
}

// machineFree is what the kernel estimates can be taken without swapping, and the
// swap. Source: proc_meminfo(5).
func machineFree(root fs.FS) int64 {
	fields := table(root, "proc/meminfo")
	kilobytes, known := fields["MemAvailable:"]
	if !known {
		return unlimited
	}
	return (kilobytes + fields["SwapFree:"]) << 10
}

// spaceForThreads is left to the threads that Go's runtime may yet need: where it
// cannot make one, the process ends.
const spaceForThreads = 128 << 20

// addressSpaceFree is what RLIMIT_AS leaves.
func addressSpaceFree() int64 {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_AS, &limit); err != nil || limit.Cur >= unlimited {
		return unlimited
	}
	pages, _, _ := strings.Cut(text(osfile.Root{}, "proc/self/statm"), " ")
	used, err := strconv.ParseInt(pages, 10, 64)
	if err != nil {
		return unlimited
	}
	return max(0, int64(limit.Cur)-used*int64(os.Getpagesize())-spaceForThreads)
}

// cgroupFree is the least that the process's cgroup and those above it leave.
// Sources: the kernel's cgroup-v2.rst and cgroup-v1/memory.rst.
func cgroupFree(root fs.FS) int64 {
	least := int64(unlimited)
	for line := range strings.Lines(text(root, "proc/self/cgroup")) {
		// hierarchy:controllers:path
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		files := cgroupV2
		switch parts[1] {
		case "":
		case "memory":
			files = cgroupV1
		default:
			continue
		}
		// In a container the path may be one that only the host sees; then the
		// mounted root is what counts, and it is always among these.
		for at := path.Clean("/" + parts[2]); ; at = path.Dir(at) {
			least = min(least, files.free(root, at))
			if at == "/" {
				break
			}
		}
	}
	return least
}

// cgroupFiles are where a version of cgroups says what.
type cgroupFiles struct {
	mount, limit, usage string
	caches              []string // fields of memory.stat
}

var (
	cgroupV2 = cgroupFiles{"sys/fs/cgroup", "memory.max", "memory.current", []string{"inactive_file", "active_file"}}
	cgroupV1 = cgroupFiles{
		"sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
		[]string{"total_inactive_file", "total_active_file"},
	}
)

func (c cgroupFiles) free(root fs.FS, cgroup string) int64 {
	dir := path.Join(c.mount, cgroup)
	limit, err := strconv.ParseInt(text(root, path.Join(dir, c.limit)), 10, 64)
	if err != nil || limit > 1<<60 { // not there, "max", or version 1's way to say so
		return unlimited
	}
	usage, err := strconv.ParseInt(text(root, path.Join(dir, c.usage)), 10, 64)
	if err != nil {
		return unlimited
	}
	stat := table(root, path.Join(dir, "memory.stat"))
	for _, cache := range c.caches {
		usage -= stat[cache]
	}
	return limit - usage
}

// text reads a small file, "" if it cannot be read.
func text(root fs.FS, name string) string {
	b, err := fs.ReadFile(root, name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// table reads a file with a name and a number on each line.
func table(root fs.FS, name string) map[string]int64 {
	t := map[string]int64{}
	for line := range strings.Lines(text(root, name)) {
		if f := strings.Fields(line); len(f) >= 2 {
			if n, err := strconv.ParseInt(f[1], 10, 64); err == nil {
				t[f[0]] = n
			}
		}
	}
	return t
}
