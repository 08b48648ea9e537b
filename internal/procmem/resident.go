// Package procmem reads the memory of processes from /proc, and tells the kernel which process to end first. On
// other systems than Linux, processes have no memory here. Package memory decides how much they may have.
//
// Of this module the package imports only config. It starts no goroutines.
package procmem

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// OfTree returns the memory of a process and its descendants, as the NodeManager counts it from
// /proc.
func OfTree(pid int) config.Bytes {
	total := OfProcess(pid)
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return total // the process has ended
	}
	for _, task := range tasks {
		// Each thread has its own children. If the kernel does not list them
		// (CONFIG_PROC_CHILDREN), only the NodeManager counts them.
		children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, task.Name()))
		if err != nil {
			continue
		}
		for child := range strings.FieldsSeq(string(children)) {
			if id, err := strconv.Atoi(child); err == nil {
				total += OfTree(id)
			}
		}
	}
	return total
}

// OfProcess returns the memory of a process as the NodeManager counts it: resident pages, with
// those of files and those shared with other processes. It returns 0 if the process has ended.
func OfProcess(pid int) config.Bytes {
	statm, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(statm)) // size resident shared … in pages
	if len(fields) < 2 {
		return 0
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		return 0
	}
	return config.Bytes(pages) * config.Bytes(os.Getpagesize())
}
