package resourcemanager

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager/slotmanager"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/memory"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/testing/actortest"
	"github.com/bobbin-yarn/bobbin/internal/testing/transcript"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

var rewrite = flag.Bool("rewrite", false, "write transcripts anew")

var testEpoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// testConfig is the default, with two slots per worker.
func testConfig() Config { return configured(config.Config{}) }

// configured is what options decide, with two slots per worker.
func configured(options config.Config) Config {
	c := Configured(options)
	c.ResourceManager = "rm1"
	c.IDs = "#"
	c.Worker = WorkerResourceSpec{MemoryMB: 1024, VCores: 2, Slots: 2, Memory: testMemory}
	c.SlotMemory = memory.Slot{Heap: 400 * config.Mebibyte}
	c.Sizes = memory.SizesOf(config.Config{}, testMemory)
	return c
}

func TestCoreTranscripts(t *testing.T) {
	transcript.Run(t, *rewrite, func(t *testing.T) func(string) []string {
		s := &script{t: t, config: testConfig(), now: testEpoch}
		return s.command
	})
}

// script drives a core by commands, as its transcripts have them:
//
//	config NAME=VALUE …                         options, before anything else
//	attempt N                                   this attempt, which begins in standby; after config
//	lead                                        its standby ends
//	previous [WORKER …]                         the provider lists workers of earlier masters. p1 is one of attempt 1, q1
//	                                            one of attempt 2, u1 one beside the first master
//	starting|failed|completed WORKER [CAUSE]    the provider's reports
//	refused REASON, admitted, taken
//	register WORKER CONNECTION SLOTS            SLOTS: "- #1:j1", one item per slot
//	  with as=WORKER version=N vcores=N managed=BYTES  before SLOTS, for liars
//	of=heavy, of=huge                           in commands about workers or slots: a profile
//	report|answer|freed|leave|heartbeat CONNECTION …
//	                                                  serves=JOB,… in a registration, partitions=yes in a report
//	disconnected CONNECTION CAUSE
//	jobmaster|gone JOB JOBMASTER, declare JOB JOBMASTER SLOTS [least=N] [part=N]
//	  with huge=N                               and as many slots of this profile; later=N: only for parts that wait for their
//	                                            inputs, and these need N of them
//	nodes [NODE …]                              that could have workers; WORKER is on host-WORKER
//	block JOB JOBMASTER [NODE …]                for ten minutes from the start
//	wait DURATION                               the core is woken at its alarms
//	asleep DURATION                             the process is stopped
//	pause DURATION                              as asleep, and the next event comes before the alarm
//	tokens TEXT                                 new tokens
//	ask WORKER [HOST]                           a user's question about a worker, or about a task host
//	says CONNECTION NUMBER [large|silent] TEXT  the answer to it; silent: that the task host has not answered
//	details WORKER
//	status, shutdown STATUS DIAGNOSTICS, deregistered [ERROR]
//
// Ids that the core makes are written #1, #2, …
type script struct {
	t       *testing.T
	options config.Config
	config  Config
	now     time.Time
	alarm   time.Time
	peers   map[actor.ConnectionID]ids.ResourceID

	stepper actortest.Stepper[event, effect]
}

func (s *script) command(line string) []string {
	s.t.Helper()
	words := strings.Fields(line)
	options := map[string]string{}
	args := words[:0]
	for _, w := range words {
		if name, value, ok := strings.Cut(w, "="); ok {
			options[name] = value
		} else {
			args = append(args, w)
		}
	}
	switch args[0] {
	case "config":
		var err error
		if s.options, err = s.options.With(config.Layer{Source: "script", Values: options}); err != nil {
			s.t.Fatal(err)
		}
		s.config = configured(s.options)
		return nil
	case "attempt":
		s.config.ResourceManager, s.config.Standby = ids.NewResourceManagerID(ids.Epoch(s.number(args[1])), "rm"), true
		return nil
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
	}
	event := s.event(args, options)
	if event == nil {
		s.t.Fatalf("unknown command %q", line)
	}
	return s.step(event)
}

// A worker has two heavy slots, or one huge one.
var (
	heavy = msg.ResourceProfile{CPU: 1, TaskHeap: 100 << 20}
	huge  = msg.ResourceProfile{CPU: 3.5, TaskHeap: 2 << 30, Managed: 1 << 30, External: "gpu=2"}
)

// profile is that of the slots of a command: of=heavy or of=huge, or default ones.
func (s *script) profile(options map[string]string) msg.ResourceProfile {
	switch of := options["of"]; of {
	case "":
		return msg.ResourceProfile{}
	case "heavy":
		return heavy
	case "huge":
		return huge
	default:
		s.t.Fatalf("unknown profile %q", of)
		return msg.ResourceProfile{}
	}
}

// spec is the kind of workers that a command is about.
func (s *script) spec(options map[string]string) WorkerResourceSpec {
	profile := s.profile(options)
	if profile.IsDefault() {
		return s.config.Worker
	}
	spec, _ := s.config.size(profile)
	return spec
}

func (s *script) event(args []string, options map[string]string) event {
	rest := func(i int) string { return strings.Join(args[min(i, len(args)):], " ") }
	switch args[0] {
	case "lead":
		return leading{}
	case "previous":
		e := PreviousWorkers{}
		for _, word := range args[1:] {
			e.Workers = append(e.Workers, PreviousWorker{Worker: workerID(word), Host: "host-" + word})
		}
		return workersReported{Events: []WorkerEvent{e}}
	case "starting":
		return workersReported{Events: []WorkerEvent{WorkerStarting{Worker: ids.ResourceID(args[1]), Spec: s.spec(options), Host: "host-" + args[1]}}}
	case "failed":
		return workersReported{Events: []WorkerEvent{WorkerFailed{Worker: workerID(args[1]), Cause: rest(2)}}}
	case "completed":
		return workersReported{Events: []WorkerEvent{WorkerCompleted{Worker: workerID(args[1]), Cause: rest(2)}}}
	case "refused":
		return workersReported{Events: []WorkerEvent{WorkersRefused{Spec: s.spec(options), Reason: rest(1)}}}
	case "admitted":
		return workersReported{Events: []WorkerEvent{RefusalEnded{Spec: s.spec(options)}}}
	case "taken":
		return workersReported{Events: []WorkerEvent{OrdersTaken{Spec: s.spec(options)}}}
	case "jobmaster":
		return jobMasterRegistering{msg.RegisterJobMaster{
			Job: ids.JobID(args[1]), JobMaster: ids.JobMasterID(args[2]), Program: msg.Program{Name: "program-" + args[1]},
		}}
	case "declare":
		m := msg.DeclareRequirements{Job: ids.JobID(args[1]), JobMaster: ids.JobMasterID(args[2]), Needs: []msg.SlotNeed{{
			Profile: s.profile(options), Slots: s.number(args[3]),
			Least: s.number(cmp.Or(options["least"], "0")), Part: s.number(cmp.Or(options["part"], options["least"], args[3])),
		}}}
		if huge, ok := options["huge"]; ok {
			n := s.number(huge)
			need := msg.SlotNeed{Profile: s.profile(map[string]string{"of": "huge"}), Slots: n, Part: n}
			if later, waits := options["later"]; waits {
				need.Part, need.Later = 0, s.number(later)
			}
			m.Needs = append(m.Needs, need)
		}
		return requirementsDeclared{m}
	case "block":
		m := msg.BlockNodes{Job: ids.JobID(args[1]), JobMaster: ids.JobMasterID(args[2])}
		for _, node := range args[3:] {
			m.Nodes = append(m.Nodes, msg.BlockedNode{Node: node, Cause: "disk full", Until: testEpoch.Add(10 * time.Minute)})
		}
		return nodesBlocked{m}
	case "nodes":
		return workersReported{Events: []WorkerEvent{NodesChanged{Nodes: args[1:]}}}
	case "gone":
		return jobMasterGone{Job: ids.JobID(args[1]), JobMaster: ids.JobMasterID(args[2])}
	case "tokens":
		return tokensUpdated{Tokens: msg.Secret(rest(1))}
	case "ask":
		return inquiryAsked{Worker: workerID(args[1]), Host: ids.HostID(rest(2)), Inquiry: msg.Inquiry{Topic: msg.AboutLogs}}
	case "details":
		return detailsAsked{Worker: workerID(args[1])}
	case "status":
		return statusAsked{}
	case "shutdown":
		return shutdownAsked{Status: msg.ApplicationStatus(args[1]), Diagnostics: rest(2)}
	case "deregistered":
		if text := rest(1); text != "" {
			return deregistered{Err: errors.New(text)}
		}
		return deregistered{}
	case "disconnected":
		return taskExecutorDisconnected{From: s.peer(args[1]), Cause: rest(2)}
	default:
		return s.said(args, options, rest)
	}
}

// said makes the event of a TaskExecutor's message.
func (s *script) said(args []string, options map[string]string, rest func(int) string) event {
	var e taskExecutorSaid
	slot := func() (int, ids.AllocationID) { return s.number(args[2]), allocation(args[3]) }
	switch args[0] {
	case "register":
		return s.register(args, options)
	case "report":
		e.Message = msg.SlotReport{Slots: s.statuses(args[2:]), Partitions: options["partitions"] == "yes"}
	case "answer":
		index, id := slot()
		e.Message = msg.SlotRequestsAnswered{Taken: []msg.SlotOffer{{Index: index, Allocation: id}}}
		if reason := rest(4); reason != "" {
			e.Message = msg.SlotRequestsAnswered{Refused: []msg.SlotRefusal{{SlotOffer: msg.SlotOffer{Index: index, Allocation: id}, Reason: reason}}}
		}
	case "freed":
		index, id := slot()
		e.Message = msg.SlotsFreed{Slots: []msg.SlotOffer{{Index: index, Allocation: id}}}
	case "says":
		text, large := strings.CutPrefix(rest(3), "large ")
		m := msg.Inquired{Number: uint64(s.number(args[2])), Answer: msg.InquiryAnswer{Content: []byte(text)}}
		if large {
			m.Answer.Content = make([]byte, msg.MaxPart+1)
		}
		if why, silent := strings.CutPrefix(text, "silent "); silent {
			m.Answer = msg.NoAnswer(fmt.Errorf("%w: %s", msg.ErrWorkerSilent, why))
		}
		e.Message = m
	case "leave":
		e.Message = msg.Disconnect{Cause: rest(2)}
	case "heartbeat":
		e.Message = msg.Heartbeat{}
	default:
		return nil
	}
	e.From = s.peer(args[1])
	return e
}

// testMemory is the division of a worker's memory.
var testMemory = memory.Worker{Process: 1 << 30, Slots: 2, Framework: 1 << 28, Overhead: 1 << 28, Tasks: memory.Slot{Heap: 1 << 29}}

// workerID is the id of a worker: its name, or that of a container of an earlier attempt.
func workerID(word string) ids.ResourceID {
	number, err := strconv.Atoi(word[1:])
	if err != nil {
		return ids.ResourceID(word)
	}
	of := func(attempt int32) records.ContainerID {
		return records.ContainerID{ID: int64(number), Attempt: records.ApplicationAttemptID{
			Application: records.ApplicationID{ClusterTimestamp: 1, ID: 1}, Attempt: attempt,
		}}
	}
	switch word[0] {
	case 'p':
		return ids.ResourceID(of(1).String())
	case 'q':
		return ids.ResourceID(of(2).String())
	case 'u':
		return launch.UberWorker(of(1).String(), number)
	default:
		return ids.ResourceID(word)
	}
}

// names are the ids that workerID gives.
var names = strings.NewReplacer("container_1_0001_01_00000", "p", "container_1_0001_02_00000", "q")

func (s *script) register(args []string, options map[string]string) event {
	spec := s.spec(options)
	r := msg.RegisterTaskExecutor{
		ProtocolVersion: jobgraph.ProtocolVersion,
		Resource:        workerID(args[1]),
		Host:            "host-" + args[1],
		Slots:           s.statuses(args[3:]),
		Profile:         spec.Profile,
		Memory:          spec.Memory,
		VCores:          spec.VCores,
	}
	if jobs, ok := options["serves"]; ok {
		for job := range strings.SplitSeq(jobs, ",") {
			r.Jobs = append(r.Jobs, ids.JobID(job))
		}
	}
	if vcores, ok := options["vcores"]; ok {
		r.VCores = s.number(vcores)
	}
	if as, ok := options["as"]; ok {
		r.Resource = ids.ResourceID(as)
	}
	if version, ok := options["version"]; ok {
		r.ProtocolVersion = s.number(version)
	}
	if cores, ok := options["cores"]; ok {
		r.Hardware.Cores = s.number(cores)
	}
	if heap, ok := options["heap"]; ok { // the other parts do not change
		r.Memory.Tasks.Heap = config.Bytes(s.number(heap))
	}
	if managed, ok := options["managed"]; ok { // in place of heap
		moved := config.Bytes(s.number(managed))
		r.Memory.Tasks.Managed += moved
		r.Memory.Tasks.Heap -= moved
	}
	connection := actor.ConnectionID(s.number(args[2]))
	if s.peers == nil {
		s.peers = make(map[actor.ConnectionID]ids.ResourceID)
	}
	s.peers[connection] = workerID(args[1])
	return taskExecutorSaid{From: s.peer(args[2]), Message: r}
}

func (s *script) statuses(words []string) []msg.SlotStatus {
	var slots []msg.SlotStatus
	for i, word := range words {
		status := msg.SlotStatus{Index: i}
		if id, job, ok := strings.Cut(word, ":"); ok {
			status.Allocation, status.Job = allocation(id), ids.JobID(job)
		}
		slots = append(slots, status)
	}
	return slots
}

func (s *script) peer(connection string) actor.Peer {
	id := actor.ConnectionID(s.number(connection))
	return actor.Peer{Connection: id, Resource: s.peers[id]}
}

func (s *script) number(word string) int {
	n, err := strconv.Atoi(word)
	if err != nil {
		s.t.Fatalf("number %q: %v", word, err)
	}
	return n
}

// wait lets time pass, and wakes the core at its alarms.
func (s *script) wait(duration string) []string {
	d, err := time.ParseDuration(duration)
	if err != nil {
		s.t.Fatal(err)
	}
	var lines []string
	end := s.now.Add(d)
	for !s.alarm.IsZero() && !s.alarm.After(end) {
		if s.alarm.After(s.now) { // otherwise the alarm is late
			s.now = s.alarm
		}
		s.alarm = time.Time{}
		s.stepper.Rang()
		for _, line := range s.step(woken{}) {
			lines = append(lines, fmt.Sprintf("%v: %s", s.now.Sub(testEpoch), line))
		}
	}
	s.now = end
	return lines
}

func (s *script) step(event event) []string {
	if s.stepper.Core == nil {
		core, err := newCore(s.config)
		if err != nil {
			s.t.Fatal(err)
		}
		s.stepper.Core = core
	}
	var lines []string
	effects, alarm := s.stepper.Step(s.now, event)
	for _, effect := range effects {
		lines = append(lines, names.Replace(s.describe(effect)))
	}
	if !alarm.IsZero() {
		s.alarm = alarm
		lines = append(lines, fmt.Sprintf("wake at %v", alarm.Sub(testEpoch)))
	}
	return lines
}

func (s *script) describe(effect effect) string {
	switch e := effect.(type) {
	case sendTaskExecutor:
		to := fmt.Sprintf("to %d: ", e.To)
		if m, is := e.Message.(msg.TaskExecutorRegistered); is && s.config.Standby {
			return fmt.Sprintf("%sregistered as %s, one of %d", to, short(string(m.Instance)), m.Workers)
		}
		return to + strings.ReplaceAll(describeMessage(e.Message), "\n", "\n"+to)
	case closeTaskExecutor:
		return fmt.Sprintf("close %d: %s", e.To, e.Cause)
	case sendJobMaster:
		return fmt.Sprintf("to %s: %s", e.To, describeMessage(e.Message))
	case forgetJobMaster:
		return fmt.Sprintf("forget %s", e.JobMaster)
	case orderWorkers:
		text := "order"
		for _, w := range e.Orders.Workers {
			text += fmt.Sprintf(" total=%d", w.Total)
			if !w.Spec.Profile.IsDefault() {
				text += fmt.Sprintf(" of %v", w.Spec)
			}
		}
		for _, r := range e.Orders.Release {
			text += " release=" + string(r.Worker)
		}
		for _, id := range e.Orders.Check {
			text += " check=" + string(id)
		}
		for _, node := range e.Orders.Avoid {
			text += " avoid=" + node
		}
		return text
	case deregister:
		return fmt.Sprintf("deregister %s: %s", e.Status, e.Diagnostics)
	case dropped:
		return fmt.Sprintf("drop %s from %s: %s", msg.Kind(e.Message), e.From, e.Why)
	case workerGone:
		return fmt.Sprintf("gone %s: %s", e.Worker, e.Cause)
	case reply:
		if status, is := e.Content().(Status); is {
			return describeStatus(status)
		}
		switch content := e.Content().(type) {
		case inquiryResult:
			if err := cmp.Or(content.Err, content.Answer.Err()); err != nil {
				return fmt.Sprintf("answer: %v", err)
			}
			return fmt.Sprintf("answer: %s", content.Answer.Content)
		case msg.TaskExecutorDetails:
			return fmt.Sprintf("details %s on %s, %d of %d slots are free, others of %v", content.Resource, content.Host, content.SlotsFree, content.SlotsTotal, content.Jobs)
		}
		return fmt.Sprintf("answer shutdown: %v", e.Content())
	}
	return fmt.Sprintf("unknown effect %T", effect)
}

func describeStatus(status Status) string {
	text := fmt.Sprintf("status starting=%d requested=%d", status.Starting, status.Requested)
	if status.Previous > 0 {
		text += fmt.Sprintf(" previous=%d", status.Previous)
	}
	if status.Kept != (slotmanager.Kept{}) {
		text += fmt.Sprintf(" kept spares=%d floor=%d %s", status.Kept.Spares, status.Kept.Floor, status.Floor)
	}
	for _, d := range status.TaskExecutors {
		text += fmt.Sprintf(" %s=%d/%d", d.Resource, d.SlotsFree, d.SlotsTotal)
	}
	for _, n := range status.Blocked {
		text += fmt.Sprintf(" %s=%q until %v", n.Node, n.Cause, n.Until.Sub(testEpoch))
	}
	return text
}

func describeMessage(m msg.Message) string {
	switch m := m.(type) {
	case msg.TaskExecutorRegistered:
		return "registered as " + short(string(m.Instance))
	case msg.RegistrationRejected:
		return "rejected: " + m.Reason
	case msg.ReleaseTaskExecutor:
		return "release: " + m.Cause
	case msg.RequestSlots:
		var slots []string
		for _, o := range m.Slots {
			slots = append(slots, fmt.Sprintf("request slot %d for %s of %s as %s, %s with %d MB",
				o.Index, m.Job, m.JobMaster, short(string(o.Allocation)), m.Program.Name, m.Memory.Limit()/config.Mebibyte))
		}
		return strings.Join(slots, "\n")
	case msg.UpdateTokens:
		return "tokens " + string(m.Tokens)
	case msg.Heartbeat:
		return fmt.Sprintf("heartbeat, %d workers", m.Workers)
	case msg.Inquire:
		if m.Host != "" {
			return fmt.Sprintf("question %d about %s of host %s", m.Number, m.Inquiry.Topic, m.Host)
		}
		return fmt.Sprintf("question %d about %s", m.Number, m.Inquiry.Topic)
	case msg.JobMasterRegistered:
		return "registered at " + string(m.ResourceManager)
	case msg.NotEnoughResources:
		where := ""
		if m.NodesBlocked {
			where = " on nodes that it has not blocked"
		}
		return fmt.Sprintf("not enough resources for %s%s: %s", m.Job, where, m.Reason)
	case msg.AllNodesBlocked:
		return fmt.Sprintf("all nodes are blocked for %s", m.Job)
	case msg.PreviousWorkersReturned:
		var workers []string
		for _, id := range m.Workers {
			workers = append(workers, names.Replace(string(id)))
		}
		return fmt.Sprintf("all have returned, %v with partitions of %s", workers, m.Job)
	case msg.TaskExecutorTerminated:
		return fmt.Sprintf("%s terminated: %s", m.Resource, m.Cause)
	}
	return fmt.Sprintf("unknown message %T", m)
}

var sequence = regexp.MustCompile("^#0*([0-9a-f]+)$")

// short writes an id of the core as in transcripts; allocation converts it back.
func short(id string) string { return sequence.ReplaceAllString(id, "#$1") }

func allocation(word string) ids.AllocationID {
	if n, ok := strings.CutPrefix(word, "#"); ok {
		return ids.AllocationID(fmt.Sprintf("#%016s", n))
	}
	return ids.AllocationID(word)
}
