package taskexecutor

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/control"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/pki"
	"github.com/bobbin-yarn/bobbin/taskrunner/exchange"
)

// producing is a host each of whose tasks writes a partition of two channels with one record, and finishes.
func producing(c *control.Conn, _ <-chan struct{}) string {
	var start msg.StartHost
	write := func(task ids.ExecutionAttemptID) (msg.WrittenPartition, error) {
		ctx := context.Background()
		e, err := exchange.New(ctx, exchange.Config{Job: start.Job.ID, Host: start.Host, ListenHost: "127.0.0.1", Logger: quiet()})
		if err != nil {
			return msg.WrittenPartition{}, err
		}
		defer e.Close()
		p, err := e.BlockingPartition(task, 0, 2, start.PartitionDirs)
		if err != nil {
			return msg.WrittenPartition{}, err
		}
		err = errors.Join(p.Emit(ctx, 1, []byte("record of "+task.String())), p.Finish(ctx))
		return p.Written(), err
	}
	if err := c.Send(msg.HostHello{ProtocolVersion: jobgraph.ProtocolVersion}); err != nil {
		return err.Error()
	}
	for {
		m, err := c.Receive()
		if err != nil {
			return "end of file"
		}
		switch m := m.(type) {
		case msg.StartHost:
			start = m
			err = c.Send(msg.HostReady{DataAddress: "127.0.0.1:1"})
		case msg.DeployTasks:
			var written msg.WrittenPartition
			if written, err = write(m.Tasks[0].Execution); err == nil {
				err = c.Send(msg.TaskStatesChanged{Changes: []msg.TaskStateChange{{
					Execution: m.Tasks[0].Execution, State: msg.ExecutionFinished, Partitions: []msg.WrittenPartition{written},
				}}})
			}
		case msg.StopHost:
			return "exit status 0"
		default:
		}
		if err != nil {
			return err.Error()
		}
	}
}

// TestPartitionsAreReadAfterTheirHostHasEnded would catch a worker that does not serve what its hosts have written, that tells of it
// under another address or to another job's hosts, and files that stay.
func TestPartitionsAreReadAfterTheirHostHasEnded(t *testing.T) {
	ctx := t.Context()
	authority, err := pki.NewAuthority("application_1_1", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	issue := func(container ids.ResourceID) *pki.Credentials {
		te, err := authority.IssueTaskExecutor(container, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		return te
	}
	own, folder := issue("w1"), filepath.Join(t.TempDir(), "partitions")
	partitions, err := OpenPartitions(ctx, []string{folder}, exchange.ServerConfig{
		Host: ids.PartitionHost("w1"), ListenHost: "127.0.0.1", Logger: quiet(),
		TLS: own.ServerTLS(pki.OnlyRole(pki.RoleTaskHost)), JobOf: pki.JobOf,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer partitions.Close()
	c := startCluster(t, goroutineHosts{behave: producing}, func(_ *Config, env *Environment) { env.Identity, env.Partitions = own, partitions })
	rm := c.admit()
	rm.Send(msg.RequestSlots{Slots: []msg.SlotOffer{{Allocation: "a1"}}, Job: "j1", JobMaster: "m1", Program: msg.Program{SHA256: "5a"}, Memory: testSlot})
	next[msg.SlotRequestsAnswered](t, c.rm.in)
	jm := <-c.jm.streams
	at := next[msg.RegisterAtJobMaster](t, c.jm.in).PartitionAddress
	jm.SetToken("m1")
	jm.Send(msg.RegisteredAtJobMaster{JobMaster: "m1", Job: msg.JobSpec{ID: "j1"}, HeartbeatInterval: 10 * time.Second, HeartbeatTimeout: 50 * time.Second})
	if held := next[msg.HeldPartitions](t, c.jm.in); !held.Last || len(held.Tasks) > 0 {
		t.Errorf("at first it holds %+v", held)
	}
	next[msg.OfferSlots](t, c.jm.in)
	jm.Send(msg.SlotOffersAnswered{Accepted: []ids.AllocationID{"a1"}})
	host := next[msg.HostReady](t, c.jm.in).Host
	task := ids.ExecutionAttemptID{Epoch: 1, Vertex: 2}
	jm.Send(msg.DeployTasks{Host: host, Tasks: []msg.TaskDeployment{{Execution: task}}})
	if changed := next[msg.TaskStatesChanged](t, c.jm.in).Changes[0]; len(changed.Partitions) != 1 {
		t.Fatalf("the task ends as %+v", changed)
	}
	jm.Send(msg.FreeSlots{Allocations: []ids.AllocationID{"a1"}, Cause: "the task has finished"})
	next[msg.HostLost](t, c.jm.in)
	next[msg.SlotsFreed](t, c.rm.in) // the host has ended

	partition := ids.PartitionID{Execution: task}
	read := func(job, greets ids.JobID) ([]byte, error) {
		identity, err := issue("w2").IssueTaskHost(job, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		reader, err := exchange.New(ctx, exchange.Config{
			Job: greets, Host: "w2-1", ListenHost: "127.0.0.1", Logger: quiet(),
			ServerTLS: identity.ServerTLS(pki.OnlyJob(job)), ClientTLS: identity.ClientTLS(pki.OnlyServersOf(job)),
		})
		if err != nil {
			t.Fatal(err)
		}
		defer reader.Close()
		gate := reader.Gate(ctx, []exchange.Producer{{Partition: partition, Channel: 1, Host: ids.PartitionHost("w1"), Address: at, Finished: true}})
		defer gate.Close()
		record, err := gate.Next(ctx)
		if err != nil {
			return nil, err
		}
		record = append([]byte(nil), record...)
		if _, err := gate.Next(ctx); !errors.Is(err, io.EOF) {
			t.Errorf("after the only record: %v", err)
		}
		return record, nil
	}
	if record, err := read("j1", "j1"); err != nil || string(record) != "record of e1-v2-s0-a0" {
		t.Errorf("read %q, %v", record, err)
	}
	var lost *exchange.PartitionLostError
	if record, err := read("j2", "j2"); !errors.As(err, &lost) || lost.Partition != partition {
		t.Errorf("a host of another job reads %q, %v", record, err)
	}
	if record, err := read("j2", "j1"); !errors.Is(err, exchange.ErrPeerLost) {
		t.Errorf("a host of another job that greets as one of this job reads %q, %v", record, err)
	}
	jm.Send(msg.ReleasePartitions{Partitions: []ids.PartitionID{partition}})
	next[msg.Disconnect](t, c.jm.in) // nothing of the job is left
	if record, err := read("j1", "j1"); !errors.As(err, &lost) {
		t.Errorf("of a released partition it reads %q, %v", record, err)
	}
	rm.Send(msg.ReleaseTaskExecutor{Cause: "idle"})
	c.finish(nil) // it has waited for everything that removes files
	partitions.check(t, "partitions")
}
