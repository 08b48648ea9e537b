package taskhost_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/dataflow/operator"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/msg/placement"
	"github.com/bobbin-yarn/bobbin/taskrunner/exchange"
)

// emitMany is a source of 1,000 records, the same number for each consumer.
func emitMany(ctx context.Context, s operator.Subtask) error {
	for n := range 1000 {
		if err := s.Output(0).Emit(ctx, n%s.Output(0).Channels(), make([]byte, 1000)); err != nil {
			return err
		}
	}
	return nil
}

// in makes a host write blocking partitions into a directory.
func in(dir string) func(*msg.StartHost) {
	return func(m *msg.StartHost) { m.PartitionDirs = []string{dir} }
}

// server serves partitions as the worker does.
func server(t *testing.T) *exchange.Server {
	t.Helper()
	log := logrus.New()
	log.SetOutput(io.Discard)
	s, err := exchange.NewServer(t.Context(), exchange.ServerConfig{Host: ids.PartitionHost("w"), ListenHost: "127.0.0.1", Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// deployReaders deploys the two consumers of the source, whose partition the server has.
func deployReaders(w *worker, s *exchange.Server, blocking bool) {
	var producers placement.Table
	producers.AddPartitions(execution(0, 0), placement.Host{ID: ids.PartitionHost("w"), Address: s.Address()})
	w.send(msg.DeployTasks{Host: w.start.Host, Producers: producers.Encode(), Blocking: blocking, Tasks: []msg.TaskDeployment{
		{Execution: execution(1, 0)}, {Execution: execution(1, 1)},
	}})
}

// TestABlockingEdgeOutlivesItsProducer would catch an output that waits for its consumers, a partition that its end does not report, and
// consumers that look for the producer's host.
func TestABlockingEdgeOutlivesItsProducer(t *testing.T) {
	for name, made := range map[string]bool{"by the graph": false, "by the JobMaster": true} {
		t.Run(name, func(t *testing.T) {
			p := chain([]int{1, 2}, emitMany, drain)
			if !made {
				p.graph.Edges[0].Kind = jobgraph.Blocking
			}
			dir := t.TempDir()
			w := newWorker(t, "h1", p, in(dir)).ready()
			w.send(msg.DeployTasks{Host: "h1", Blocking: made, Tasks: []msg.TaskDeployment{{Execution: execution(0, 0)}}})
			end := w.final()
			if end.State != msg.ExecutionFinished || len(end.Partitions) != 1 {
				t.Fatalf("the producer is %s with %d partitions: %v", end.State, len(end.Partitions), end.Failure)
			}
			id := ids.PartitionID{Execution: end.Execution, Output: end.Partitions[0].Output}
			path := filepath.Join(dir, id.String())
			if info, err := os.Stat(path); err != nil || info.Size() != end.Partitions[0].Bytes || end.Partitions[0].Records != 1000 {
				t.Errorf("the partition is %+v: %v, %v", end.Partitions[0], info, err)
			}
			if end.Metrics.Traffic.WriteRecords != 1000 {
				t.Errorf("it wrote %d records", end.Metrics.Traffic.WriteRecords)
			}
			w.stop()

			s := server(t)
			s.Add("j", id, 0, path)
			next := newWorker(t, "h2", p).ready()
			deployReaders(next, s, made)
			for range 2 {
				if end := next.final(); end.State != msg.ExecutionFinished || end.Metrics.Traffic.ReadRecords != 500 {
					t.Errorf("a consumer is %s and has read %d records: %v", end.State, end.Metrics.Traffic.ReadRecords, end.Failure)
				}
			}
			next.stop()
		})
	}
}

// TestALostPartitionIsNamed would catch a failure that does not say which partition must be written again.
func TestALostPartitionIsNamed(t *testing.T) {
	p := chain([]int{1, 2}, emitMany, drain)
	p.graph.Edges[0].Kind = jobgraph.Blocking
	w := newWorker(t, "h1", p).ready()
	s := server(t)
	deployReaders(w, s, false)
	want := ids.PartitionID{Execution: execution(0, 0)}
	for range 2 {
		end := w.final()
		if f := end.Failure; f == nil || f.PartitionLost == nil || *f.PartitionLost != want || f.PeerLost != "" || f.Permanent {
			t.Errorf("a consumer is %s: %+v", end.State, f)
		}
	}
	s.Close()
	deployReaders(w, s, false)
	for range 2 {
		end := w.final()
		if f := end.Failure; f == nil || f.PartitionLost != nil || f.PeerLost != ids.PartitionHost("w") {
			t.Errorf("a consumer without a server is %s: %+v", end.State, f)
		}
	}
	w.stop()
}

// TestFailedAndCancelledTasksLeaveNoPartition would catch disks that fill up with what nothing reads.
func TestFailedAndCancelledTasksLeaveNoPartition(t *testing.T) {
	boom := errors.New("boom")
	for name, test := range map[string]struct {
		after taskFunc
		want  msg.ExecutionState
	}{
		"failed":    {func(context.Context, operator.Subtask) error { return boom }, msg.ExecutionFailed},
		"cancelled": {untilCancelled, msg.ExecutionCanceled},
		"cancelled and does not care": {func(ctx context.Context, _ operator.Subtask) error {
			<-ctx.Done()
			return nil
		}, msg.ExecutionCanceled},
	} {
		t.Run(name, func(t *testing.T) {
			written := make(chan struct{})
			p := chain([]int{1, 2}, func(ctx context.Context, s operator.Subtask) error {
				if err := emitMany(ctx, s); err != nil {
					return err
				}
				close(written)
				return test.after(ctx, s)
			}, drain)
			p.graph.Edges[0].Kind = jobgraph.Blocking
			dir := t.TempDir()
			w := newWorker(t, "h1", p, in(dir)).ready()
			w.send(msg.DeployTasks{Host: "h1", Tasks: []msg.TaskDeployment{{Execution: execution(0, 0)}}})
			<-written
			w.send(msg.CancelTasks{Executions: []ids.ExecutionAttemptID{execution(0, 0)}})
			if end := w.final(); end.State != test.want && end.State != msg.ExecutionCanceled || len(end.Partitions) > 0 {
				t.Errorf("the task is %s with %d partitions, want %s", end.State, len(end.Partitions), test.want)
			}
			w.stop()
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("the task leaves %v: %v", left, err)
			}
		})
	}
}

// TestWithoutADiskABlockingEdgeFails would catch a job that hangs or loses records because its worker has no directory.
func TestWithoutADiskABlockingEdgeFails(t *testing.T) {
	p := chain([]int{1, 2}, emitMany, drain)
	p.graph.Edges[0].Kind = jobgraph.Blocking
	w := newWorker(t, "h1", p).ready()
	w.send(msg.DeployTasks{Host: "h1", Tasks: []msg.TaskDeployment{{Execution: execution(0, 0)}}})
	if end := w.final(); end.State != msg.ExecutionFailed {
		t.Errorf("the task is %s", end.State)
	}
	w.stop()
}
