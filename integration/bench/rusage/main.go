// Command rusage runs a command and prints, as one line of JSON after the command's own output, its
// time and memory.
//
// It is a small program of its own, because Linux starts a child's peak of memory at the size of
// its parent. The command ends with it. It starts no goroutines.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "rusage:", err)
		os.Exit(1)
	}
}

func run(command []string) error {
	cmd := exec.CommandContext(context.Background(), command[0], command[1:]...)
	runtime.LockOSThread() // the command ends with the thread that starts it
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	start := time.Now()
	if err := cmd.Run(); err != nil {
		return err
	}
	wall := time.Since(start)
	used := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	return json.NewEncoder(os.Stdout).Encode(map[string]int64{
		"wallMicros": wall.Microseconds(),
		"cpuMicros":  (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Microseconds(),
		"peakBytes":  used.Maxrss << 10, // getrusage(2): kilobytes
	})
}
