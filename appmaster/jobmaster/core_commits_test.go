package jobmaster

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/appmaster/internal/collect"
	"github.com/bobbin-yarn/bobbin/appmaster/jobmaster/commitrecord"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ha"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/msg/subtasks"
)

// sinks is a job with a number of outputs, each in a region of its own: vertex 2n writes and vertex 2n+1 commits it.
func sinks(t *testing.T, outputs, parallelism int) Config {
	t.Helper()
	g := &jobgraph.JobGraph{ProtocolVersion: jobgraph.ProtocolVersion, Job: "j", Name: "j"}
	for n := range outputs {
		g.Vertices = append(g.Vertices,
			jobgraph.Vertex{Name: fmt.Sprint("write ", n), Parallelism: parallelism, Source: true},
			jobgraph.Vertex{Name: fmt.Sprint("commit ", n), Parallelism: 1, Commit: true})
		g.Edges = append(g.Edges, jobgraph.Edge{From: jobgraph.VertexID(2 * n), To: jobgraph.VertexID(2*n + 1), Pattern: jobgraph.AllToAll})
	}
	g.Digest = g.ComputeDigest()
	c, err := Configured(config.Config{}, g)
	if err != nil {
		t.Fatal(err)
	}
	c.Job, c.JobMaster, c.Epoch = "j1", "m1", 1
	return c
}

// TestFewRecordsAreStoredAtATime would catch a job with many outputs that calls HDFS for all of them at once, and a
// record that waited for its turn and is stored although its region has failed meanwhile.
func TestFewRecordsAreStoredAtATime(t *testing.T) {
	t.Parallel()
	const outputs = 40
	core, err := newCore(sinks(t, outputs, 1))
	if err != nil {
		t.Fatal(err)
	}
	var store []storeCommit
	step := func(event event) {
		for _, effect := range core.Step(testEpoch, event) {
			if s, is := effect.(storeCommit); is {
				store = append(store, s)
			}
		}
	}
	from := actor.Peer{Connection: 1, Resource: "w1"}
	say := func(m msg.Message) { step(taskExecutorSaid{From: from, Message: m}) }
	id := func(v, attempt int) ids.ExecutionAttemptID {
		return ids.ExecutionAttemptID{Epoch: 1, Vertex: v, Attempt: attempt}
	}
	write := func(region, attempt int) {
		say(changed(msg.TaskStateChange{Execution: id(2*region, attempt), State: msg.ExecutionFinished}))
		say(msg.CommitPrepared{Execution: id(2*region+1, attempt), Winners: []string{fmt.Sprint("attempt ", attempt)}})
	}
	step(started{})
	step(resourceManagerSaid{msg.JobMasterRegistered{}})
	say(msg.RegisterAtJobMaster{Resource: "w1", Host: "n1"})
	say(msg.OfferSlots{Offers: []msg.SlotOffer{{Allocation: "a1"}}})
	say(msg.HostReady{Host: "h1"})
	for r := range outputs {
		write(r, 0)
	}
	if len(store) != maxStoring {
		t.Errorf("%d records are stored at the same time, want %d", len(store), maxStoring)
	}
	last := outputs - 1
	say(changed(msg.TaskStateChange{Execution: id(2*last+1, 0), State: msg.ExecutionFailed}))
	for stored := 0; stored < len(store); stored++ {
		step(commitStored{Region: store[stored].Region})
	}
	if len(store) != last || slices.ContainsFunc(store, func(s storeCommit) bool { return s.Region == last }) {
		t.Fatalf("%d records are stored, want those of all %d regions that have not failed", len(store), last)
	}
	write(last, 1)
	if got := store[len(store)-1]; got.Region != last || got.Record.Winners[2*last+1][0] != "attempt 1" {
		t.Errorf("the failed region stores %+v", got)
	}
}

// finishedTasks are tasks of a vertex, as records have them.
func finishedTasks(n int) []byte {
	return subtasks.Encode(slices.Repeat([]msg.Subtask{{TaskAttempt: msg.TaskAttempt{State: msg.ExecutionFinished}}}, n))
}

// TestARecoveredRegionIsDescribedAsBefore would catch figures of finished tasks that are lost with their master.
func TestARecoveredRegionIsDescribedAsBefore(t *testing.T) {
	t.Parallel()
	settings := sinks(t, 2, 3)
	first, err := newCore(settings)
	if err != nil {
		t.Fatal(err)
	}
	now := testEpoch
	records := make(map[int]ha.Commit)
	step := func(event event) {
		for _, effect := range first.Step(now, event) {
			if s, is := effect.(storeCommit); is {
				data, err := commitrecord.Encode(s.Record)
				if err != nil {
					t.Fatal(err)
				}
				records[s.Region] = ha.Commit{Record: data}
			}
		}
	}
	from := actor.Peer{Connection: 1, Resource: "w1"}
	say := func(m msg.Message) { step(taskExecutorSaid{From: from, Message: m}) }
	step(started{})
	step(resourceManagerSaid{msg.JobMasterRegistered{}})
	say(msg.RegisterAtJobMaster{Resource: "w1", Host: "n1"})
	say(msg.OfferSlots{Offers: []msg.SlotOffer{{Allocation: "a1"}, {Allocation: "a2"}, {Allocation: "a3"}}})
	say(msg.HostReady{Host: "h1"})
	for s := range 3 {
		now = now.Add(time.Second + time.Nanosecond)
		say(changed(msg.TaskStateChange{
			Execution: ids.ExecutionAttemptID{Epoch: 1, Subtask: s}, State: msg.ExecutionFinished,
			Counters: map[string]int64{"words": 5, "lines": 1}, Metrics: msg.TaskMetrics{
				Traffic: msg.Traffic{ReadBytes: 100, WriteRecords: 7}, Activity: msg.Activity{Idle: time.Duration(100*s) * time.Millisecond},
			},
		}))
	}
	say(msg.CommitPrepared{Execution: ids.ExecutionAttemptID{Epoch: 1, Vertex: 1}, Winners: []string{"a", "b", "c"}})
	before := first.details()
	if len(records) != 1 {
		t.Fatalf("%d records are stored, want one", len(records))
	}

	settings.Epoch = 2
	if settings.Recovered, err = commitrecord.DecodeAll(records); err != nil {
		t.Fatal(err)
	}
	second, err := newCore(settings)
	if err != nil {
		t.Fatal(err)
	}
	now = now.Add(time.Minute)
	second.Step(now, started{})
	after := second.details()
	if diff := cmp.Diff(before.Vertices[0], after.Vertices[0]); diff != "" || before.Vertices[0].End.IsZero() {
		t.Errorf("vertex whose tasks have finished (-before +after):\n%s", diff)
	}
	for s, task := range second.subtasks(0) {
		was := first.subtasks(0)[s]
		if diff := cmp.Diff(was, task, cmp.AllowUnexported(msg.Traffic{})); diff != "" || was.Node != "n1" || was.Traffic.ReadBytes != 100 {
			t.Errorf("task %d (-before +after):\n%s", s, diff)
		}
	}
	if diff := cmp.Diff(before.Counters, after.Counters); diff != "" {
		t.Errorf("counters (-before +after):\n%s", diff)
	}
	o := second.overview()
	want := map[msg.ExecutionState]int{msg.ExecutionFinished: 3, msg.ExecutionScheduled: 5}
	if diff := cmp.Diff(want, o.Tasks); diff != "" || !o.Modified.Equal(now) {
		t.Errorf("overview, modified %s (-want +got):\n%s", o.Modified, diff)
	}
}

// TestAClientReadsOnUnderTheNextMaster would catch collected records that are lost with their master, although the task
// that has collected them does not run again, and records that the client gets twice. In an application, they would be lost
// to the program that runs again under the master after that. A record without them, or with other bytes, must be refused.
func TestAClientReadsOnUnderTheNextMaster(t *testing.T) {
	t.Parallel()
	settings := sinks(t, 1, 1)
	g := settings.Graph
	g.Vertices = append(g.Vertices, jobgraph.Vertex{Name: "collect", Parallelism: 1, Collect: "top"})
	g.Edges = append(g.Edges, jobgraph.Edge{From: 0, Output: 1, To: 2, Pattern: jobgraph.AllToAll})
	g.Digest = g.ComputeDigest()
	first, err := newCore(settings)
	if err != nil {
		t.Fatal(err)
	}
	var record commitrecord.Record
	step := func(event event) {
		for _, effect := range first.Step(testEpoch, event) {
			if s, is := effect.(storeCommit); is {
				record = s.Record
			}
		}
	}
	say := func(m msg.Message) {
		step(taskExecutorSaid{From: actor.Peer{Connection: 1, Resource: "w1"}, Message: m})
	}
	id := func(v int) ids.ExecutionAttemptID { return ids.ExecutionAttemptID{Epoch: 1, Vertex: v} }
	step(started{})
	step(resourceManagerSaid{msg.JobMasterRegistered{}})
	say(msg.RegisterAtJobMaster{Resource: "w1", Host: "n1"})
	say(msg.OfferSlots{Offers: []msg.SlotOffer{{Allocation: "a1"}}})
	say(msg.HostReady{Host: "h1"})
	say(msg.CollectBatch{Execution: id(2), Records: []byte("read ")})
	before := first.page("top", 0)
	say(msg.CollectBatch{Execution: id(2), Sequence: 1, Records: []byte("unread")})
	first.page("top", before.Page.Next)
	for _, v := range []int{0, 2} {
		say(changed(msg.TaskStateChange{Execution: id(v), State: msg.ExecutionFinished}))
	}
	say(msg.CommitPrepared{Execution: id(1), Winners: []string{"a"}})

	settings.Epoch, settings.Recovered = 2, map[int]commitrecord.Record{0: record}
	second, err := newCore(settings)
	if err != nil {
		t.Fatal(err)
	}
	if second.config.Recovered != nil {
		t.Error("collected records are held twice")
	}
	second.Step(testEpoch, started{})
	got := second.page("top", before.Page.Next)
	if got.Err != nil || string(got.Page.Records) != "unread" || !got.Page.End || got.Page.Epoch != before.Page.Epoch {
		t.Errorf("the client has read %+v, and reads on with %+v", before, got)
	}
	settings.KeepRead, settings.ResultBytes = true, collect.MaxBuffered
	third, err := newCore(settings)
	if err != nil {
		t.Fatal(err)
	}
	for _, cursor := range []int64{before.Page.Next, got.Page.Next, before.Page.Next} {
		if again := third.page("top", cursor); again.Err != nil {
			t.Errorf("the program reads from batch %d: %v", cursor, again.Err)
		}
	}
	for name, results := range map[string]map[string][]byte{
		"none": nil, "malformed": {"top": {0xff}}, "bytes behind": {"top": append(slices.Clone(record.Results["top"]), 0)},
	} {
		record.Results = results
		settings.Recovered[0] = record
		if _, err := newCore(settings); !errors.Is(err, errOtherJob) {
			t.Errorf("results: %s: got error %v", name, err)
		}
	}
}

// TestRecordsOfAnotherJobAreRefused would catch a job that commits what another graph has written, or that hangs or
// crashes its master because of a record.
func TestRecordsOfAnotherJobAreRefused(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(map[int]commitrecord.Record, *commitrecord.Record){
		"of another region":     func(all map[int]commitrecord.Record, r *commitrecord.Record) { all[2] = *r },
		"of no region":          func(all map[int]commitrecord.Record, r *commitrecord.Record) { all[-1] = *r },
		"without winners":       func(_ map[int]commitrecord.Record, r *commitrecord.Record) { r.Winners = nil },
		"with too many winners": func(_ map[int]commitrecord.Record, r *commitrecord.Record) { r.Winners[1] = make([]string, 3) },
		"of other commits":      func(_ map[int]commitrecord.Record, r *commitrecord.Record) { r.Winners[3] = r.Winners[1] },
		"without a vertex":      func(_ map[int]commitrecord.Record, r *commitrecord.Record) { r.Finished = nil },
		"without a task":        func(_ map[int]commitrecord.Record, r *commitrecord.Record) { r.Finished[0].Tasks = finishedTasks(1) },
		"with a task more":      func(_ map[int]commitrecord.Record, r *commitrecord.Record) { r.Finished[0].Tasks = finishedTasks(3) },
		"without tasks":         func(_ map[int]commitrecord.Record, r *commitrecord.Record) { r.Finished[0].Tasks = nil },
		"with other bytes":      func(_ map[int]commitrecord.Record, r *commitrecord.Record) { r.Finished[0].Tasks = []byte{0xff} },
		"of another vertex":     func(_ map[int]commitrecord.Record, r *commitrecord.Record) { r.Finished[0].Vertex = 2 },
		"of one vertex more": func(_ map[int]commitrecord.Record, r *commitrecord.Record) {
			r.Finished = append(r.Finished, r.Finished[0])
		},
		"with a result": func(_ map[int]commitrecord.Record, r *commitrecord.Record) { r.Results = map[string][]byte{"top": nil} },
		"with too many counters": func(_ map[int]commitrecord.Record, r *commitrecord.Record) {
			r.Counters = map[int]map[string]int64{0: manyCounters(msg.MaxJobCounters / 8)}
		},
		"with counters of no vertex": func(_ map[int]commitrecord.Record, r *commitrecord.Record) {
			r.Counters = map[int]map[string]int64{4: {"n": 1}}
		},
		"": func(map[int]commitrecord.Record, *commitrecord.Record) {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := sinks(t, 2, 2)
			r := commitrecord.Record{Winners: map[int][]string{1: {"a", "b"}}, Finished: []commitrecord.Finished{{Tasks: finishedTasks(2)}}}
			c.Recovered = make(map[int]commitrecord.Record)
			spoil(c.Recovered, &r)
			c.Recovered[0] = r
			if _, err := newCore(c); errors.Is(err, errOtherJob) != (name != "") {
				t.Errorf("got error %v", err)
			}
		})
	}
}
