package main

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// ownTime returns the duration of f, and this process's processor time during it.
func ownTime(f func() error) (wall, cpu time.Duration, err error) {
	before, start := ownCPU(), time.Now()
	err = f()
	return time.Since(start), ownCPU() - before, err
}

func ownCPU() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		panic(err) // getrusage(2) fails only for a wrong argument
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// clockTick is the unit of times in /proc/PID/stat, the same on every Linux
// (USER_HZ).
const clockTick = 10 * time.Millisecond

// containersCPU returns the processor time of all ended containers. The kernel adds it up for the
// NodeManagers, whose children they were.
func (r *rig) containersCPU() (time.Duration, error) {
	var total time.Duration
	for _, name := range r.cluster.Daemons() {
		if !strings.HasPrefix(name, "nodemanager") {
			continue
		}
		pid, alive := r.cluster.Pid(name)
		if !alive {
			return 0, fmt.Errorf("read processor time of %s: it does not run", name)
		}
		stat, err := readProcess(pid, "stat")
		if err != nil {
			return 0, err
		}
		used, err := childrenCPU(stat)
		if err != nil {
			return 0, fmt.Errorf("read processor time of %s: %w", name, err)
		}
		total += used
	}
	return total, nil
}

// processCPU returns the processor time of a process so far.
func processCPU(pid int) (time.Duration, error) {
	stat, err := readProcess(pid, "stat")
	if err != nil {
		return 0, err
	}
	return cpuOf(stat, 14)
}

// childrenCPU returns the processor time of children that were waited for, and of their children.
func childrenCPU(stat []byte) (time.Duration, error) { return cpuOf(stat, 16) }

// cpuOf reads two fields of /proc/PID/stat: a time in user mode, and the time in the kernel after it. They are
// numbered from 1, as in proc(5). They are after the program's name in parentheses, which may contain any character.
func cpuOf(stat []byte, first int) (time.Duration, error) {
	user, errUser := statField(stat, first)
	system, errSystem := statField(stat, first+1)
	return time.Duration(user+system) * clockTick, errors.Join(errUser, errSystem)
}

// parentOf returns the parent of a process from its stat.
func parentOf(stat []byte) (int, error) {
	parent, err := statField(stat, 4)
	return int(parent), err
}

// statField reads a field of stat, from the third one on.
func statField(stat []byte, number int) (int64, error) {
	const before = 3 // the first field after the name
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) <= number-before {
		return 0, fmt.Errorf("%q has too few fields", stat)
	}
	return strconv.ParseInt(fields[number-before], 10, 64)
}
