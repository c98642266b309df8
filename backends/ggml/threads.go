package ggml

import (
	"io/fs"
	"math"
	"path"
	"runtime"
	"strconv"
	"strings"

	"qtsaccel/core/backend"
	"qtsaccel/core/osfile"
)

// DefaultThreads is how many threads a run uses that sets none: as many as the
// process's CPU affinity and its cgroups' quotas allow, rounded up, and no more than [backend.MaxThreads].
func DefaultThreads() int {
	// Go's own count follows the affinity.
	n := runtime.NumCPU()
	if runtime.GOOS == "linux" {
		if q := cpuQuota(osfile.Root{}); q < float64(n) {
			n = int(math.Ceil(q))
		}
	}
	return min(max(n, 1), backend.MaxThreads)
}

// cpuQuota is the number of CPUs' time that the process's cgroups grant it, the
// least of its own and its ancestors'; infinity without a limit. root is the
// machine's file system. Sources: the kernel's cgroup-v2.rst (cpu.max) and
// sched-bwc.rst (cpu.cfs_quota_us).
func cpuQuota(root fs.FS) float64 {
	text, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return math.Inf(1)
	}
	quota := math.Inf(1)
	for line := range strings.Lines(string(text)) {
		// hierarchy:controllers:path
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		controllers, at := parts[1], parts[2]
		if controllers == "" {
			quota = min(quota, leastAbove(at, func(p string) float64 { return quotaV2(root, path.Join("sys/fs/cgroup", p)) }))
		}
		for c := range strings.SplitSeq(controllers, ",") {
			if c == "cpu" {
				quota = min(quota, leastAbove(at, func(p string) float64 { return quotaV1(root, path.Join("sys/fs/cgroup/cpu", p)) }))
			}
		}
	}
	return quota
}

// leastAbove is the least of what f gives for a cgroup and those above it. In a
// container the path may be one that only the host sees; then the mounted root is
// what counts, and it is always among them.
func leastAbove(at string, f func(string) float64) float64 {
	least := math.Inf(1)
	for at = path.Clean("/" + at); ; at = path.Dir(at) {
		least = min(least, f(at))
		if at == "/" {
			return least
		}
	}
}

func quotaV2(root fs.FS, dir string) float64 {
	text, err := fs.ReadFile(root, path.Join(dir, "cpu.max"))
	if err != nil {
		return math.Inf(1)
	}
	fields := strings.Fields(string(text))
	if len(fields) != 2 {
		return math.Inf(1)
	}
	return ratio(fields[0], fields[1])
}

func quotaV1(root fs.FS, dir string) float64 {
	quota, err := fs.ReadFile(root, path.Join(dir, "cpu.cfs_quota_us"))
	if err != nil {
		return math.Inf(1)
	}
	period, err := fs.ReadFile(root, path.Join(dir, "cpu.cfs_period_us"))
	if err != nil {
		return math.Inf(1)
	}
	return ratio(strings.TrimSpace(string(quota)), strings.TrimSpace(string(period)))
}

// ratio divides two texts; "max" and -1 stand for no limit.
func ratio(quota, period string) float64 {
	q, err1 := strconv.ParseFloat(quota, 64)
	p, err2 := strconv.ParseFloat(period, 64)
	if err1 != nil || err2 != nil || q <= 0 || p <= 0 {
		return math.Inf(1)
	}
	return q / p
}
