package cluster

import (
	"bytes"
	_ "embed"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
)

//go:embed reaper.sh
var reaperScript string

// reaper is a small process that ends the cluster's processes after this process has ended in any way: Ctrl-C, a test's
// time limit, SIGKILL.
type reaper struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser // open as long as the cluster may run
	says  bytes.Buffer
}

// marks returns the exact mark of the cluster in dir, for which reaper.sh searches.
func marks(dir string) string { return regexp.QuoteMeta(mark(dir)) }

// EndWithThisProcess makes all clusters in folders directly below dir, which must be an absolute path, end when this
// process ends in any way, or when end is called.
func EndWithThisProcess(dir string) (end func() error, err error) {
	r, err := startReaper(marks(dir) + "/[^/]*")
	if err != nil {
		return nil, err
	}
	return r.stop, nil
}

func startReaper(marks string) (*reaper, error) {
	r := &reaper{cmd: reaperCommand(marks)}
	r.cmd.Stderr = &r.says
	// A session of its own: signals from the terminal are for the tests. The reaper ends them only after the tests have
	// ended.
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	var err error
	if r.stdin, err = r.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("start reaper: %w", err)
	}
	if err := r.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start reaper: %w", err)
	}
	return r, nil
}

// stop ends the cluster's processes and returns after their end.
func (r *reaper) stop() error {
	if err := r.stdin.Close(); err != nil {
		return fmt.Errorf("stop reaper: %w", err)
	}
	return reaperResult(r.cmd.Wait(), r.says.String())
}

// reap ends the processes of the cluster in dir now.
func reap(dir string) error {
	out, err := reaperCommand(marks(dir)).CombinedOutput()
	return reaperResult(err, string(out))
}

func reaperCommand(marks string) *exec.Cmd {
	return exec.Command("/bin/sh", "-c", reaperScript, "reaper", marks) //nolint:noctx // must outlive every context
}

func reaperResult(err error, says string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("end the cluster's processes: %w: %s", err, strings.TrimSpace(says))
}
