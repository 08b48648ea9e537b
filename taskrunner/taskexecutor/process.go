package taskexecutor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/internal/control"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/logging"
	"github.com/bobbin-yarn/bobbin/internal/memory"
	"github.com/bobbin-yarn/bobbin/internal/orphans"
	"github.com/bobbin-yarn/bobbin/internal/procmem"
	"github.com/bobbin-yarn/bobbin/internal/shutdown"
)

// outputGrace is how long children of an ended host may keep its output open.
const outputGrace = time.Second

// leastThreads is the least GOMAXPROCS of a host: reading ahead and the garbage collector need a
// second thread beside the task's. YARN divides processors by shares, not by numbers.
const leastThreads = 2

// ProcessStarter starts task hosts as child processes. They stay in the container's process group,
// which the NodeManager kills.
type ProcessStarter struct {
	// Environment is the environment of the hosts, "key=value" each.
	Environment []string
	// VCores is the number of cores of the container. It is also the GOMAXPROCS of each host, which
	// is at least 2.
	VCores int
	// LogDir is the folder for the hosts' output: taskhost-<job>.out and .err. Their own logs are
	// beside these files.
	LogDir string
	// Exposed makes the kernel end hosts before the TaskExecutor when it has no memory left.
	Exposed bool
	Logger  logrus.FieldLogger
}

// Start starts the program.
func (p ProcessStarter) Start(ctx context.Context, spec HostSpec) (Host, error) {
	conn, socket, err := control.Pair()
	if err != nil {
		return nil, fmt.Errorf("start task host %s: %w", spec.Program, err)
	}
	defer socket.Close()
	h := &process{mark: ids.Random(), conn: conn, logger: p.Logger.WithField("host", spec.Host)}
	if h.output, err = logging.OpenOutput(p.LogDir, "taskhost-"+string(spec.Job), ".out", ".err", h.logger); err != nil {
		return nil, errors.Join(fmt.Errorf("start task host %s: %w", spec.Program, err), conn.Close())
	}
	// The command outlives ctx: its control connection tells it when to end.
	h.command = exec.CommandContext(context.WithoutCancel(ctx), spec.Program)
	h.command.Env = append(orphans.Mark(p.Environment, h.mark),
		control.Variable+"="+control.Value(control.RoleTaskHost, control.ChildFD),
		"GOMAXPROCS="+strconv.Itoa(max(p.VCores, leastThreads)),
		"GOMEMLIMIT="+memory.GoLimit(spec.Memory.Limit()))
	h.command.Stdout, h.command.Stderr = h.output.Stdout, h.output.Stderr
	h.command.ExtraFiles = []*os.File{socket}
	h.command.WaitDelay = outputGrace
	if err := h.command.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start task host %s: %w", spec.Program, err), conn.Close(), h.output.Close())
	}
	if p.Exposed {
		if err := procmem.Expose(h.PID()); err != nil {
			h.logger.WithError(err).Warn("the kernel may end other processes of the container before the task host")
		}
	}
	return h, nil
}

// process is a task host that is a child process.
type process struct {
	mark    string // of its descendants
	command *exec.Cmd
	conn    net.Conn
	output  *logging.Output
	logger  logrus.FieldLogger
}

// howOf tells how a process has ended. A host that a signal ends in order has its exit code (shutdown.Received).
func howOf(state *os.ProcessState) string {
	for _, s := range []syscall.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM} {
		if received := (shutdown.Received{Signal: s}); state.ExitCode() == received.Code() {
			return fmt.Sprintf("%s: %v", state, received)
		}
	}
	return state.String()
}

// Control is the TaskExecutor's end of the connection.
func (h *process) Control() control.Channel { return Controlling(h.conn) }

// PID is the pid of the child.
func (h *process) PID() int { return h.command.Process.Pid }

// Kill sends SIGKILL.
func (h *process) Kill() {
	if err := h.command.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		h.logger.WithError(err).Error("task host cannot be killed")
	}
}

// Wait waits for the end of the child, and kills the processes that it has left behind.
func (h *process) Wait() Exit {
	// The process state has the error: a status other than 0, or output that stayed open.
	_ = h.command.Wait()
	if n := orphans.End(h.mark); n > 0 {
		h.logger.WithField("processes", n).Warn("task host left child processes behind; they are killed")
	}
	if err := h.output.Close(); err != nil {
		h.logger.WithError(err).Warn("output files of the task host cannot be closed")
	}
	return Exit{How: howOf(h.command.ProcessState), Crash: h.output.Crash(), Output: strings.TrimSpace(h.output.String())}
}
