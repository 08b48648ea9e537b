package minicluster

import (
	"context"
	"fmt"
	"io"
	"net"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/internal/control"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/taskrunner/exchange"
	"github.com/bobbin-yarn/bobbin/taskrunner/taskexecutor"
	"github.com/bobbin-yarn/bobbin/taskrunner/taskhost"
)

// Hosts starts the task hosts of a worker as goroutines.
type Hosts struct {
	Process Process
	Stdout  io.Writer // of print sinks
	Logger  logrus.FieldLogger
	// DataPlane opens a host's end of the data plane; nil: taskhost.Network.
	DataPlane func(context.Context, exchange.Config) (taskhost.DataPlane, error)
}

// Start starts a task host.
func (h Hosts) Start(ctx context.Context, spec taskexecutor.HostSpec) (taskexecutor.Host, error) {
	near, far := net.Pipe()
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	started := &host{conn: near, cancel: cancel, ended: make(chan error, 1)}
	go func() { // ends with its control connection, or by Kill
		started.ended <- taskhost.Run(ctx, control.New(far, msg.TaskExecutorToHost), taskhost.Options{
			Program: h.Process.Program,
			Open: func(msg.StartHost) (taskhost.Surroundings, error) {
				return taskhost.Surroundings{
					Files: h.Process.FileSystem, CloseFiles: func() error { return nil }, // the caller of the cluster closes them
					Logger: h.Logger.WithField("host", spec.Host),
				}, nil
			},
			Stdout:    h.Stdout,
			DataPlane: h.DataPlane,
		})
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
