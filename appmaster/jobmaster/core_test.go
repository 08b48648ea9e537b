package jobmaster

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/appmaster/jobmaster/commitrecord"
	"github.com/bobbin-yarn/bobbin/appmaster/jobmaster/executiongraph"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/metrics"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/msg/placement"
	"github.com/bobbin-yarn/bobbin/internal/testing/actortest"
	"github.com/bobbin-yarn/bobbin/internal/testing/transcript"
)

var rewrite = flag.Bool("rewrite", false, "write transcripts anew")

var testEpoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func TestCoreTranscripts(t *testing.T) {
	t.Parallel()
	transcript.Run(t, *rewrite, func(t *testing.T) func(string) []string {
		return newScript(t).command
	})
}

func newScript(t *testing.T) *script {
	s := &script{t: t, now: testEpoch, recovered: make(map[int]commitrecord.Record), peers: make(map[actor.ConnectionID]ids.ResourceID)}
	s.graph.ProtocolVersion = jobgraph.ProtocolVersion
	s.graph.Job, s.graph.Name = "wordcount", "wordcount"
	return s
}

// script drives a core by commands, as its transcripts have them:
//
//	vertex NAME PARALLELISM [splits=HOST,HOST,…] [collect=NAME] [group=NAME] [heap=MB] [commit=yes]
//	heap=MB                                   also of rm short and register: a slot of 1 core, with as much managed memory
//	edge FROM TO [pointwise] [blocking]
//	colocate VERTEX VERTEX
//	option NAME=VALUE                         of the job
//	recovered REGION VERTEX WINNER…           an earlier master has stored this; these commands come before start
//	  with finished=VERTEX,… words=N          the vertices with tasks that have finished, and a counter
//	start [log=yes] [epoch=N] [taken=yes]     at debug level; an earlier master may have run the job
//	  with waves=yes                          exchanges may be made blocking
//	rm registered | short REASON [blocked=yes] [answers=N] | blocked | returned [WORKER …] | terminated WORKER CAUSE
//	register CONNECTION WORKER NODE [serves=ADDRESS]
//	held CONNECTION TASK outputs=… [words=N]  the task has finished under an earlier connection
//	  with splits=N,…                         those that it has read; otherwise its share of all
//	held CONNECTION last                      the worker holds no more
//	offer CONNECTION ALLOCATION…
//	ready CONNECTION HOST
//	hostlost CONNECTION HOST [permanent] TEXT
//	stopped CONNECTION HOST TEXT              the host takes no more tasks
//	unavailable CONNECTION TEXT [host=HOST]   the worker cannot run a host any more; this one has ended
//	full CONNECTION TEXT [host=HOST]          as unavailable, because other jobs fill the worker
//	state CONNECTION TASK STATE [TEXT] [peer=HOST] [permanent=yes]
//	  with outputs=N,… [disk=N]               partitions that it has written
//	  with lost=TASK output=N                 the partition that it could not read
//	  with words=N                            one counter
//	  with counters=N                         N counters
//	  with METRIC=VALUE…                      as progress
//	split CONNECTION TASK
//	progress CONNECTION TASK [METRIC=VALUE…]  with the counter "count", the gauge "depth", the meter "rate" and the
//	                                          histogram "length" of its second operator
//	prepared CONNECTION TASK WINNER…          a commit task asks for leave
//	stored REGION [ERROR]
//	batch CONNECTION TASK SEQUENCE BYTES      KiB with a K
//	heartbeat|leave CONNECTION
//	lost CONNECTION CAUSE
//	page NAME CURSOR
//	subtasks VERTEX                           with each attempt
//	cancel, details
//	wait DURATION                             the core is woken at its alarms
//	asleep DURATION                           the process is stopped
//	pause DURATION                            as asleep, and the next event comes before the alarm
//
// Tasks are written e1-v0-s1-a0: epoch, vertex, subtask, attempt.
type script struct {
	t     *testing.T
	graph jobgraph.JobGraph
	core  *core // the core that stepper steps
	now   time.Time
	wake  time.Time
	peers map[actor.ConnectionID]ids.ResourceID

	recovered map[int]commitrecord.Record

	stepper actortest.Stepper[event, effect]
}

// commands does several commands whose effects are of no interest.
func (s *script) commands(lines ...string) {
	s.t.Helper()
	for _, line := range lines {
		s.command(line)
	}
}

func (s *script) command(line string) []string {
	s.t.Helper()
	words := strings.Fields(line)
	options := map[string]string{}
	var args []string
	for _, w := range words {
		if name, value, ok := strings.Cut(w, "="); ok {
			options[name] = value
		} else {
			args = append(args, w)
		}
	}
	switch args[0] {
	case "vertex":
		s.vertex(args[1], s.number(args[2]), options)
	case "edge":
		s.edge(args[1:])
	case "colocate":
		s.graph.CoLocations = append(s.graph.CoLocations, jobgraph.CoLocation{A: jobgraph.VertexID(s.number(args[1])), B: jobgraph.VertexID(s.number(args[2]))})
	case "option":
		s.graph.Config = options
	case "recovered":
		s.recover(s.number(args[1]), s.number(args[2]), args[3:], options)
	case "start":
		return s.start(options)
	case "asleep", "pause":
		d, err := time.ParseDuration(args[1])
		if err != nil {
			s.t.Fatal(err)
		}
		s.now = s.now.Add(d)
		if args[0] == "pause" {
			return nil
		}
		return s.wait("0s")
	case "wait":
		return s.wait(args[1])
	default:
		event := s.event(args, options)
		if event == nil {
			s.t.Fatalf("unknown command %q", line)
		}
		return s.step(event)
	}
	return nil
}

func (s *script) vertex(name string, parallelism int, options map[string]string) {
	v := jobgraph.Vertex{Name: name, Operators: []string{name}, Parallelism: parallelism, Collect: options["collect"], Commit: options["commit"] != ""}
	if names, given := options["operators"]; given {
		v.Operators = strings.Split(names, ",")
	}
	if hosts, reads := options["splits"]; reads {
		v.Source = true
		for i, host := range strings.Split(hosts, ",") {
			v.Splits = append(v.Splits, jobgraph.Split{Base: "split" + strconv.Itoa(i), Hosts: []string{host}})
		}
	}
	group := jobgraph.Group{Name: options["group"], Resources: s.resources(options)}
	if group.Name == "" {
		group.Name = jobgraph.DefaultGroup
	}
	v.Group = slices.IndexFunc(s.graph.Groups, func(other jobgraph.Group) bool { return other.Name == group.Name })
	if v.Group < 0 {
		v.Group = len(s.graph.Groups)
		s.graph.Groups = append(s.graph.Groups, group)
	}
	s.graph.Vertices = append(s.graph.Vertices, v)
}

// resources are those of a slot sharing group with a heap; nil: it has none.
func (s *script) resources(options map[string]string) *jobgraph.Resources {
	if options["heap"] == "" {
		return nil
	}
	size := int64(s.number(options["heap"])) << 20
	r := &jobgraph.Resources{CPU: 1, TaskHeap: size, Managed: size}
	if kilobytes, ok := options["managed-kb"]; ok {
		r.Managed = int64(s.number(kilobytes)) << 10
	}
	return r
}

func (s *script) edge(args []string) {
	e := jobgraph.Edge{From: jobgraph.VertexID(s.number(args[0])), To: jobgraph.VertexID(s.number(args[1])), Pattern: jobgraph.AllToAll}
	for _, word := range args[2:] {
		if word == string(jobgraph.Blocking) {
			e.Kind = jobgraph.Blocking
		} else {
			e.Pattern = jobgraph.Pattern(word)
		}
	}
	e.Output = len(s.graph.Outputs(e.From))
	e.Input = len(s.graph.Inputs(e.To))
	s.graph.Edges = append(s.graph.Edges, e)
}

func (s *script) recover(region, vertex int, winners []string, options map[string]string) {
	r, known := s.recovered[region]
	if !known {
		r.Winners = make(map[int][]string)
	}
	r.Winners[vertex] = winners
	if finished, given := options["finished"]; given {
		for v := range strings.SplitSeq(finished, ",") {
			r.Finished = append(r.Finished, commitrecord.Finished{Vertex: s.number(v), Tasks: finishedTasks(s.graph.Vertices[s.number(v)].Parallelism)})
		}
	}
	if words, given := options["words"]; given {
		r.Counters = map[int]map[string]int64{0: {"words": int64(s.number(words))}}
	}
	r.Committed = options["committed"] != ""
	s.recovered[region] = r
}

func (s *script) start(options map[string]string) []string {
	s.graph.Digest = s.graph.ComputeDigest()
	c, err := Configured(config.Config{}, &s.graph)
	if err != nil {
		s.t.Fatal(err)
	}
	c.Job, c.JobMaster, c.Epoch, c.Program.Name = "j1", "m1", 1, "wordcount"
	if epoch, given := options["epoch"]; given {
		c.Epoch = ids.Epoch(s.number(epoch))
	}
	c.LogSlots, c.Recovered = options["log"] != "", s.recovered
	if options["taken"] != "" {
		c.TakenOver = s.now
	}
	c.Waves = options["waves"] != ""
	s.core, err = newCore(c)
	s.stepper.Core = s.core
	if err != nil {
		s.t.Fatal(err)
	}
	return s.step(started{})
}

func (s *script) event(args []string, options map[string]string) event {
	rest := func(i int) string { return strings.Join(args[min(i, len(args)):], " ") }
	switch args[0] {
	case "cancel":
		return cancelAsked{}
	case "details":
		return detailsAsked{}
	case "subtasks":
		vertex := args[1]
		if v, err := strconv.Atoi(vertex); err == nil {
			vertex = s.graph.PublicID(jobgraph.VertexID(v))
		}
		return subtasksAsked{Vertex: vertex}
	case "stored":
		stored := commitStored{Region: s.number(args[1])}
		if len(args) > 2 {
			stored.Err = errors.New(rest(2))
		}
		return stored
	case "page":
		return pageAsked{Name: args[1], Cursor: int64(s.number(args[2]))}
	case "rm":
		switch args[1] {
		case "registered":
			return resourceManagerSaid{msg.JobMasterRegistered{ResourceManager: "rm1"}}
		case "short":
			return resourceManagerSaid{msg.NotEnoughResources{Job: "j1", Profile: msg.ProfileOf(s.resources(options)), Reason: rest(2), NodesBlocked: options["blocked"] != "", Answers: s.answers(options)}}
		case "blocked":
			return resourceManagerSaid{msg.AllNodesBlocked{Job: "j1"}}
		case "returned":
			m := msg.PreviousWorkersReturned{Job: "j1"}
			for _, id := range args[2:] {
				m.Workers = append(m.Workers, ids.ResourceID(id))
			}
			return resourceManagerSaid{m}
		case "terminated":
			return resourceManagerSaid{msg.TaskExecutorTerminated{Resource: ids.ResourceID(args[2]), Cause: rest(3)}}
		}
		return nil
	}
	from := actor.Peer{Connection: actor.ConnectionID(s.number(args[1]))}
	if args[0] == "register" {
		s.peers[from.Connection] = ids.ResourceID(args[2])
	}
	from.Resource = s.peers[from.Connection]
	if args[0] == "lost" {
		return taskExecutorDisconnected{From: from, Cause: rest(2)}
	}
	m := s.message(args, options, rest)
	if m == nil {
		return nil
	}
	return taskExecutorSaid{From: from, Message: m}
}

func (s *script) message(args []string, options map[string]string, rest func(int) string) msg.Message {
	switch args[0] {
	case "register":
		return msg.RegisterAtJobMaster{
			Resource: ids.ResourceID(args[2]), Host: args[3], Profile: msg.ProfileOf(s.resources(options)), PartitionAddress: options["serves"],
		}
	case "held":
		if args[2] == "last" {
			return msg.HeldPartitions{Last: true}
		}
		task := s.stateChange(s.task(args[2]), msg.ExecutionFinished, options, "")
		task.Inputs = s.inputs(task.Execution, options)
		return msg.HeldPartitions{Tasks: []msg.TaskStateChange{task}}
	case "heartbeat":
		return msg.Heartbeat{}
	case "leave":
		return msg.Disconnect{Cause: rest(2)}
	case "offer":
		var m msg.OfferSlots
		for i, a := range args[2:] {
			m.Offers = append(m.Offers, msg.SlotOffer{Index: i, Allocation: ids.AllocationID(a)})
		}
		return m
	case "ready":
		return msg.HostReady{Host: ids.HostID(args[2]), DataAddress: args[2] + ":1"}
	case "hostlost":
		permanent := args[3] == "permanent"
		return msg.HostLost{Host: ids.HostID(args[2]), Failure: msg.Failure{Message: rest(3), Permanent: permanent}}
	case "stopped":
		return msg.HostLost{Host: ids.HostID(args[2]), Reason: msg.HostStopped, Failure: msg.Failure{Message: rest(3)}}
	case "unavailable":
		return msg.HostLost{Host: ids.HostID(options["host"]), Reason: msg.HostUnavailable, Failure: msg.Failure{Message: rest(2)}}
	case "full":
		return msg.HostLost{Host: ids.HostID(options["host"]), Reason: msg.HostFull, Failure: msg.Failure{Message: rest(2)}}
	case "state":
		return changed(s.stateChange(s.task(args[2]), msg.ExecutionState(args[3]), options, rest(4)))
	case "progress":
		p := msg.TaskProgress{Execution: s.task(args[2]), User: userMetrics(s, options)}
		return msg.TasksProgress{Tasks: []msg.TaskProgress{p}}
	case "prepared":
		return msg.CommitPrepared{Execution: s.task(args[2]), Winners: args[3:]}
	case "split":
		return msg.RequestSplit{Execution: s.task(args[2])}
	case "batch":
		size, unit := args[4], 1
		if kib, is := strings.CutSuffix(size, "K"); is {
			size, unit = kib, 1<<10
		}
		return msg.CollectBatch{Execution: s.task(args[2]), Sequence: int64(s.number(args[3])), Records: make([]byte, unit*s.number(size))}
	}
	return nil
}

// inputs are what a task has read under an earlier master: what is known of its producers by now, or other attempts.
func (s *script) inputs(task ids.ExecutionAttemptID, options map[string]string) []uint64 {
	if task.Vertex >= len(s.core.config.Graph.Vertices) {
		return nil
	}
	if vertex := s.core.config.Graph.Vertices[task.Vertex]; vertex.Source && task.Subtask < vertex.Parallelism {
		return s.splits(task, len(vertex.Splits), vertex.Parallelism, options)
	}
	inputs := s.core.graph.Lineage().Inputs(&s.core.graph.Vertex(task.Vertex)[task.Subtask])
	if options["read"] == "others" {
		inputs[0]++
	}
	return inputs
}

// splits are what a source task has read: its share of the splits, or these ones.
func (s *script) splits(task ids.ExecutionAttemptID, all, parallelism int, options map[string]string) []uint64 {
	sum := uint64(0)
	if given, some := options["splits"]; some {
		for split := range strings.SplitSeq(given, ",") {
			sum += executiongraph.SplitLineage(s.number(split))
		}
		return []uint64{sum}
	}
	for split := task.Subtask; split < all; split += parallelism {
		sum += executiongraph.SplitLineage(split)
	}
	return []uint64{sum}
}

func (s *script) stateChange(task ids.ExecutionAttemptID, state msg.ExecutionState, options map[string]string, text string) msg.TaskStateChange {
	m := msg.TaskStateChange{Execution: task, State: state}
	if m.State == msg.ExecutionFailed {
		m.Failure = &msg.Failure{Message: text, PeerLost: ids.HostID(options["peer"]), Permanent: options["permanent"] != ""}
	}
	if lost, given := options["lost"]; given {
		m.Failure.PartitionLost = &ids.PartitionID{Execution: s.task(lost), Output: s.number(options["output"])}
	}
	if outputs, given := options["outputs"]; given {
		disk, _ := strconv.Atoi(options["disk"])
		for output := range strings.SplitSeq(outputs, ",") {
			m.Partitions = append(m.Partitions, msg.WrittenPartition{Output: s.number(output), Dir: disk, Records: 1, Bytes: 100})
		}
	}
	if n, given := options["words"]; given {
		m.Counters = map[string]int64{"words": int64(s.number(n))}
	}
	if n, given := options["counters"]; given {
		m.Counters = manyCounters(s.number(n))
	}
	m.User = userMetrics(s, options)
	return m
}

// userMetrics reads the metrics of a task's code.
func userMetrics(s *script, options map[string]string) *msg.UserMetrics {
	var all msg.UserMetrics
	for _, m := range []msg.UserMetric{
		{Kind: metrics.KindCounter, Name: "count"},
		{Kind: metrics.KindGauge, Name: "depth"},
		{Kind: metrics.KindMeter, Name: "rate"},
		{Kind: metrics.KindHistogram, Name: "length"},
	} {
		text, given := options[m.Name]
		if !given {
			continue
		}
		n := float64(s.number(text))
		m.Operator = 1
		switch m.Kind {
		case metrics.KindHistogram:
			m.Summary = &metrics.Summary{Count: int64(n)}
		case metrics.KindMeter:
			m.Value, m.Rate = n, n/10
		default:
			m.Value = n
		}
		all.Metrics = append(all.Metrics, m)
	}
	if all.Metrics == nil {
		return nil
	}
	return &all
}

func manyCounters(n int) map[string]int64 {
	counters := make(map[string]int64, n)
	for i := range n {
		counters[fmt.Sprint("counter", i)] = 1
	}
	return counters
}

// answers is the number of the declaration that a message answers; 0: the last one.
func (s *script) answers(options map[string]string) int {
	s.t.Helper()
	text, given := options["answers"]
	if !given {
		return 0
	}
	return s.number(text)
}

func (s *script) number(text string) int {
	s.t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		s.t.Fatalf("not a number: %q", text)
	}
	return n
}

func (s *script) task(text string) ids.ExecutionAttemptID {
	s.t.Helper()
	var e ids.ExecutionAttemptID
	if n, err := fmt.Sscanf(text, "e%d-v%d-s%d-a%d", &e.Epoch, &e.Vertex, &e.Subtask, &e.Attempt); n != 4 || err != nil {
		s.t.Fatalf("not a task: %q", text)
	}
	return e
}

func (s *script) step(event event) []string {
	var lines []string
	effects, alarm := s.stepper.Step(s.now, event)
	for _, effect := range effects {
		lines = append(lines, describe(effect)...)
		if answer, is := effect.(reply); is {
			s.compareCounters(answer)
		}
	}
	if !alarm.IsZero() {
		s.wake = alarm
	}
	return lines
}

// compareCounters would catch a question about a vertex that finds other counters than one about the job.
func (s *script) compareCounters(r reply) {
	s.t.Helper()
	answer, is := r.Content().(subtasksAnswer)
	for _, v := range s.core.details().Vertices {
		if is && v.ID == answer.Vertex.ID && !maps.Equal(v.Counters, answer.Vertex.Counters) {
			s.t.Errorf("vertex %s has the counters %v, and in the job %v", v.Name, answer.Vertex.Counters, v.Counters)
		}
	}
}

// wait lets time pass, and wakes the core at its alarms.
func (s *script) wait(text string) []string {
	d, err := time.ParseDuration(text)
	if err != nil {
		s.t.Fatal(err)
	}
	until := s.now.Add(d)
	var lines []string
	for !s.wake.IsZero() && !s.wake.After(until) {
		if s.wake.After(s.now) { // otherwise the alarm is late
			s.now = s.wake
		}
		s.wake = time.Time{}
		s.stepper.Rang()
		for _, line := range s.step(woken{}) {
			lines = append(lines, fmt.Sprintf("%s: %s", s.now.Sub(testEpoch), line))
		}
	}
	s.now = until
	return lines
}

// describe writes an effect as in transcripts.
func describeNeed(n msg.SlotNeed) string {
	text := fmt.Sprintf("%d slots", n.Slots)
	if n.Least < n.Slots || !n.Profile.IsDefault() {
		text += fmt.Sprintf(", %d at least", n.Least)
	}
	if n.Part != n.Least {
		text += fmt.Sprintf(", %d for the largest part", n.Part)
	}
	if n.Later > 0 {
		text += fmt.Sprintf(", %d for a later part", n.Later)
	}
	if !n.Profile.IsDefault() {
		text += fmt.Sprintf(", with %s", n.Profile)
	}
	return text
}

func describe(effect effect) []string {
	line := func(format string, args ...any) []string { return []string{fmt.Sprintf(format, args...)} }
	switch e := effect.(type) {
	case sendTaskExecutor:
		return describeMessage(fmt.Sprintf("to %d: ", e.To), e.Message)
	case closeTaskExecutor:
		return line("close %d: %s", e.To, e.Cause)
	case tellResourceManager:
		switch m := e.Message.(type) {
		case msg.RegisterJobMaster:
			return line("to rm: register %s of %s, program %s", m.JobMaster, m.Job, m.Program.Name)
		case msg.DeclareRequirements:
			var lines []string
			for _, need := range m.Needs {
				lines = append(lines, "to rm: "+describeNeed(need))
			}
			return lines
		case msg.BlockNodes:
			nodes := make([]string, len(m.Nodes))
			for i, n := range m.Nodes {
				nodes[i] = n.Node
			}
			return line("to rm: no slots of %v", nodes)
		}
	case storeCommit:
		return describeRecord(fmt.Sprintf("store region %d: ", e.Region), e.Record)
	case commitsRecovered:
		return line("%d regions only commit, %d have committed", e.Regions, e.Committed)
	case storeCommitted:
		return line("store that region %d has committed", e.Region)
	case resultChanged:
		return line("result %s changed", e.Name)
	case resultDropped:
		return line("result %s dropped", e.Name)
	case reply:
		switch answer := e.Content().(type) {
		case msg.JobDetails:
			return describeDetails(answer)
		case subtasksAnswer:
			if answer.Err != nil {
				return line("subtasks: %v", answer.Err)
			}
			return describeSubtasks(answer.Vertex.Subtasks)
		case pageAnswer:
			if answer.Err != nil {
				return line("page: %v", answer.Err)
			}
			p := answer.Page
			return line("page: epoch %d, %d bytes, next %d, end %t", p.Epoch, len(p.Records), p.Next, p.End)
		}
	case ended:
		return append([]string{"ended"}, describeDetails(e.Details)...)
	case statusChanged:
		return line("job %s", e.To)
	case exchangesBlocking:
		return line("%s", e.Why)
	case regionFailed:
		if !e.Restart {
			return line("region %d failed for good: %s", e.Region, describeEntry(e.Root))
		}
		return line("region %d restarts after %s: %s", e.Region, e.Delay, describeEntry(e.Root))
	case taskSlow:
		return line("%s on %s is slow: it runs for %s, the baseline is %s", e.Task, e.Node, e.Took, e.Baseline)
	case furtherDeployed:
		return line("%s runs on %s too, as %s", e.Task, e.Node, e.Execution)
	case furtherEnded:
		return line("%s has finished as %s, others: %d", e.Task, e.Execution, e.Others)
	case diskFailed:
		return line("disk %d of %s on %s has failed, with partitions of %d tasks", e.Disk, e.Resource, e.Node, e.Tasks)
	case nodeBlocked:
		return line("node %s blocked until %s: %s", e.Node, e.Until.Sub(testEpoch), e.Cause)
	case noOtherNode:
		return line("%s; tried again %t after %s: %s", e.Reason, e.Restart, e.Delay, describeEntry(e.Root))
	case slotsTimedOut:
		return line("%d regions got no slots; restart %t after %s: %s", e.Regions, e.Restart, e.Delay, describeEntry(e.Root))
	case slotsDescribed:
		return line("slots: %d free, %d allocated, %d required, %d at least; regions: %d wait, %d fail; starved %t",
			e.Free, e.Allocated, e.Required, e.Least, e.Waiting, e.Failing, e.Starved)
	case workerGone:
		return line("worker %s gone: %s", e.Resource, e.Cause)
	case dropped:
		return line("dropped %s: %s", msg.Kind(e.Message), e.Why)
	}
	return line("%T", effect)
}

func describeRecord(to string, r commitrecord.Record) []string {
	var lines []string
	for _, v := range slices.Sorted(maps.Keys(r.Winners)) {
		lines = append(lines, fmt.Sprintf("%sv%d commits %v", to, v, r.Winners[v]))
	}
	var finished []string
	for _, f := range r.Finished {
		finished = append(finished, fmt.Sprintf("v%d", f.Vertex))
	}
	lines = append(lines, fmt.Sprintf("%s%s have finished", to, strings.Join(finished, " ")))
	for _, v := range slices.Sorted(maps.Keys(r.Counters)) {
		for _, name := range slices.Sorted(maps.Keys(r.Counters[v])) {
			lines = append(lines, fmt.Sprintf("%sv%d %s=%d", to, v, name, r.Counters[v][name]))
		}
	}
	return lines
}

func describeMessage(to string, m msg.Message) []string {
	line := func(format string, args ...any) []string { return []string{to + fmt.Sprintf(format, args...)} }
	switch m := m.(type) {
	case msg.RegisteredAtJobMaster:
		return line("registered at %s for %s, parallelism %d", m.JobMaster, m.Job.Name, m.Job.Parallelism)
	case msg.SlotOffersAnswered:
		return line("accepted %v rejected %v", m.Accepted, m.Rejected)
	case msg.FreeSlots:
		return line("free %v: %s", m.Allocations, m.Cause)
	case msg.CancelTasks:
		return line("cancel %v", m.Executions)
	case msg.SplitAssigned:
		if m.Split == nil {
			return line("no split for %s", m.Execution)
		}
		return line("%s for %s", m.Split.Base, m.Execution)
	case msg.CommitGranted:
		return line("%s may commit", m.Execution)
	case msg.CollectAcknowledged:
		return line("acknowledged %d of %s", m.Sequence, m.Execution)
	case msg.Heartbeat:
		return line("heartbeat")
	case msg.ReleasePartitions:
		return line("release %v", m.Partitions)
	case msg.DeployTasks:
		var tasks []string
		for _, task := range m.Tasks {
			text := fmt.Sprintf("%s in %s", task.Execution, task.Allocation)
			if task.Winners != nil {
				text += fmt.Sprintf(" commits %v", task.Winners)
			}
			tasks = append(tasks, text)
		}
		kind := ""
		if m.Blocking {
			kind = " with blocking exchanges"
		}
		lines := line("deploy to %s%s: %s", m.Host, kind, strings.Join(tasks, ", "))
		return append(lines, describeProducers(to, m.Producers)...)
	}
	return line("%T", m)
}

// describeProducers lists the producers of each vertex, with "-" for those that the table does not
// have.
func describeProducers(to string, encoded []byte) []string {
	parallelism := slices.Repeat([]int{100}, 10) // no test has a larger job
	table, err := placement.Decode(encoded, parallelism)
	if err != nil {
		return []string{to + err.Error()}
	}
	var lines []string
	for v, n := range parallelism {
		for of, find := range map[string]func(int, int) (ids.ExecutionAttemptID, placement.Host, bool){"at": table.Find, "partitions at": table.FindPartitions} {
			var at []string
			last := 0
			for s := range n {
				execution, host, found := find(v, s)
				if !found {
					at = append(at, "-")
					continue
				}
				text := fmt.Sprintf("a%d@%s", execution.Attempt, host.Address)
				if of != "at" {
					text = fmt.Sprintf("e%d-%s", execution.Epoch, text)
				}
				at = append(at, text)
				last = s + 1
			}
			if last > 0 {
				lines = append(lines, fmt.Sprintf("%s  v%d %s %s", to, v, of, strings.Join(at[:last], " ")))
			}
		}
	}
	slices.Sort(lines)
	return lines
}

func describeEntry(e msg.ExceptionEntry) string {
	text := strings.ReplaceAll(e.Failure.Message, "\n", " | ")
	if e.Task != "" {
		text = e.Task + ": " + text
	}
	if e.Location != "" {
		text += " [" + string(e.Resource) + " on " + e.Location + "]"
	}
	return text
}

// describeSubtasks has a line for each attempt.
func describeSubtasks(all []msg.Subtask) []string {
	var lines []string
	for s, task := range all {
		for _, a := range append(slices.Clone(task.Earlier), task.TaskAttempt) {
			text := fmt.Sprintf("  s%d-a%d %s", s, a.Number, a.State)
			if a.Resource != "" {
				text += fmt.Sprintf(" [%s on %s]", a.Resource, a.Node)
			}
			for _, state := range msg.ExecutionStates() {
				if at := a.Entered.At(state); !at.IsZero() {
					text += fmt.Sprintf(" %s %s", state, at.Sub(testEpoch))
				}
			}
			if a.Traffic != (msg.Traffic{}) {
				text += fmt.Sprintf(" read %d records", a.Traffic.ReadRecords)
			}
			lines = append(lines, text)
		}
		if task.User != nil {
			text := ""
			for _, m := range task.User.Metrics {
				text += fmt.Sprintf(" %s %s=%v", m.Kind, m.Name, m.Value)
				if m.Summary != nil {
					text += fmt.Sprintf("(%d values)", m.Summary.Count)
				}
				if m.Kind == metrics.KindMeter {
					text += fmt.Sprintf("(%v in a second)", m.Rate)
				}
			}
			lines = append(lines, fmt.Sprintf("   %s, %d dropped", text, task.User.Dropped))
		}
	}
	return lines
}

func describeDetails(d msg.JobDetails) []string {
	lines := []string{fmt.Sprintf("  %s, %d restarts", d.Status, d.Restarts)}
	if d.Note != "" {
		lines = append(lines, "  "+d.Note)
	}
	for _, v := range d.Vertices {
		var tasks []string
		for _, state := range slices.Sorted(maps.Keys(v.Tasks)) {
			tasks = append(tasks, fmt.Sprintf("%d %s", v.Tasks[state], state))
		}
		lines = append(lines, fmt.Sprintf("  %s %s: %s", v.Name, v.Status, strings.Join(tasks, ", ")))
		for _, in := range v.Inputs {
			if in.Missing > 0 {
				lines = append(lines, fmt.Sprintf("    %d wait for %d tasks of vertex %s", v.Blocked, in.Missing, in.Vertex))
			}
		}
		if v.Blocked > 0 && d.AwaitsWorkers {
			lines = append(lines, fmt.Sprintf("    %d wait for what workers hold", v.Blocked))
		}
	}
	for _, e := range d.Exceptions {
		lines = append(lines, fmt.Sprintf("  at %s %s", e.Time.Sub(testEpoch), describeEntry(e)))
	}
	for _, e := range d.TaskFailures {
		lines = append(lines, fmt.Sprintf("  failed at %s %s", e.Time.Sub(testEpoch), describeEntry(e)))
	}
	for _, name := range slices.Sorted(maps.Keys(d.Counters)) {
		lines = append(lines, fmt.Sprintf("  %s=%d", name, d.Counters[name]))
	}
	return lines
}

// TestNewCoreRefuses would catch a core that accepts a job that it cannot run.
func TestNewCoreRefuses(t *testing.T) {
	t.Parallel()
	valid := func() *jobgraph.JobGraph {
		g := &jobgraph.JobGraph{
			ProtocolVersion: jobgraph.ProtocolVersion, Job: "j",
			Vertices: []jobgraph.Vertex{
				{Name: "read", Parallelism: 1, Source: true},
				{Name: "a", Parallelism: 1, Collect: "top"},
				{Name: "b", Parallelism: 1, Collect: "bottom"},
			},
			Edges: []jobgraph.Edge{
				{From: 0, To: 1, Pattern: jobgraph.AllToAll},
				{From: 0, Output: 1, To: 2, Pattern: jobgraph.AllToAll},
			},
		}
		return g
	}
	for name, test := range map[string]struct {
		spoil func(*Config)
		want  string
	}{
		"no token":             {func(c *Config) { c.JobMaster = "" }, "need ids"},
		"no graph":             {func(c *Config) { c.Graph = nil }, "needs a graph"},
		"graph is not valid":   {func(c *Config) { c.Graph.Vertices[0].Parallelism = 0 }, "parallelism 0"},
		"no heartbeat":         {func(c *Config) { c.HeartbeatInterval = 0 }, "heartbeat.interval"},
		"one name two results": {func(c *Config) { c.Graph.Vertices[2].Collect = "top" }, `named "top"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := Configured(config.Config{}, valid())
			if err != nil {
				t.Fatal(err)
			}
			c.Job, c.JobMaster = "j1", "m1"
			test.spoil(&c)
			if c.Graph != nil {
				c.Graph.Digest = c.Graph.ComputeDigest()
			}
			if _, err := newCore(c); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got error %v, want one about %q", err, test.want)
			}
		})
	}
	g := valid()
	g.Config = map[string]string{"restart-strategy.type": "sometimes"}
	if _, err := Configured(config.Config{}, g); !errors.Is(err, config.ErrInvalid) {
		t.Errorf("options of the job that are not valid: got error %v", err)
	}
}

// TestStepsKeepTheirFirstTime would catch a start-up that seems to take as long as the job, because
// a restart changes the time of a step.
func TestStepsKeepTheirFirstTime(t *testing.T) {
	c := &core{now: time.Unix(1, 0)}
	c.reached(msg.StepHost)
	c.now = time.Unix(9, 0)
	c.reached(msg.StepHost)
	c.reached(msg.StepRunning)
	want := []msg.Step{{Name: msg.StepHost, At: time.Unix(1, 0)}, {Name: msg.StepRunning, At: time.Unix(9, 0)}}
	if diff := cmp.Diff(want, c.steps); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
}

// TestARecoveredJobTellsItsRecovery would catch a start-up that seems to include the time of an earlier master.
func TestARecoveredJobTellsItsRecovery(t *testing.T) {
	t.Parallel()
	g := &jobgraph.JobGraph{ProtocolVersion: jobgraph.ProtocolVersion, Job: "j", Vertices: []jobgraph.Vertex{{Name: "read", Parallelism: 1, Source: true}}}
	g.Digest = g.ComputeDigest()
	c, err := Configured(config.Config{}, g)
	if err != nil {
		t.Fatal(err)
	}
	c.Job, c.JobMaster, c.Epoch, c.Submitted, c.TakenOver = "j1", "m1", 2, testEpoch, testEpoch.Add(time.Hour)
	core, err := newCore(c)
	if err != nil {
		t.Fatal(err)
	}
	core.Step(testEpoch.Add(2*time.Hour), started{})
	d := core.details()
	want := []msg.Step{{Name: msg.StepRecovered, At: c.TakenOver}}
	if diff := cmp.Diff(want, d.Steps); diff != "" || !d.Start.Equal(testEpoch) || !d.Timestamps[msg.JobInitializing].Equal(c.TakenOver) {
		t.Errorf("it began at %v, and is INITIALIZING since %v; steps (-want +got):\n%s", d.Start, d.Timestamps[msg.JobInitializing], diff)
	}
	if o := core.overview(); o.Spent[msg.JobInitializing] != time.Hour || !o.Start.Equal(testEpoch) {
		t.Errorf("it was INITIALIZING for %v, and began at %v", o.Spent[msg.JobInitializing], o.Start)
	}
}

// changed is the message of these changes of state.
func changed(changes ...msg.TaskStateChange) msg.TaskStatesChanged {
	return msg.TaskStatesChanged{Changes: changes}
}
