package taskhost

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/dataflow/operator"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/taskrunner/exchange"
)

// BenchmarkMeasuredExchange moves records from one host to another, by tasks that are measured as in a host, and by tasks that
// are not. The runs alternate, if each is asked for by a -count.
func BenchmarkMeasuredExchange(b *testing.B) {
	for _, size := range []int{16, 1000} {
		for _, kind := range []string{"unmeasured", "measured"} {
			b.Run(fmt.Sprintf("%d/%s", size, kind), func(b *testing.B) { moveRecords(b, size, kind == "measured") })
		}
	}
}

func moveRecords(b *testing.B, size int, watched bool) {
	b.Helper()
	ctx := b.Context()
	open := func(host ids.HostID) *exchange.Exchange {
		e, err := exchange.New(ctx, exchange.Config{Job: "j", Host: host, ListenHost: "127.0.0.1", Logger: quietLogger()})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(e.Close)
		return e
	}
	producer, consumer := open("a"), open("b")
	id := exchange.PartitionID{Execution: ids.ExecutionAttemptID{Epoch: 1}}
	p, err := producer.Partition(id.Execution, 0, 1)
	if err != nil {
		b.Fatal(err)
	}
	g := consumer.Gate(ctx, []exchange.Producer{{Partition: id, Host: "a", Address: producer.Address()}})
	defer g.Close()
	writes, reads := benchTask(nil, []ResultPartition{p}), benchTask([]InputGate{g}, nil)
	next := func() ([]byte, error) { return g.Next(ctx) }
	if watched {
		p.Watch(writes.subtask.activity.forConsumers())
		g.Wakes(reads.subtask.wake)
		next = func() ([]byte, error) { return operator.NextRecord(ctx, reads.subtask, 0) }
		measuring, stop := context.WithCancel(ctx)
		defer stop()
		go measureAll(measuring, writes, reads)
	}
	record := make([]byte, size)
	b.SetBytes(int64(size))
	b.ReportAllocs()
	b.ResetTimer()
	var task sync.WaitGroup
	task.Go(func() {
		for range b.N {
			if err := p.Emit(ctx, 0, record); err != nil {
				b.Error(err)
				return
			}
		}
		if err := p.Finish(ctx); err != nil {
			b.Error(err)
		}
	})
	for err == nil {
		_, err = next()
	}
	if !errors.Is(err, io.EOF) {
		b.Error(err)
	}
	task.Wait()
}

func benchTask(inputs []InputGate, outputs []ResultPartition) *task {
	return &task{subtask: &subtask{activity: newActivity(time.Now), wake: make(chan struct{}, 1), files: new(countedFiles), inputs: inputs, outputs: outputs}}
}

// measureAll measures tasks as often as a small job does.
func measureAll(ctx context.Context, tasks ...*task) {
	tick := time.NewTicker(msg.ProgressInterval(len(tasks)))
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			for _, t := range tasks {
				t.metrics()
			}
		case <-ctx.Done():
			return
		}
	}
}

func quietLogger() logrus.FieldLogger {
	logger := logrus.New()
	logger.SetOutput(io.Discard)
	return logger
}
