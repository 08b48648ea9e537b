package jobmaster

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/appmaster/jobmaster/executiongraph"
	"github.com/bobbin-yarn/bobbin/appmaster/jobmaster/failover"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// TestAnOutageCountsOnce lets the server or a disk of one worker fail, while several tasks read there in a random order. It would catch
// a restart that is used up for each reader, or for each partition; and a job that runs for ever because an outage that does
// not end is never counted again.
func TestAnOutageCountsOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		o := newOutageModel(t)
		for range 5_000 {
			if o.core.status.GloballyTerminal() {
				o.checkEnd()
				return
			}
			o.act()
		}
		t.Fatalf("job does not end: %v", describeDetails(o.core.details()))
	})
}

// outageModel is a job with one blocking edge. Nothing fails but the server or a disk of its first worker.
type outageModel struct {
	t        *rapid.T
	core     *core
	now      time.Time
	attempts int                             // restarts that the job has
	disk     bool                            // a disk fails, and not the server
	lasts    bool                            // also for what is written later
	written  map[ids.ExecutionAttemptID]bool // where it fails
	struck   map[ids.ExecutionAttemptID]bool // of these, what was there when a reader met the outage first; nil: none has
}

func newOutageModel(t *rapid.T) *outageModel {
	g := &jobgraph.JobGraph{ProtocolVersion: jobgraph.ProtocolVersion, Job: "j", Name: "j"}
	writers, readers := rapid.IntRange(1, 6).Draw(t, "writers"), rapid.IntRange(1, 6).Draw(t, "readers")
	edge := jobgraph.Edge{From: 0, To: 1, Pattern: jobgraph.AllToAll, Kind: jobgraph.Blocking}
	if rapid.Bool().Draw(t, "pointwise") {
		edge.Pattern, readers = jobgraph.Pointwise, writers
	}
	g.Vertices = []jobgraph.Vertex{{Name: "write", Parallelism: writers, Source: true}, {Name: "read", Parallelism: readers}}
	g.Edges = []jobgraph.Edge{edge}
	g.Digest = g.ComputeDigest()
	o := &outageModel{
		t: t, now: testEpoch, attempts: rapid.IntRange(1, 3).Draw(t, "restarts"), written: make(map[ids.ExecutionAttemptID]bool),
		disk: rapid.Bool().Draw(t, "a disk fails"), lasts: rapid.Bool().Draw(t, "it lasts"),
	}
	c, err := Configured(config.Config{}, g)
	if err != nil {
		t.Fatal(err)
	}
	c.Job, c.JobMaster, c.Epoch = "j1", "m1", 1
	c.Restart = failover.Settings{Type: failover.FixedDelay, FixedDelay: failover.FixedDelaySettings{Attempts: o.attempts, Delay: time.Second}}
	if o.core, err = newCore(c); err != nil {
		t.Fatal(err)
	}
	o.step(started{})
	for n := range rapid.IntRange(1, 3).Draw(t, "workers") {
		from := actor.Peer{Connection: actor.ConnectionID(n + 1), Resource: ids.ResourceID(fmt.Sprint("w", n))}
		o.say(from, msg.RegisterAtJobMaster{Resource: from.Resource, Host: fmt.Sprint("n", n), PartitionAddress: fmt.Sprint("n", n, ":7")})
		o.say(from, msg.HostReady{Host: ids.HostID(fmt.Sprint("h", n)), DataAddress: fmt.Sprint("n", n, ":1")})
		var offers msg.OfferSlots
		for s := range rapid.IntRange(1, 4).Draw(t, "slots") {
			offers.Offers = append(offers.Offers, msg.SlotOffer{Index: s, Allocation: ids.AllocationID(fmt.Sprint(n, "/", s))})
		}
		o.say(from, offers)
	}
	return o
}

func (o *outageModel) step(e event) {
	o.now = o.now.Add(time.Millisecond)
	o.core.Step(o.now, e)
}

func (o *outageModel) say(from actor.Peer, m msg.Message) {
	o.step(taskExecutorSaid{From: from, Message: m})
}

// act lets a task end, or some time pass.
func (o *outageModel) act() {
	var running []*executiongraph.Execution
	for e := range o.core.graph.All() {
		if e.Host != "" && !e.State.Final() {
			running = append(running, e)
		}
	}
	if len(running) == 0 || rapid.IntRange(0, 4).Draw(o.t, "wait") == 0 {
		o.now = o.now.Add(time.Duration(rapid.IntRange(0, 1500).Draw(o.t, "ms")) * time.Millisecond)
		for _, w := range slices.Clone(o.core.workers) {
			o.say(actor.Peer{Connection: w.connection, Resource: w.resource}, msg.Heartbeat{})
		}
		return
	}
	e := rapid.SampledFrom(running).Draw(o.t, "task")
	at := o.core.byResource[e.Resource]
	o.say(actor.Peer{Connection: at.connection, Resource: at.resource}, changed(o.end(e)))
}

// end gives how a task ends.
func (o *outageModel) end(e *executiongraph.Execution) msg.TaskStateChange {
	change := msg.TaskStateChange{Execution: e.ID, State: msg.ExecutionFinished}
	if e.ID.Vertex == 0 {
		var written msg.WrittenPartition
		if !o.lasts {
			written.Dir = rapid.IntRange(0, 1).Draw(o.t, "disk")
		}
		change.Partitions = []msg.WrittenPartition{written}
		o.written[e.ID] = e.Resource == "w0" && !(o.disk && written.Dir > 0)
	} else {
		change.Failure = o.read(e)
	}
	switch {
	case change.Failure != nil:
		change.State = msg.ExecutionFailed
	case e.State == msg.ExecutionCanceling:
		change.State = msg.ExecutionCanceled
	}
	return change
}

// read gives why a task cannot read its inputs; nil: it can. A cancelled one seldom tells.
func (o *outageModel) read(e *executiongraph.Execution) *msg.Failure {
	var missed []ids.PartitionID
	for producer := range o.core.graph.Sources(e, true) {
		p := ids.PartitionID{Execution: producer.ID}
		if o.written[producer.ID] && o.core.graph.Available(p) && (o.lasts || o.struck == nil || o.struck[producer.ID]) {
			missed = append(missed, p)
		}
	}
	if len(missed) == 0 || e.State == msg.ExecutionCanceling && rapid.Bool().Draw(o.t, "ends as cancelled") {
		return nil
	}
	if o.struck == nil {
		o.struck = maps.Clone(o.written)
	}
	if !o.disk {
		return &msg.Failure{Message: "connection refused", PeerLost: ids.PartitionHost("w0")}
	}
	p := rapid.SampledFrom(missed).Draw(o.t, "missed")
	return &msg.Failure{Message: "input/output error", PartitionLost: &p}
}

func (o *outageModel) checkEnd() {
	d := o.core.details()
	switch counted := len(d.Exceptions); {
	case o.lasts && d.Status == msg.JobFailed && counted != o.attempts+1:
		o.t.Fatalf("job has failed after %d failures, and has %d restarts", counted, o.attempts)
	case o.lasts && d.Status == msg.JobFinished && counted > o.attempts:
		o.t.Fatalf("job has finished after %d failures, and has %d restarts", counted, o.attempts)
	case o.lasts && len(o.core.workers) == 1 && d.Status != msg.JobFailed:
		o.t.Fatalf("job is %s, and no task can read anything", d.Status)
	case !o.lasts && (d.Status != msg.JobFinished || counted > 1 || counted == 0 && o.struck != nil):
		o.t.Fatalf("job is %s after %d failures: %v", d.Status, counted, describeDetails(d))
	}
}
