package minicluster

import (
	"context"
	"fmt"
	"io"
	"net"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/internal/control"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/taskrunner/taskexecutor"
	"github.com/bobbin-yarn/bobbin/taskrunner/taskhost"
)

// hosts starts the task hosts of a worker as goroutines.
type hosts struct {
	process Process
	stdout  io.Writer
	logger  logrus.FieldLogger
	wires   *wires // nil: those of the system
}

// Start starts a task host.
func (h hosts) Start(ctx context.Context, spec taskexecutor.HostSpec) (taskexecutor.Host, error) {
	near, far := net.Pipe()
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	started := &host{conn: near, cancel: cancel, ended: make(chan error, 1)}
	options := taskhost.Options{
		Program: h.process.Program,
		Open: func(msg.StartHost) (taskhost.Surroundings, error) {
			return taskhost.Surroundings{
				Files: h.process.FileSystem, CloseFiles: func() error { return nil }, // the caller of the cluster closes them
				Logger: h.logger.WithField("host", spec.Host),
			}, nil
		},
		Stdout: h.stdout,
	}
	if h.wires != nil {
		options.DataPlane = h.wires.dataPlane
	}
	go func() { // ends with its control connection, or by Kill
		started.ended <- taskhost.Run(ctx, control.New(far, msg.TaskExecutorToHost), options)
	}()
	return started, nil
}

// host is a task host in this process.
type host struct {
	conn   net.Conn
	cancel context.CancelFunc
	ended  chan error
}

func (h *host) Control() control.Channel { return taskexecutor.Controlling(h.conn) }
func (h *host) PID() int                 { return 0 }
func (h *host) Kill()                    { h.cancel() }

// Wait waits for the host's goroutines.
func (h *host) Wait() taskexecutor.Exit {
	err := <-h.ended
	h.cancel()
	if err == nil {
		return taskexecutor.Exit{How: "ended"}
	}
	return taskexecutor.Exit{How: fmt.Sprint(err)}
}
