package ggml

import (
	"math"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

func files(list map[string]string) fstest.MapFS {
	root := fstest.MapFS{}
	for name, text := range list {
		root[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return root
}

func TestCPUQuota(t *testing.T) {
	none := math.Inf(1)
	for _, c := range []struct {
		name  string
		files map[string]string
		want  float64
	}{
		{"no cgroups", nil, none},
		{"v2 without a limit", map[string]string{
			"proc/self/cgroup":                 "0::/user.slice\n",
			"sys/fs/cgroup/user.slice/cpu.max": "max 100000\n",
		}, none},
		{"v2 with its own limit", map[string]string{
			"proc/self/cgroup":          "0::/a/b\n",
			"sys/fs/cgroup/a/b/cpu.max": "150000 100000\n",
		}, 1.5},
		{"v2 with a tighter parent", map[string]string{
			"proc/self/cgroup":          "0::/a/b\n",
			"sys/fs/cgroup/a/b/cpu.max": "400000 100000\n",
			"sys/fs/cgroup/a/cpu.max":   "50000 100000\n",
		}, 0.5},
		{"v2 in a container that sees its own root", map[string]string{
			"proc/self/cgroup":      "0::/../../docker/1234\n",
			"sys/fs/cgroup/cpu.max": "200000 100000\n",
		}, 2},
		{"v1", map[string]string{
			"proc/self/cgroup":                      "4:memory:/x\n3:cpu,cpuacct:/x\n",
			"sys/fs/cgroup/cpu/x/cpu.cfs_quota_us":  "250000\n",
			"sys/fs/cgroup/cpu/x/cpu.cfs_period_us": "100000\n",
		}, 2.5},
		{"v1 without a limit", map[string]string{
			"proc/self/cgroup":                      "3:cpuacct,cpu:/x\n",
			"sys/fs/cgroup/cpu/x/cpu.cfs_quota_us":  "-1\n",
			"sys/fs/cgroup/cpu/x/cpu.cfs_period_us": "100000\n",
		}, none},
		{"both, v1 with the controller", map[string]string{
			"proc/self/cgroup":                    "3:cpu:/\n0::/x\n",
			"sys/fs/cgroup/cpu/cpu.cfs_quota_us":  "300000\n",
			"sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
		}, 3},
		{"nonsense", map[string]string{
			"proc/self/cgroup":      "what\n0::/\n",
			"sys/fs/cgroup/cpu.max": "many few\n",
		}, none},
	} {
		require.Equal(t, c.want, cpuQuota(files(c.files)), c.name)
	}
}
