package run

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

// local is the target that runs the program in its own process, as if the user started it.
type local struct{ Request }

func (r local) run(ctx context.Context) error {
	defer r.done("program ended")
	path, err := program.InspectOwn(r.Program)
	if err != nil {
		return err
	}
	if !r.Config.IsSet(config.ExecutionTarget) {
		r.Line("No target is named, and no session is known. The program's jobs run here, in its own process (-t %s). To run them on the cluster: -t %s",
			config.TargetLocal, config.TargetPerJob)
	}
	text, err := json.Marshal(r.Config.Set())
	if err != nil {
		return fmt.Errorf("run %s: %w", r.Program, err)
	}
	parent, err := control.Listen()
	if err != nil {
		return fmt.Errorf("run %s: %w", r.Program, err)
	}
	defer parent.Close() // read only: nothing to lose
	cmd := exec.CommandContext(context.WithoutCancel(ctx), path, r.Arguments...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = r.In, terminal.Raw(r.Out), terminal.Raw(r.Err)
	cmd.Env = append(os.Environ(), control.OptionsVariable+"="+string(text), parent.Environment())
	cmd.ExtraFiles = []*os.File{parent.Child}
	err = cmd.Start()
	err = errors.Join(err, parent.Child.Close())
	if errors.Is(err, syscall.ENOEXEC) {
		return fmt.Errorf("program %s: %w than %s/%s", r.Program, program.ErrPlatform, runtime.GOOS, runtime.GOARCH)
	}
	if err != nil {
		return fmt.Errorf("run %s: %w", r.Program, err)
	}
	stop := context.AfterFunc(ctx, func() {
		if errors.Is(context.Cause(ctx), ErrTerminated) {
			_ = cmd.Process.Signal(syscall.SIGTERM) // an error means that the process has ended already
		}
	})
	defer stop()
	return localEnd(ctx, r.Program, cmd.Wait(), parent.Amid())
}

// localEnd is the error of a local program that has ended; amid says what the program was doing.
func localEnd(ctx context.Context, name string, err error, amid control.Amid) error {
	if err == nil && amid == control.AmidJob {
		return errors.Join(context.Cause(ctx), fmt.Errorf("program %s: exit status 0: a task or the driver called os.Exit before the job ended", name))
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("program %s: %w", name, err)
		if exit.Exited() && (amid == control.AmidDriver || amid == control.AmidJob) {
			err = fmt.Errorf("%w: it %s, in its driver or in a task, which -t %s runs in the same process", err, brokenOffBy(exit.ExitCode()), config.TargetLocal)
		} else if exit.Exited() { // the program has printed why, unless a signal ended it
			return Printed{errors.Join(context.Cause(ctx), err)}
		}
		err = errors.Join(context.Cause(ctx), err)
	}
	return err
}

// brokenOffBy says, from the exit code, what ended a program before its work was done. Go's runtime prints an
// unrecovered panic or a fatal error, and exits with 2.
func brokenOffBy(code int) string {
	if code == 2 {
		return "crashed, or called os.Exit"
	}
	return "called os.Exit"
}
