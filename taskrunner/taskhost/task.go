package taskhost

import (
	"context"
	"errors"
	"fmt"
	"runtime/pprof"
	"strings"
	"sync"

	"github.com/bobbin-yarn/bobbin/dataflow/operator"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/taskrunner/exchange"
)

// errCanceled is the cause of a cancelled task's context.
var errCanceled = errors.New("task is cancelled")

// task is a running task. Its goroutine calls run. The loop cancels the task and answers its
// subtask. Any goroutine may call metrics.
type task struct {
	deployment
	host    ids.HostID
	dirs    []string // for blocking partitions, one on each disk
	code    operator.Task
	subtask *subtask
	cancel  context.CancelCauseFunc

	wiring sync.Mutex // guards the subtask's inputs and outputs while they are made
}

// run runs the task and reports once how it ended: nil, or an error. It reports before its
// consumers learn of a failure: their failure leads to a cancel, which would hide the cause. By
// then everything that the task has read is counted.
func (t *task) run(ctx context.Context, e DataPlane, report func(error)) {
	err := errGoexit // replaced below unless the task's code calls runtime.Goexit
	defer func() {
		t.closeInputs()
		report(err)
		if err != nil {
			t.failOutputs(err)
		}
	}()
	if err = t.attempt(ctx, e); err == nil && ctx.Err() != nil {
		err = context.Cause(ctx) // nobody learns of its blocking partitions, so they go
	}
}

func (t *task) attempt(ctx context.Context, e DataPlane) error {
	if err := t.wire(ctx, e); err != nil {
		return err
	}
	var err error
	labels := pprof.Labels(hostLabel, string(t.host), taskLabel, t.Execution.String())
	pprof.Do(ctx, labels, func(ctx context.Context) {
		defer t.subtask.closeMemory() // the last output, which consumers may take slowly, is in buffers
		err = t.execute(ctx)
	})
	if exceeded := t.subtask.metrics.exceeded(); exceeded != nil {
		return exceeded // the code's error, if there is one, is a consequence
	}
	if err != nil {
		return err
	}
	// Consumers may take the last output slowly. The producers need not wait for that.
	t.closeInputs()
	for _, partition := range t.subtask.outputs {
		if err := partition.Finish(ctx); err != nil {
			return fmt.Errorf("finish output: %w", err)
		}
	}
	return t.subtask.collectedAll(ctx)
}

// wire connects the task's outputs and inputs.
func (t *task) wire(ctx context.Context, e DataPlane) error {
	t.wiring.Lock()
	defer t.wiring.Unlock()
	for i := range t.Outputs {
		partition, err := t.output(e, i)
		if err != nil {
			return fmt.Errorf("create output: %w", err)
		}
		partition.Watch(t.subtask.activity.forConsumers())
		t.subtask.outputs = append(t.subtask.outputs, partition)
	}
	for _, in := range t.Inputs {
		var gate InputGate = noInput{}
		switch {
		case t.Winners != nil:
		case in.All != nil:
			gate = e.GateOf(ctx, in.All, in.Channel)
		default:
			gate = e.Gate(ctx, in.One)
		}
		gate.Wakes(t.subtask.wake)
		t.subtask.inputs = append(t.subtask.inputs, gate)
	}
	return nil
}

// output makes an output.
func (t *task) output(e DataPlane, i int) (ResultPartition, error) {
	if o := t.Outputs[i]; !o.Blocking {
		return e.Partition(t.Execution, i, o.Channels)
	}
	return e.BlockingPartition(t.Execution, i, t.Outputs[i].Channels, t.dirs)
}

// written lists the blocking partitions of a task that has succeeded.
func (t *task) written() (all []msg.WrittenPartition) {
	for _, output := range t.subtask.outputs {
		if p, is := output.(BlockingPartition); is {
			all = append(all, p.Written())
		}
	}
	return all
}

// noInput is the input of a task that commits again.
type noInput struct{}

func (noInput) Poll() (operator.Item, []byte, error) { return operator.EndOfData, nil, nil }
func (noInput) Wakes(chan struct{})                  {}
func (noInput) Close()                               {}
func (noInput) Traffic() exchange.Traffic            { return exchange.Traffic{} }
func (noInput) Usage() exchange.Usage                { return exchange.Usage{} }

// execute calls the user's code.
func (t *task) execute(ctx context.Context) (err error) {
	defer func() {
		if value := recover(); value != nil {
			cause, _ := value.(error)
			text := fmt.Sprint(value)
			if t.subtask.at != nil {
				text = strings.TrimSuffix(text+"\n"+t.subtask.at(), "\n")
			}
			err = &panicError{text: text, stack: userStack("taskhost.(*task).execute"), cause: cause}
		}
	}()
	return t.code.Run(ctx, t.subtask)
}

// failOutputs tells the task's consumers that the output failed, and why.
func (t *task) failOutputs(err error) {
	for _, partition := range t.subtask.outputs {
		partition.Fail(err)
	}
}

func (t *task) closeInputs() {
	for _, gate := range t.subtask.inputs {
		gate.Close()
	}
}

// shareOf is the part of the buffers that a task may hold which it holds, as msg.Queues has it.
func shareOf(u exchange.Usage) int {
	if u.Most <= 0 {
		return 0
	}
	return min(u.Held*msg.WholeUsage/u.Most, msg.WholeUsage)
}

// metrics measures the task. It may be called from any goroutine.
func (t *task) metrics() msg.TaskMetrics {
	m := msg.TaskMetrics{Activity: t.subtask.activity.measured()}
	m.ReadBytes, m.WriteBytes = t.subtask.files.read.Load(), t.subtask.files.written.Load()
	t.wiring.Lock()
	defer t.wiring.Unlock()
	var in, out exchange.Usage
	for _, gate := range t.subtask.inputs {
		passed := gate.Traffic()
		m.Traffic.Add(msg.Traffic{ReadRecords: passed.Records, ReadBytes: passed.Bytes, ReadBuffers: passed.Buffers})
		in.Add(gate.Usage())
	}
	for _, partition := range t.subtask.outputs {
		passed := partition.Traffic()
		m.Traffic.Add(msg.Traffic{WriteRecords: passed.Records, WriteBytes: passed.Bytes, WriteBuffers: passed.Buffers})
		out.Add(partition.Usage())
	}
	m.Queues = msg.Queues{In: in.Queued, Out: out.Queued, InUsage: shareOf(in), OutUsage: shareOf(out)}
	return m
}
