package uber

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/logging"
	"github.com/bobbin-yarn/bobbin/internal/orphans"
	"github.com/bobbin-yarn/bobbin/internal/procmem"
)

const (
	// stopGrace is how long a worker may take to end, with its task hosts. It is shorter than the time that a
	// worker gives to a host that hangs (hostStopGrace of package taskexecutor): no job uses the worker any
	// more, and the ApplicationMaster waits for it. The rest is killed: see package orphans.
	stopGrace = 3 * time.Second
	// outputGrace is how long processes that a worker has left behind may keep its output open.
	outputGrace = time.Second
)

// Processes starts workers as child processes of this process, from the same binary. They stay in the
// container's process group, which the NodeManager kills. The kernel ends them before this process when
// the container has no memory left. Each ends when its stdin closes: with this process at the latest.
type Processes struct {
	Executable  string   // this process' binary; "": os.Executable
	Environment []string // of this process, "key=value" each
	WorkDir     string   // of the container, for the workers' credentials; "": the process' working directory
	LogDir      string   // for the output of workers; their own logs are beside it
	Logger      logrus.FieldLogger
}

var _ Machine = Processes{}

// Start implements Machine.
func (p Processes) Start(ctx context.Context, id ids.ResourceID, l launch.WorkerProcess) (_ Worker, err error) {
	w := &process{id: id, logger: p.Logger.WithField("worker", id)}
	defer func() {
		if err != nil {
			err = fmt.Errorf("start worker %s in this container: %w", id, errors.Join(err, w.clean()))
		}
	}()
	if p.Executable == "" {
		if p.Executable, err = os.Executable(); err != nil {
			return nil, err
		}
	}
	if w.credentials, err = filepath.Abs(filepath.Join(p.WorkDir, string(id)+".tokens")); err != nil {
		return nil, err
	}
	if err = writeOnce(w.credentials, l.Credentials); err != nil {
		return nil, err
	}
	if w.output, err = logging.OpenOutput(p.LogDir, launch.WorkerLog, ".stdout", ".stderr", w.logger); err != nil {
		return nil, err
	}
	w.command = exec.CommandContext(context.WithoutCancel(ctx), p.Executable, launch.WorkerRole)
	environment := launch.ChildEnvironment(p.Environment)
	for name, value := range l.Environment {
		environment = append(environment, name+"="+value)
	}
	w.command.Args[0] = "./" + launch.BobbinLink // as in a container of its own
	w.command.Env = orphans.Mark(append(environment, launch.TokenFileVariable+"="+w.credentials), string(id))
	w.command.Stdout, w.command.Stderr = w.output.Stdout, w.output.Stderr
	w.command.WaitDelay = outputGrace
	if w.stdin, err = w.command.StdinPipe(); err != nil {
		return nil, err
	}
	if err = w.command.Start(); err != nil {
		return nil, err
	}
	if exposing := procmem.Expose(w.command.Process.Pid); exposing != nil {
		w.logger.WithError(exposing).Warn("the kernel may end the ApplicationMaster before its worker")
	}
	w.logger.WithField("pid", w.command.Process.Pid).Info("process of the worker started")
	return w, nil
}

// writeOnce writes a new file, which only this user can read.
func writeOnce(path string, content []byte) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	return errors.Join(err, file.Close())
}

// process is a worker that is a child process.
type process struct {
	id          ids.ResourceID
	credentials string // file
	output      *logging.Output
	command     *exec.Cmd
	stdin       io.Closer
	stopping    sync.Once
	logger      logrus.FieldLogger
}

// Stop implements Worker.
func (w *process) Stop() {
	w.stopping.Do(func() {
		_ = w.stdin.Close() // it is closed if the process has ended
		time.AfterFunc(stopGrace, func() { _ = w.command.Process.Kill() })
	})
}

// Wait implements Worker.
func (w *process) Wait() (how string) {
	_ = w.command.Wait() // the process state has the error
	if n := orphans.End(string(w.id)); n > 0 {
		w.logger.WithField("processes", n).Warn("worker left processes behind; they are killed")
	}
	if err := w.clean(); err != nil {
		w.logger.WithError(err).Warn("files of the worker's start stay")
	}
	how = "process ended: " + w.command.ProcessState.String()
	if said := strings.TrimSpace(w.output.String()); said != "" {
		how += ": " + said
	}
	return how
}

// clean removes the files that the start has made, but for the logs.
func (w *process) clean() error {
	var faults []error
	if w.output != nil {
		faults = append(faults, w.output.Close())
	}
	if w.credentials != "" {
		if err := os.Remove(w.credentials); !errors.Is(err, os.ErrNotExist) {
			faults = append(faults, err)
		}
	}
	return errors.Join(faults...)
}
