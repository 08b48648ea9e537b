// Package machine reads the cores and the memory of this machine, and the limits of this process'
// control groups. It only reads files of /proc and /sys, starts no goroutine, and imports of this module
// only config.
package machine

import (
	"io/fs"
	"math"
	"os"
	"path"
	"runtime"
	"strconv"
	"strings"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// Machine is what the processes of a machine share. 0 means that the system does not tell.
type Machine struct {
	Cores  int          // on which this process may run
	Memory config.Bytes // physical memory
	// GroupCores and GroupMemory are the limits of this process' control group and of those around it;
	// 0: none.
	GroupCores  float64
	GroupMemory config.Bytes
}

// Read reads the Machine of this process.
func Read() Machine {
	m := read(os.DirFS("/"))
	m.Cores = runtime.NumCPU()
	return m
}

// Usable is what this process could use at most: the machine within the limits of its control groups,
// as a JVM reports it to Flink.
func (m Machine) Usable() (cores int, memory config.Bytes) {
	cores, memory = m.Cores, m.Memory
	if m.GroupCores > 0 {
		cores = min(cores, int(math.Ceil(m.GroupCores)))
	}
	if m.GroupMemory > 0 && (memory == 0 || m.GroupMemory < memory) {
		memory = m.GroupMemory
	}
	return cores, memory
}

// read reads all but the cores.
func read(root fs.FS) Machine {
	m := Machine{Memory: physical(text(root, "proc/meminfo"))}
	for line := range strings.Lines(text(root, "proc/self/cgroup")) { // hierarchy:controllers:path
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) < 3 {
			continue
		}
		for group := path.Clean("/" + fields[2]); ; group = path.Dir(group) {
			m.limit(root, fields[1], group)
			if group == "/" {
				break
			}
		}
	}
	return m
}

// physical reads MemTotal.
func physical(meminfo string) config.Bytes {
	for line := range strings.Lines(meminfo) {
		if fields := strings.Fields(line); len(fields) >= 2 && fields[0] == "MemTotal:" {
			return size(fields[1]) * config.Kibibyte
		}
	}
	return 0
}

// limit notes the limits of one control group. If the group is not mounted here, because this process has
// a namespace of its own, its files do not exist.
func (m *Machine) limit(root fs.FS, controllers, group string) {
	file := func(controller, name string) string {
		return strings.TrimSpace(text(root, path.Join("sys/fs/cgroup", controller, group, name)))
	}
	quota, period := 0.0, 0.0
	var memory config.Bytes
	switch {
	case controllers == "": // version 2
		memory = size(file("", "memory.max"))
		if fields := strings.Fields(file("", "cpu.max")); len(fields) == 2 {
			quota, period = float64(size(fields[0])), float64(size(fields[1]))
		}
	case contains(controllers, "memory"):
		if memory = size(file("memory", "memory.limit_in_bytes")); memory > math.MaxInt64/2 { // no limit
			memory = 0
		}
	case contains(controllers, "cpu"):
		quota, period = float64(size(file(controllers, "cpu.cfs_quota_us"))), float64(size(file(controllers, "cpu.cfs_period_us")))
	}
	if memory > 0 && (m.GroupMemory == 0 || memory < m.GroupMemory) {
		m.GroupMemory = memory
	}
	if quota > 0 && period > 0 && (m.GroupCores == 0 || quota/period < m.GroupCores) {
		m.GroupCores = quota / period
	}
}

func contains(controllers, one string) bool {
	for controller := range strings.SplitSeq(controllers, ",") {
		if controller == one {
			return true
		}
	}
	return false
}

// size parses a number; 0 if it is none, such as "max", or is negative.
func size(text string) config.Bytes {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0
	}
	return config.Bytes(max(n, 0))
}

// text is the content of a file; "" if it cannot be read.
func text(root fs.FS, name string) string {
	content, err := fs.ReadFile(root, name)
	if err != nil {
		return ""
	}
	return string(content)
}
