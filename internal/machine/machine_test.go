package machine

import (
	"testing"
	"testing/fstest"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

func files(pairs ...string) fstest.MapFS {
	all := fstest.MapFS{"proc/meminfo": {Data: []byte("MemTotal:       16384 kB\nMemFree: 1 kB\n")}}
	for i := 0; i < len(pairs); i += 2 {
		all[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1])}
	}
	return all
}

// TestLimitsOfControlGroups would catch a limit of a group around the process' own that is not seen, and
// "max" that is taken for a number.
func TestLimitsOfControlGroups(t *testing.T) {
	t.Parallel()
	const mb = config.Mebibyte
	for name, test := range map[string]struct {
		files  fstest.MapFS
		cores  int
		memory config.Bytes
	}{
		"no groups": {files(), 8, 16 * mb},
		"version 2, a limit of the parent": {files(
			"proc/self/cgroup", "0::/yarn/container_1\n",
			"sys/fs/cgroup/yarn/container_1/memory.max", "max\n", "sys/fs/cgroup/yarn/container_1/cpu.max", "max 100000\n",
			"sys/fs/cgroup/yarn/memory.max", "4194304\n", "sys/fs/cgroup/yarn/cpu.max", "150000 100000\n"), 2, 4 * mb},
		"version 2 in a namespace": {files("proc/self/cgroup", "0::/\n", "sys/fs/cgroup/memory.max", "2097152\n"), 8, 2 * mb},
		"version 1": {files(
			"proc/self/cgroup", "4:memory:/c\n3:cpu,cpuacct:/c\n1:name=systemd:/c\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n", "sys/fs/cgroup/memory/c/memory.limit_in_bytes", "8388608\n",
			"sys/fs/cgroup/cpu,cpuacct/c/cpu.cfs_quota_us", "400000\n", "sys/fs/cgroup/cpu,cpuacct/c/cpu.cfs_period_us", "100000\n"), 4, 8 * mb},
		"version 1 without limits": {files(
			"proc/self/cgroup", "4:memory:/\n3:cpu:/\n", "sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n",
			"sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n", "sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"), 8, 16 * mb},
		"limits above the machine": {files("proc/self/cgroup", "0::/\n", "sys/fs/cgroup/memory.max", "99999999999\n", "sys/fs/cgroup/cpu.max", "9900000 100000"), 8, 16 * mb},
		"garbage":                  {files("proc/self/cgroup", "x\n0::../..\n", "proc/meminfo", "MemTotal: much"), 8, 0},
	} {
		m := read(test.files)
		m.Cores = 8
		if cores, memory := m.Usable(); cores != test.cores || memory != test.memory {
			t.Errorf("%s: %d cores and %d bytes of %+v, want %d and %d", name, cores, memory, m, test.cores, test.memory)
		}
	}
}

// TestThisMachine would catch a path that is wrong on a real system.
func TestThisMachine(t *testing.T) {
	t.Parallel()
	m := Read()
	if cores, memory := m.Usable(); cores < 1 || m.Memory < 64*config.Mebibyte || memory <= 0 || memory > m.Memory {
		t.Errorf("this machine is %+v, usable are %d cores and %d bytes", m, cores, memory)
	}
}
