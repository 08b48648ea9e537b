package main

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"

	"github.com/bobbin-yarn/bobbin/internal/version"
)

// machine describes the machine of the measurements.
type machine struct {
	processor string
	memoryKB  int64
	kernel    string
}

func lookAtMachine() (machine, error) {
	var m machine
	cpu, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return m, err
	}
	m.processor = field(cpu, "model name")
	memory, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return m, err
	}
	total, _, _ := strings.Cut(field(memory, "MemTotal"), " ")
	if m.memoryKB, err = strconv.ParseInt(total, 10, 64); err != nil {
		return m, fmt.Errorf("read /proc/meminfo: %w", err)
	}
	release, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return m, err
	}
	m.kernel = string(bytes.TrimSpace(release))
	return m, nil
}

// loadAverage returns the average number of processes that ran or waited to run in the last minute.
func loadAverage() (string, error) {
	text, err := os.ReadFile("/proc/loadavg")
	load, _, _ := strings.Cut(string(text), " ")
	return load, err
}

// field returns the value of the first line with this name in a file of /proc.
func field(text []byte, name string) string {
	for line := range strings.Lines(string(text)) {
		if key, value, found := strings.Cut(line, ":"); found && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// String is the machine's processors and memory.
func (m machine) String() string {
	return fmt.Sprintf("%d × %s, %d GB", runtime.NumCPU(), m.processor, (m.memoryKB+1<<19)>>20)
}

func (m machine) table(hadoop string) table {
	t := table{head: []string{"measured", "on"}}
	t.row("machine", m.String())
	t.row("kernel", "Linux "+m.kernel)
	t.row("Bobbin", version.Text())
	t.row("Go", runtime.Version())
	t.row("Hadoop", hadoop)
	return t
}
