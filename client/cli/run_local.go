package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"github.com/bobbin-yarn/bobbin/client/terminal"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/control"
	"github.com/bobbin-yarn/bobbin/internal/program"
)

// runLocal runs the program as if by hand: it is a local cluster by itself.
func runLocal(ctx context.Context, p Process, cfg config.Config, words []string) error {
	path, err := program.InspectOwn(words[0])
	if err != nil {
		return err
	}
	if !cfg.IsSet(config.ExecutionTarget) {
		fmt.Fprintf(p.Stderr, "No target is named, and no session is known. The program's jobs run here, in its own process (-t %s). To run them on the cluster: -t %s\n",
			targetLocal, targetYARNPerJob)
	}
	text, err := json.Marshal(cfg.Set())
	if err != nil {
		return fmt.Errorf("run %s: %w", words[0], err)
	}
	parent, err := control.Listen()
	if err != nil {
		return fmt.Errorf("run %s: %w", words[0], err)
	}
	defer parent.Close() // read only: nothing to lose
	cmd := exec.CommandContext(context.WithoutCancel(ctx), path, words[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = p.Stdin, terminal.Raw(p.Stdout), terminal.Raw(p.Stderr)
	cmd.Env = append(os.Environ(), control.OptionsVariable+"="+string(text), parent.Environment())
	cmd.ExtraFiles = []*os.File{parent.Child}
	err = cmd.Start()
	err = errors.Join(err, parent.Child.Close())
	if errors.Is(err, syscall.ENOEXEC) {
		return fmt.Errorf("program %s: %w than %s/%s", words[0], program.ErrPlatform, runtime.GOOS, runtime.GOARCH)
	}
	if err != nil {
		return fmt.Errorf("run %s: %w", words[0], err)
	}
	stop := context.AfterFunc(ctx, func() {
		if errors.Is(context.Cause(ctx), ErrTerminated) {
			_ = cmd.Process.Signal(syscall.SIGTERM) // ended already: no harm
		}
	})
	defer stop()
	err = cmd.Wait()
	amid := parent.Amid()
	if err == nil && amid == control.AmidJob {
		return errors.Join(context.Cause(ctx), fmt.Errorf("program %s: exit status 0: a task or the driver called os.Exit before the job ended", words[0]))
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("program %s: %w", words[0], err)
		if exit.Exited() && (amid == control.AmidDriver || amid == control.AmidJob) {
			err = fmt.Errorf("%w: it %s, in its driver or in a task, which -t %s runs in the same process", err, brokenOffBy(exit.ExitCode()), targetLocal)
		} else if exit.Exited() { // it has said why, which it cannot where a signal ends it
			return printed{errors.Join(context.Cause(ctx), err)}
		}
		err = errors.Join(context.Cause(ctx), err)
	}
	return err
}

// brokenOffBy is what ends a program amid its work, with that exit code. Go's runtime exits with
// 2 after a panic that nobody recovers, and after a fatal error; and tells of it.
func brokenOffBy(code int) string {
	if code == 2 {
		return "crashed, or called os.Exit"
	}
	return "called os.Exit"
}
