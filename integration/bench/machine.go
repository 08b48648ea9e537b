package main

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/version"
)

// machine is what the numbers were measured on, and when.
type machine struct {
	processor string
	memoryKB  int64
	kernel    string
	load      string // of the last minute, before anything was measured
	date      time.Time
}

func lookAtMachine() (machine, error) {
	m := machine{date: time.Now()}
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
	m.load, err = loadAverage()
	return m, err
}

// loadAverage is the number of processes that ran or waited to run, on average of
// the last minute.
func loadAverage() (string, error) {
	text, err := os.ReadFile("/proc/loadavg")
	load, _, _ := strings.Cut(string(text), " ")
	return load, err
}

// field is the value of the first line of a file of /proc that has this name.
func field(text []byte, name string) string {
	for line := range strings.Lines(string(text)) {
		if key, value, found := strings.Cut(line, ":"); found && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func (m machine) table(hadoop string) table {
	t := table{head: []string{"measured", "on"}}
	t.row("date", m.date.UTC().Format("2006-01-02 15:04 MST"))
	t.row("machine", fmt.Sprintf("%d × %s, %d GB", runtime.NumCPU(), m.processor, (m.memoryKB+1<<19)>>20))
	t.row("kernel", "Linux "+m.kernel)
	t.row("load before", m.load)
	t.row("Bobbin", version.Text())
	t.row("Go", runtime.Version())
	t.row("Hadoop", hadoop)
	return t
}
