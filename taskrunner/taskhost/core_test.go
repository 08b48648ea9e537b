package taskhost

import (
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/memory"
	"github.com/bobbin-yarn/bobbin/internal/metrics"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/msg/placement"
	"github.com/bobbin-yarn/bobbin/internal/testing/transcript"
)

var rewrite = flag.Bool("rewrite", false, "write the transcripts anew")

// testGraph is source (2 subtasks) ═> count (2) ─> write (2) ═> commit (1).
func testGraph() *jobgraph.JobGraph {
	g := &jobgraph.JobGraph{
		ProtocolVersion: jobgraph.ProtocolVersion, Job: "words",
		Vertices: []jobgraph.Vertex{
			{Name: "source", Parallelism: 2, Source: true},
			{Name: "count", Parallelism: 2},
			{Name: "write", Parallelism: 2},
			{Name: "commit", Parallelism: 1},
		},
		Edges: []jobgraph.Edge{
			{From: 0, To: 1, Pattern: jobgraph.AllToAll},
			{From: 1, To: 2, Pattern: jobgraph.Pointwise},
			{From: 2, To: 3, Pattern: jobgraph.AllToAll},
		},
	}
	g.Digest = g.ComputeDigest()
	return g
}

// TestTranscripts would catch any change in the behaviour of a host; the files in testdata say why
// each step matters.
func TestTranscripts(t *testing.T) {
	transcript.Run(t, *rewrite, func(t *testing.T) func(string) []string {
		s := &script{t: t, core: newCore("h1", testGraph(), Cancellation{30 * time.Second, 30 * time.Second}), now: testEpoch}
		return s.command
	})
}

var testEpoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// script drives a core by commands, as parseEvent reads them, or
//
//	wait DURATION                  then the core is woken, even without an alarm
//	cancellation INTERVAL TIMEOUT  are the options from now on
type script struct {
	t    *testing.T
	core *core
	now  time.Time
}

func (s *script) command(line string) []string {
	s.t.Helper()
	e := event(woken{})
	if options, is := strings.CutPrefix(line, "cancellation "); is {
		interval, timeout, _ := strings.Cut(options, " ")
		s.core.cancellation = Cancellation{s.duration(interval), s.duration(timeout)}
		return nil
	}
	if duration, is := strings.CutPrefix(line, "wait "); is {
		s.now = s.now.Add(s.duration(duration))
	} else {
		e = parseEvent(s.t, line)
	}
	alarm, before := s.core.Alarm(), s.canceling()
	var out []string
	for _, ef := range s.core.Step(s.now, e) {
		switch ef.(type) {
		case giveUp, reportStuck:
			if alarm.IsZero() || alarm.After(s.now) {
				s.t.Errorf("%s: %s at %s, and the alarm is set to %s", line, describe(ef), s.now, alarm)
			}
		}
		out = append(out, describe(ef))
	}
	for _, execution := range s.canceling() {
		if !slices.Contains(before, execution) {
			out = append(out, fmt.Sprintf("timer for %s at +%s", execution, s.core.watchdogs.Next().Sub(s.now)))
		}
	}
	if len(out) == 0 {
		out = []string{"nothing"}
	}
	return out
}

func (s *script) duration(text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		s.t.Fatal(err)
	}
	return d
}

// canceling lists the tasks that must end by a deadline.
func (s *script) canceling() []ids.ExecutionAttemptID {
	var list []ids.ExecutionAttemptID
	for execution, t := range s.core.tasks {
		if t.canceling {
			list = append(list, execution)
		}
	}
	slices.SortFunc(list, ids.ExecutionAttemptID.Compare)
	return list
}

// parseEvent reads a command: a verb, executions, key=value.
func parseEvent(t *testing.T, line string) event {
	t.Helper()
	words := strings.Fields(line)
	keys := make(map[string]string)
	var executions []ids.ExecutionAttemptID
	for _, word := range words[1:] {
		if key, value, is := strings.Cut(word, "="); is {
			keys[key] = value
			continue
		}
		var e ids.ExecutionAttemptID
		if _, err := fmt.Sscanf(word, "e%d-v%d-s%d-a%d", &e.Epoch, &e.Vertex, &e.Subtask, &e.Attempt); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		executions = append(executions, e)
	}
	number := func(key string) int64 {
		n, err := strconv.ParseInt(keys[key], 10, 64)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		return n
	}
	switch words[0] {
	case "deploy":
		m := deployMessage(keys["host"], keys["without"], executions)
		m.Blocking = keys["blocking"] != ""
		return read(m, testGraph())
	case "cancel":
		return told{msg.CancelTasks{Executions: executions}}
	case "assign":
		return told{msg.SplitAssigned{Execution: executions[0], Split: &jobgraph.Split{Base: keys["split"]}}}
	case "no-more-splits":
		return told{msg.SplitAssigned{Execution: executions[0]}}
	case "acknowledge":
		return told{msg.CollectAcknowledged{Execution: executions[0], Sequence: number("sequence")}}
	case "memory":
		return told{msg.SetMemory{Memory: memory.Slot{Heap: config.Bytes(number("mb")) << 20, Network: config.Bytes(number("network")) << 20}}}
	case "tokens":
		return told{msg.UpdateTokens{Tokens: msg.Secret(keys["new"])}}
	case "inquire":
		return told{msg.Inquire{Number: uint64(number("number")), Inquiry: msg.Inquiry{Topic: msg.AboutGoroutines}}}
	case "heartbeat":
		return told{msg.Heartbeat{}}
	case "stop":
		return told{msg.StopHost{}}
	case "reset":
		return told{msg.ResetHost{Host: ids.HostID(keys["host"])}}
	case "renewed":
		return renewed{Host: ids.HostID(keys["host"]), Address: keys["address"]}
	case "not-renewed":
		return renewalFailed{keys["cause"]}
	case "control-lost":
		return controlLost{}
	case "request-split":
		return splitRequested{executions[0]}
	case "collect":
		return collected{executions[0], []byte(keys["records"])}
	case "measured":
		var all measured
		for _, e := range executions {
			all.Tasks = append(all.Tasks, msg.TaskProgress{
				Execution: e, Metrics: msg.TaskMetrics{Traffic: msg.Traffic{ReadRecords: number("read")}}, User: userOf(keys["user"]),
			})
		}
		return all
	case "ended":
		e := taskEnded{Execution: executions[0], Counters: map[string]int64{"words": 7}, User: userOf(keys["user"])}
		if failure := keys["failure"]; failure != "" {
			e.Failure = msg.NewFailure(failure, "")
		}
		if keys["written"] != "" {
			e.Partitions = []msg.WrittenPartition{{Output: int(number("written"))}}
		}
		return e
	}
	t.Fatalf("unknown command: %s", line)
	return nil
}

// userOf reads the metrics of user code: NAME:VALUE,...
func userOf(text string) *msg.UserMetrics {
	if text == "" {
		return nil
	}
	var all msg.UserMetrics
	for one := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(one, ":")
		v, _ := strconv.ParseFloat(value, 64)
		all.Metrics = append(all.Metrics, msg.UserMetric{Kind: metrics.KindGauge, Name: name, Value: v})
	}
	return &all
}

func describeUser(u *msg.UserMetrics) string {
	if u == nil {
		return ""
	}
	text := " user="
	for i, m := range u.Metrics {
		text += fmt.Sprintf("%s%s:%v", strings.Repeat(",", min(i, 1)), m.Name, m.Value)
	}
	return text
}

// deployMessage places subtask 0 of each vertex on h1 and subtask 1 on h2.
func deployMessage(host, without string, executions []ids.ExecutionAttemptID) msg.DeployTasks {
	var producers placement.Table
	place := func(e ids.ExecutionAttemptID, h placement.Host) {
		producers.Add(e, h)
		producers.AddPartitions(e, h)
	}
	for v := range 3 {
		if v > 0 || without != "vertex" {
			place(subtaskOf(v, 0), placement.Host{ID: "h1", Address: "n1:1"})
		}
		if v > 0 || without == "" {
			second := subtaskOf(v, 1)
			if v == 0 {
				second.Attempt = 3
			}
			place(second, placement.Host{ID: "h2", Address: "n2:2"})
		}
	}
	m := msg.DeployTasks{Host: "h1", Producers: producers.Encode()}
	if host != "" {
		m.Host = ids.HostID(host)
	}
	switch without {
	case "all":
		m.Producers = nil
	case "sense":
		m.Producers = []byte("?")
	}
	for _, e := range executions {
		m.Tasks = append(m.Tasks, msg.TaskDeployment{Execution: e})
	}
	return m
}

func describe(ef effect) string {
	switch ef := ef.(type) {
	case startTasks:
		var lines []string
		for _, d := range ef.Tasks {
			outputs := make([]string, len(d.Outputs))
			for i, o := range d.Outputs {
				outputs[i] = strconv.Itoa(o.Channels) + map[bool]string{true: " blocking"}[o.Blocking]
			}
			line := fmt.Sprintf("start %s outputs=%v", d.Execution, outputs)
			for i, in := range d.Inputs {
				line += fmt.Sprintf("\n  input %d:", i)
				producers := in.One
				if in.All != nil {
					for s := range in.All.Len() {
						producers = append(producers, in.All.Producer(s, in.Channel))
					}
				}
				for _, p := range producers {
					line += fmt.Sprintf(" %s[%d]@%s", p.Partition, p.Channel, p.Address) + map[bool]string{true: " finished"}[p.Finished]
				}
			}
			lines = append(lines, line)
		}
		return strings.Join(lines, "\n")
	case send:
		switch m := ef.Message.(type) {
		case msg.TaskStatesChanged:
			var lines []string
			for _, change := range m.Changes {
				line := fmt.Sprintf("send %s %s", change.Execution, change.State)
				if change.Counters != nil {
					line += fmt.Sprintf(" counters=%v", change.Counters)
				}
				line += describeUser(change.User)
				for _, p := range change.Partitions {
					line += fmt.Sprintf(" partition=%d", p.Output)
				}
				if change.Failure != nil {
					line += fmt.Sprintf(" failure=%q", change.Failure.Message)
				}
				lines = append(lines, line)
			}
			return strings.Join(lines, "\n")
		case msg.CollectBatch:
			return fmt.Sprintf("send batch %d of %s: %s", m.Sequence, m.Execution, m.Records)
		case msg.TasksProgress:
			var lines []string
			for _, p := range m.Tasks {
				lines = append(lines, fmt.Sprintf("send progress of %s: %d read", p.Execution, p.Metrics.ReadRecords)+describeUser(p.User))
			}
			return strings.Join(lines, "\n")
		case msg.HostReady:
			return fmt.Sprintf("send %s is ready at %s", m.Host, m.DataAddress)
		default:
			return fmt.Sprintf("send %s", msg.Kind(m))
		}
	case cancelTask:
		return fmt.Sprintf("cancel %s", ef.Execution)
	case assignSplit:
		if ef.Split == nil {
			return fmt.Sprintf("no more splits for %s", ef.Execution)
		}
		return fmt.Sprintf("split %s for %s", ef.Split.Base, ef.Execution)
	case acknowledge:
		return fmt.Sprintf("acknowledge %d of %s", ef.Batches, ef.Execution)
	case answerInquiry:
		return fmt.Sprintf("answer question %d about %s", ef.Number, ef.Inquiry.Topic)
	case setMemory:
		return fmt.Sprintf("limit memory to %d MB, of which %d MB for buffers", ef.Memory.Limit()>>20, ef.Memory.Network>>20)
	case updateTokens:
		return "use tokens " + string(ef.Tokens)
	case reportStuck:
		var lines []string
		for _, t := range ef.Tasks {
			lines = append(lines, fmt.Sprintf("report that %s still runs after %s", t.Execution, t.For))
		}
		return strings.Join(lines, "\n")
	case removePartitions:
		return fmt.Sprintf("remove %d partitions of %s", len(ef.Partitions), ef.Execution)
	case renew:
		return fmt.Sprintf("renew as %s", ef.Host)
	case fail:
		return fmt.Sprintf("fail: %s", ef.Cause)
	case giveUp:
		return fmt.Sprintf("give up on %s", ef.Execution)
	case end:
		return fmt.Sprintf("end: %s", ef.Reason)
	}
	return fmt.Sprintf("unknown effect %T", ef)
}

// TestEveryTaskEndsOnce would catch a schedule of deployments, cancels and ends
// after which a task has no final state, or two, or the host does not end, and a report about a task that a
// reset has made void.
func TestEveryTaskEndsOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newCore("h1", testGraph(), Cancellation{time.Second, time.Second})
		running := make(map[ids.ExecutionAttemptID]bool) // goroutines, by the effects
		final := make(map[ids.ExecutionAttemptID]msg.ExecutionState)
		deployed := make(map[ids.ExecutionAttemptID]bool)
		canceled := make(map[ids.ExecutionAttemptID]bool)
		void := make(map[ids.ExecutionAttemptID]bool) // by a reset
		ended, stopped := false, false
		name, resets, renewing := ids.HostID("h1"), 0, ids.HostID("")
		anew := func() ids.HostID { return ids.HostID(fmt.Sprintf("h1-%d", resets)) }
		resetting := func() bool { return resets > 0 && name != anew() }
		step := func(e event) {
			silent := resetting()
			for _, ef := range c.Step(testEpoch, e) {
				if ended {
					t.Fatalf("effect after the end: %s", describe(ef))
				}
				switch ef := ef.(type) {
				case startTasks:
					for _, d := range ef.Tasks {
						if running[d.Execution] || stopped {
							t.Fatalf("task %s is started twice, or too late", d.Execution)
						}
						running[d.Execution] = true
					}
				case renew:
					renewing = ef.Host
				case send:
					if ready, is := ef.Message.(msg.HostReady); is {
						silent, name = false, ready.Host
					}
					if silent {
						t.Fatalf("%s during a reset", describe(ef))
					}
					changed, _ := ef.Message.(msg.TaskStatesChanged)
					for _, m := range changed.Changes {
						if !m.State.Final() {
							continue
						}
						if final[m.Execution] != "" {
							t.Fatalf("task %s ends as %s, after %s", m.Execution, m.State, final[m.Execution])
						}
						final[m.Execution] = m.State
					}
				case cancelTask:
					canceled[ef.Execution] = true
				case end:
					ended = true
				}
			}
			silent = resetting()
			if idle := len(running) == 0; silent && !stopped && idle != (renewing != "") {
				t.Fatalf("during a reset, with no task: %t, it begins anew as %q", idle, renewing)
			}
			waiting := false // for a cancelled task
			for execution := range running {
				waiting = waiting || canceled[execution]
			}
			if waiting == c.Alarm().IsZero() {
				t.Fatalf("the alarm is set to %s; a cancelled task is waited for: %t", c.Alarm(), waiting)
			}
		}
		execution := rapid.Custom(func(t *rapid.T) ids.ExecutionAttemptID {
			return ids.ExecutionAttemptID{
				Vertex: rapid.IntRange(0, 4).Draw(t, "vertex"), Subtask: rapid.IntRange(0, 1).Draw(t, "subtask"), Attempt: rapid.IntRange(0, 2).Draw(t, "attempt"),
			}
		})
		finish := func(e ids.ExecutionAttemptID, failure *msg.Failure) {
			delete(running, e)
			step(taskEnded{Execution: e, Failure: failure})
			want := msg.ExecutionFinished
			switch {
			case void[e]:
				want = ""
			case canceled[e]:
				want = msg.ExecutionCanceled
			case failure != nil:
				want = msg.ExecutionFailed
			}
			if final[e] != want {
				t.Fatalf("task %s ends as %s, want %s", e, final[e], want)
			}
		}
		for range rapid.IntRange(0, 40).Draw(t, "steps") {
			if ended {
				break
			}
			e := execution.Draw(t, "execution")
			switch rapid.IntRange(0, 6).Draw(t, "what") {
			case 0:
				if !deployed[e] && !resetting() { // a JobMaster deploys an attempt once
					deployed[e] = true
					step(read(deployMessage(string(name), "", []ids.ExecutionAttemptID{e}), testGraph()))
				}
			case 1:
				step(told{msg.CancelTasks{Executions: []ids.ExecutionAttemptID{e}}})
			case 2:
				if running[e] {
					finish(e, nil)
				}
			case 3:
				if running[e] {
					finish(e, msg.NewFailure("boom", ""))
				}
			case 4:
				if rapid.IntRange(0, 5).Draw(t, "stop") == 0 {
					stopped = true
					step(told{msg.StopHost{}})
				}
			case 5:
				if !stopped && !resetting() {
					resets++
					for e := range running {
						void[e] = true
					}
					step(told{msg.ResetHost{Host: anew()}})
				}
			case 6:
				if renewing != "" {
					to := renewing
					renewing = ""
					step(renewed{Host: to, Address: "n1:7"})
				}
			}
		}
		if !stopped {
			stopped = true
			step(told{msg.StopHost{}})
		}
		for e := range running {
			finish(e, nil)
		}
		if !ended {
			t.Fatal("the host does not end")
		}
		for e := range deployed {
			if final[e] == "" && !void[e] {
				t.Fatalf("task %s has no final state", e)
			}
		}
	})
}

func subtaskOf(vertex, subtask int) ids.ExecutionAttemptID {
	return ids.ExecutionAttemptID{Epoch: 1, Vertex: vertex, Subtask: subtask}
}

// TestHeartbeatsBringWhatWasMeasured would catch a host whose latencies or memory nobody sees, and those of a host without tasks that
// are lost.
func TestHeartbeatsBringWhatWasMeasured(t *testing.T) {
	t.Parallel()
	c := newCore("h1", testGraph(), Cancellation{time.Second, time.Second})
	want := &msg.HDFSMetrics{Read: msg.CallMetrics{Calls: 7}}
	process, pool, managed := &msg.ProcessMetrics{Goroutines: 7}, &msg.BufferPool{Used: 3, Total: 8}, &msg.ManagedMemory{Used: 5, Total: 9}
	c.Step(testEpoch, measured{HDFS: want, Process: process, Pool: pool, Managed: managed})
	effects := c.Step(testEpoch, told{msg.Heartbeat{Workers: 3}})
	if len(effects) != 1 || effects[0] != (send{msg.Heartbeat{Workers: 3, HDFS: want, Process: process, Pool: pool, Managed: managed}}) {
		t.Errorf("a heartbeat is answered with %v", effects)
	}
}
