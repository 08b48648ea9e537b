//go:build unix

package yarnfake

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// killDelay is how long a process has between SIGTERM and SIGKILL
// (yarn.nodemanager.sleep-delay-before-sigkill.ms).
const killDelay = 250 * time.Millisecond

// searchPath is the only variable of the environment that a process gets from this
// program.
const searchPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// runProcess runs a container as a process group to its end. When the context ends,
// the group gets SIGTERM and, a little later, SIGKILL.
func runProcess(ctx context.Context, r *run, p places) (records.ExitStatus, string) {
	if err := prepare(r.Container, p); err != nil {
		return localizationFailed, err.Error()
	}
	command, finish, err := begin(p)
	if err != nil {
		return 1, err.Error()
	}
	group := -command.Process.Pid
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	stop, kill := ctx.Done(), (<-chan time.Time)(nil)
	for {
		select {
		case err := <-ended:
			_ = syscall.Kill(group, syscall.SIGKILL) // its remaining children
			return exitOf(err, finish())
		case signal := <-r.signals:
			_ = syscall.Kill(group, signal) // it may have ended just now
		case <-stop:
			stop = nil
			_ = syscall.Kill(group, syscall.SIGTERM) // likewise
			timer := time.NewTimer(killDelay)
			defer timer.Stop()
			kill = timer.C
		case <-kill:
			_ = syscall.Kill(group, syscall.SIGKILL) // likewise
		}
	}
}

// begin starts the script, whose output goes to the prelaunch files until it redirects.
func begin(p places) (command *exec.Cmd, finish func() error, err error) {
	command = exec.Command("/bin/bash", filepath.Join(p.work, scriptFile)) //nolint:noctx // the container's own; ending it takes two signals
	command.Dir, command.Env = p.work, []string{searchPath}
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := os.Create(filepath.Join(p.logs, "prelaunch.out"))
	if err != nil {
		return nil, nil, err
	}
	errs, err := os.Create(filepath.Join(p.logs, "prelaunch.err"))
	if err != nil {
		return nil, nil, errors.Join(err, out.Close())
	}
	finish = func() error { return errors.Join(out.Close(), errs.Close()) }
	command.Stdout, command.Stderr = out, errs
	if err := command.Start(); err != nil {
		return nil, nil, errors.Join(err, finish())
	}
	return command, finish, nil
}

// exitOf returns a process's status in the form of a NodeManager: 128 plus the signal if
// a signal has ended it.
func exitOf(waited, closed error) (records.ExitStatus, string) {
	exit, is := errors.AsType[*exec.ExitError](waited)
	switch {
	case waited != nil && !is:
		return 1, waited.Error()
	case closed != nil:
		return 1, closed.Error()
	case waited == nil:
		return records.ExitSuccess, ""
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + records.ExitStatus(status.Signal()), ""
	}
	return records.ExitStatus(exit.ExitCode()), ""
}

const scriptFile = "launch_container.sh"

// prepare makes a container's directories and puts its files there.
func prepare(c Container, p places) error {
	for _, dir := range []string{p.work, p.logs} {
		if err := os.MkdirAll(dir, 0o750); err != nil {
			return err
		}
	}
	for name, resource := range c.Launch.LocalResources {
		if err := localize(resource, filepath.Join(p.work, filepath.Clean("/"+name))); err != nil {
			return fmt.Errorf("localize %s: %w", name, err)
		}
	}
	if err := os.WriteFile(filepath.Join(p.work, tokensFile), c.Launch.Tokens, 0o600); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(p.work, scriptFile), []byte(script(c, p)), 0o600)
}

// localize copies a file if it has not changed since the resource was written.
func localize(r records.LocalResource, to string) error {
	if r.URL.Scheme != "file" || r.Type != records.LocalFile {
		return fmt.Errorf("%s %s: this cluster copies only plain files from file: URLs", r.Type, r.URL)
	}
	from, err := os.Open(r.URL.Path)
	if err != nil {
		return err
	}
	defer from.Close()
	info, err := from.Stat()
	if err != nil {
		return err
	}
	if info.ModTime().UnixMilli() != r.Timestamp {
		return fmt.Errorf("resource %s changed on src filesystem (expected %d, was %d)", r.URL, r.Timestamp, info.ModTime().UnixMilli())
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o750); err != nil {
		return err
	}
	file, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o700) // the owner may execute localized files
	if err != nil {
		return err
	}
	_, err = io.Copy(file, from)
	return errors.Join(err, file.Close())
}
