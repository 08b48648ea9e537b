// Package fleet runs thousands of workers as goroutines of one process. Each is a real TaskExecutor with a TLS
// connection of its own to the ApplicationMaster, and with real task hosts, which are goroutines, too. Only what
// would burden this machine instead of the ApplicationMaster is left out: processes, the data plane, and the
// certificates of hosts.
//
// Run starts the goroutines of one worker and waits for them.
package fleet

import (
	"context"
	"errors"
	"io"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/client/minicluster"
	"github.com/bobbin-yarn/bobbin/dataflow/operator"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/pki"
	"github.com/bobbin-yarn/bobbin/internal/rolerpc"
	"github.com/bobbin-yarn/bobbin/taskrunner/exchange"
	"github.com/bobbin-yarn/bobbin/taskrunner/taskexecutor"
	"github.com/bobbin-yarn/bobbin/taskrunner/taskhost"
)

// Worker is what a worker's process reads from its launch context.
type Worker struct {
	Container   ids.ResourceID
	Launch      launch.TaskExecutor
	Credentials *pki.Credentials
}

// Run runs a worker until the ResourceManager releases it, or until ctx ends, whose cause it then returns. Its hosts
// run the given process.
func Run(ctx context.Context, w Worker, process minicluster.Process, logger logrus.FieldLogger) error {
	options, err := config.New(config.Layer{Source: "launch context", Values: w.Launch.Config})
	if err != nil {
		return err
	}
	dialer := rolerpc.NewDialer(rolerpc.Config{
		TLS:         w.Credentials.ClientTLS(pki.OnlyRole(pki.RoleApplicationMaster)),
		Unreachable: config.Unreachable(options),
		Logger:      logger,
	})
	defer dialer.Close()
	executor, err := taskexecutor.New(taskexecutor.Config{
		Address: w.Launch.AMAddress, Resource: w.Container, Node: w.Launch.Host, Slots: w.Launch.Memory.Slots,
		Memory: w.Launch.Memory, VCores: w.Launch.VCores, Programs: w.Launch.Programs,
		Options: taskexecutor.OptionsFrom(options),
	}, taskexecutor.Environment{
		Roles:        dialer,
		Hosts:        minicluster.Hosts{Process: process, Stdout: io.Discard, Logger: logger, DataPlane: unconnected},
		Instructions: msg.StartHost{ListenHost: w.Launch.Host},
		Logger:       logger,
	})
	if err != nil {
		return err
	}
	return executor.Run(ctx)
}

// unconnected opens a data plane for tasks without inputs and outputs.
func unconnected(_ context.Context, c exchange.Config) (taskhost.DataPlane, error) {
	return plane(c.ListenHost + ":1"), nil
}

// plane is a data plane that has only an address.
type plane string

var errUnconnected = errors.New("the simulated workers of this fleet have no data plane")

func (p plane) Address() string { return string(p) }
func (plane) Usage() (int, int) { return 0, 0 }
func (plane) Resize(int)        {}
func (plane) Close()            {}

func (plane) Partition(ids.ExecutionAttemptID, int, int) (taskhost.ResultPartition, error) {
	return nil, errUnconnected
}

func (plane) BlockingPartition(ids.ExecutionAttemptID, int, int, []string) (taskhost.BlockingPartition, error) {
	return nil, errUnconnected
}

func (plane) Gate(context.Context, []exchange.Producer) taskhost.InputGate { return gate{} }

func (plane) GateOf(context.Context, *exchange.Sources, int) taskhost.InputGate { return gate{} }

// gate is an input that fails.
type gate struct{}

func (gate) Poll() (operator.Item, []byte, error) { return operator.Nothing, nil, errUnconnected }
func (gate) Wakes(chan struct{})                  {}
func (gate) Close()                               {}
func (gate) Traffic() exchange.Traffic            { return exchange.Traffic{} }
func (gate) Usage() exchange.Usage                { return exchange.Usage{} }
