package taskhost

import (
	"context"

	"github.com/bobbin-yarn/bobbin/dataflow/operator"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/taskrunner/exchange"
)

// DataPlane moves records between the tasks of a job. It is package exchange's, except in the
// simulation. Its methods may be called from any goroutine.
type DataPlane interface {
	// Address is where other hosts find this one's partitions.
	Address() string
	// Partition makes an output of a task.
	Partition(execution ids.ExecutionAttemptID, output, channels int) (ResultPartition, error)
	// BlockingPartition makes an output of a task whose edge is blocking, in one of these directories.
	BlockingPartition(execution ids.ExecutionAttemptID, output, channels int, dirs []string) (BlockingPartition, error)
	// Gate makes an input that reads from these producers, and GateOf one that reads a channel of all.
	Gate(ctx context.Context, producers []exchange.Producer) InputGate
	GateOf(ctx context.Context, sources *exchange.Sources, channel int) InputGate
	// Usage is the number of buffers in use, and of those for which there is memory.
	Usage() (used, total int)
	// Resize changes the memory for buffers, in bytes.
	Resize(bytes int)
	// Close ends all that is left, when no task runs any more.
	Close()
}

// InputGate is an input of a task. See exchange.InputGate.
type InputGate interface {
	operator.RecordReader
	Wakes(wake chan struct{})
	Close()
	Traffic() exchange.Traffic
	Usage() exchange.Usage
}

// ResultPartition is an output of a task. See exchange.ResultPartition.
type ResultPartition interface {
	operator.RecordWriter
	Watch(w exchange.Watcher)
	Finish(ctx context.Context) error
	Fail(err error)
	Traffic() exchange.Traffic
	Usage() exchange.Usage
}

// BlockingPartition is an output of a task that its worker serves when the task has finished. See exchange.BlockingPartition.
type BlockingPartition interface {
	ResultPartition
	// Written says what Finish has left.
	Written() msg.WrittenPartition
}

// network is the data plane between processes.
type network struct{ *exchange.Exchange }

// Network opens the data plane between processes, which is package exchange's.
func Network(ctx context.Context, config exchange.Config) (DataPlane, error) {
	e, err := exchange.New(ctx, config)
	if err != nil {
		return nil, err
	}
	return network{e}, nil
}

func (n network) Partition(execution ids.ExecutionAttemptID, output, channels int) (ResultPartition, error) {
	return n.Exchange.Partition(execution, output, channels)
}

func (n network) BlockingPartition(execution ids.ExecutionAttemptID, output, channels int, dirs []string) (BlockingPartition, error) {
	return n.Exchange.BlockingPartition(execution, output, channels, dirs)
}

func (n network) Gate(ctx context.Context, producers []exchange.Producer) InputGate {
	return n.Exchange.Gate(ctx, producers)
}

func (n network) GateOf(ctx context.Context, sources *exchange.Sources, channel int) InputGate {
	return n.Exchange.GateOf(ctx, sources, channel)
}
