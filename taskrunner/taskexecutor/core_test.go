package taskexecutor

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/memory"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/testing/transcript"
)

var rewrite = flag.Bool("rewrite", false, "write transcripts anew")

var testEpoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// testSlot is the memory that comes with each slot.
var testSlot = memory.Slot{Heap: 50 << 20, Managed: 40 << 20, Network: 10 << 20, OffHeap: 5 << 20} //nolint:gochecknoglobals // a constant

func testConfig(slots int) Config {
	return Config{
		Resource: "w1", Node: "n1", PID: 7, Slots: slots, VCores: slots,
		Memory:   memory.Worker{Process: 1 << 30, Slots: slots, By: config.TaskManagerProcessSize},
		Programs: map[string]string{"5a": "program"},
		Options:  OptionsFrom(config.Config{}),
	}
}

func TestCoreTranscripts(t *testing.T) {
	t.Parallel()
	transcript.Run(t, *rewrite, func(t *testing.T) func(string) []string {
		s := &script{t: t, now: testEpoch}
		return s.command
	})
}

// script drives a core by commands, as its transcripts have them. Links are
// numbered as they are opened, hosts as they are started:
//
//	config NAME=VALUE …                   options, before start
//	master ADDRESS DURATION               before start: others may follow, in this time
//	disks NUMBER                          before start: hosts write partitions on so many
//	start SLOTS [TOKENS]
//	others NUMBER                         other jobs have so many partitions here
//	opened LINK
//	lost LINK CAUSE
//	unready LINK                          the JobMaster is being made
//	registered [EPOCH] [workers=N]        by the ResourceManager, over its link
//	found EPOCH ADDRESS                   the leader
//	unfound CAUSE
//	request SLOT ALLOCATION JOB [JOBMASTER] [program=SHA [uri=URI]]
//	request-all JOB SLOT:ALLOCATION…      in one message
//	release|reject [epoch=N] CAUSE
//	tokens TEXT                           new tokens from the ResourceManager
//	ask LINK NUMBER TOPIC [HOST]          the ResourceManager asks about this process, or about a host
//	told INQUIRY TEXT                     the process answers, or:
//	says HOST INQUIRY [large] TEXT        a host does
//	admitted JOB [JOBMASTER] [tasks=N] [NAME=URI…]  the job has these cached files
//	accept|turndown|free JOB ALLOCATION…
//	goodbye JOB CAUSE
//	deploy JOB HOST [TASK…]               of a source: TASK:source
//	split JOB [TASK LINEAGE]              a message that is passed on unchanged
//	hello HOST [VERSION]
//	ready HOST [HOST]                     the second one is its id after a reset
//	state HOST
//	finished HOST TASK [STATE] OUTPUT:DISK…   a task has ended, and has written these partitions
//	release-partitions JOB PARTITION…
//	collect HOST BYTES                    in one batch
//	fails HOST [permanent] TEXT           the host says why it ends
//	exit HOST HOW [| CRASH [| OUTPUT]]
//	over HOST                             it exceeds its share of memory
//	signal CAUSE                          the process must end
//	fetched COPY MB
//	unfetched COPY [permanent] [token] CAUSE   token: this worker has no valid one
//	heartbeat LINK [workers=N]
//	alive HOST                            it answers a heartbeat
//	late DURATION                         time passes; the next event comes before the alarm
//	asleep DURATION                       the worker itself is stopped: its alarm rings late
//	wait DURATION                         the core is woken at its alarms
//	pass DURATION                         as wait, with heartbeats that are not shown
type script struct {
	t       *testing.T
	options config.Config
	address string
	giveUp  time.Duration
	disks   int
	core    *core
	now     time.Time
	// passing says that roles and hosts send heartbeats all the time.
	passing bool
}

func (s *script) command(line string) []string {
	s.t.Helper()
	words := strings.Fields(line)
	switch words[0] {
	case "config":
		values := make(map[string]string)
		for _, w := range words[1:] {
			name, value, _ := strings.Cut(w, "=")
			values[name] = value
		}
		var err error
		if s.options, err = s.options.With(config.Layer{Source: "script", Values: values}); err != nil {
			s.t.Fatal(err)
		}
		return nil
	case "master":
		s.address, s.giveUp = words[1], s.duration(words[2])
		return nil
	case "disks":
		s.disks = s.number(words[1])
		return nil
	case "start":
		c := testConfig(s.number(words[1]))
		c.PartitionDisks = s.disks
		c.Options, c.Address, c.GiveUp = OptionsFrom(s.options), s.address, s.giveUp
		if len(words) > 2 {
			c.Tokens = msg.Secret(words[2])
		}
		core, err := newCore(c)
		if err != nil {
			s.t.Fatal(err)
		}
		s.core = core
		return s.step(started{})
	case "wait":
		return s.wait(words[1])
	case "others":
		s.core.partitions += s.number(words[1])
		return nil
	case "late":
		s.now = s.now.Add(s.duration(words[1]))
		return nil
	case "asleep":
		s.now = s.now.Add(s.duration(words[1]))
		return s.wait("0s")
	case "pass":
		s.passing = true
		defer func() { s.passing = false }()
		return slices.DeleteFunc(s.wait(words[1]), func(line string) bool {
			return strings.HasSuffix(line, "Heartbeat") || strings.Contains(line, ": report ")
		})
	}
	event := s.event(words)
	if event == nil {
		s.t.Fatalf("unknown command %q", line)
	}
	return s.step(event)
}

func (s *script) event(words []string) event {
	options := make(map[string]string)
	var args []string
	for _, w := range words {
		if name, value, is := strings.Cut(w, "="); is {
			options[name] = value
		} else {
			args = append(args, w)
		}
	}
	arg := func(i int, otherwise string) string {
		if i < len(args) {
			return args[i]
		}
		return otherwise
	}
	rest := func(i int) string { return strings.Join(args[min(i, len(args)):], " ") }
	allocations := func() []ids.AllocationID {
		var all []ids.AllocationID
		for _, a := range args[2:] {
			all = append(all, ids.AllocationID(a))
		}
		return all
	}
	rm := func(m msg.Message) event { return roleSaid{Link: s.core.rm.id, Message: m} }
	jm := func(m msg.Message) event {
		if j := s.core.jobs[ids.JobID(args[1])]; j != nil {
			return roleSaid{Link: j.link.id, Message: m}
		}
		return roleSaid{Message: m} // of a stream that is closed
	}
	host := func(m msg.Message) event { return hostSaid{Host: hostID(args[1]), Message: m} }
	switch args[0] {
	case "opened":
		return linkOpened{linkID(s.number(args[1]))}
	case "lost":
		return linkLost{Link: linkID(s.number(args[1])), Cause: rest(2)}
	case "unready":
		return linkLost{Link: linkID(s.number(args[1])), Cause: "not ready yet", NotReady: true}
	case "heartbeat":
		var m msg.Heartbeat
		if n, set := options["workers"]; set {
			m.Workers = s.number(n)
		}
		return roleSaid{linkID(s.number(args[1])), m}
	case "registered":
		m := msg.TaskExecutorRegistered{ResourceManager: "r1", HeartbeatInterval: 10 * time.Second, HeartbeatTimeout: 50 * time.Second}
		if len(args) > 1 {
			m.ResourceManager = ids.NewResourceManagerID(ids.Epoch(s.number(args[1])), "r")
		}
		if n, set := options["workers"]; set {
			m.Workers = s.number(n)
		}
		return rm(m)
	case "found":
		return leaderFound{Epoch: ids.Epoch(s.number(args[1])), Address: args[2]}
	case "unfound":
		return leaderNotFound{rest(1)}
	case "request":
		m := msg.RequestSlots{
			Slots: []msg.SlotOffer{{Index: s.number(args[1]), Allocation: ids.AllocationID(args[2])}},
			Job:   ids.JobID(args[3]), JobMaster: ids.JobMasterID(arg(4, "m1")),
			Program: msg.Program{Name: "wordcount", SHA256: "5a"}, Memory: testSlot,
		}
		if sum, set := options["program"]; set {
			m.Program.SHA256, m.Program.URI = sum, options["uri"]
		}
		return rm(m)
	case "request-all":
		m := msg.RequestSlots{Job: ids.JobID(args[1]), JobMaster: "m1", Program: msg.Program{Name: "wordcount", SHA256: "5a"}, Memory: testSlot}
		for _, slot := range args[2:] {
			index, allocation, _ := strings.Cut(slot, ":")
			m.Slots = append(m.Slots, msg.SlotOffer{Index: s.number(index), Allocation: ids.AllocationID(allocation)})
		}
		return rm(m)
	case "release":
		return rm(msg.ReleaseTaskExecutor{Cause: rest(1)})
	case "reject":
		m := msg.RegistrationRejected{Reason: rest(1)}
		if epoch, set := options["epoch"]; set {
			m.ResourceManager = ids.NewResourceManagerID(ids.Epoch(s.number(epoch)), "r")
		}
		return rm(m)
	case "ask":
		return roleSaid{linkID(s.number(args[1])), msg.Inquire{
			Number: uint64(s.number(args[2])), Host: hostID(arg(4, "")), Inquiry: msg.Inquiry{Topic: msg.Topic(args[3])},
		}}
	case "told":
		return inquiryAnswered{inquiryID(s.number(args[1])), msg.InquiryAnswer{Content: []byte(rest(2))}}
	case "says":
		text, large := strings.CutPrefix(rest(3), "large ")
		m := msg.Inquired{Number: uint64(s.number(args[2])), Answer: msg.InquiryAnswer{Content: []byte(text)}}
		if large {
			m.Answer.Content = make([]byte, msg.MaxPart+1)
		}
		return host(m)
	case "tokens":
		return rm(msg.UpdateTokens{Tokens: msg.Secret(rest(1))})
	case "admitted":
		tasks := 0
		if n, set := options["tasks"]; set {
			tasks = s.number(n)
			delete(options, "tasks")
		}
		return jm(msg.RegisteredAtJobMaster{
			Tasks:     tasks,
			JobMaster: ids.JobMasterID(arg(2, "m1")), HeartbeatInterval: 10 * time.Second, HeartbeatTimeout: 50 * time.Second,
			Job: msg.JobSpec{ID: ids.JobID(args[1]), Name: "wordcount", Files: filesOf(options)},
		})
	case "accept":
		return jm(msg.SlotOffersAnswered{Accepted: allocations()})
	case "turndown":
		return jm(msg.SlotOffersAnswered{Rejected: allocations()})
	case "free":
		return jm(msg.FreeSlots{Allocations: allocations(), Cause: "job has ended"})
	case "goodbye":
		return jm(msg.Disconnect{Cause: rest(2)})
	case "deploy":
		m := msg.DeployTasks{Host: hostID(args[2])}
		for _, task := range args[3:] {
			name, source := strings.CutSuffix(task, ":source")
			deployed := msg.TaskDeployment{Execution: s.task(name)}
			if source {
				deployed.Inputs = []uint64{0}
			}
			m.Tasks = append(m.Tasks, deployed)
		}
		return jm(m)
	case "release-partitions":
		var m msg.ReleasePartitions
		for _, p := range args[2:] {
			at := strings.LastIndex(p, "-o")
			m.Partitions = append(m.Partitions, ids.PartitionID{Execution: s.task(p[:at]), Output: s.number(p[at+2:])})
		}
		return jm(m)
	case "finished":
		m := msg.TaskStateChange{Execution: s.task(args[2]), State: msg.ExecutionFinished, Counters: map[string]int64{"words": 7}}
		for _, word := range args[3:] {
			output, disk, is := strings.Cut(word, ":")
			if !is {
				m.State = msg.ExecutionState(word)
				continue
			}
			m.Partitions = append(m.Partitions, msg.WrittenPartition{Output: s.number(output), Dir: s.number(disk), Records: 3, Bytes: 30})
		}
		return host(msg.TaskStatesChanged{Changes: []msg.TaskStateChange{m}})
	case "split":
		var m msg.SplitAssigned
		if len(args) > 2 {
			m.Execution, m.Lineage = s.task(args[2]), uint64(s.number(args[3]))
		}
		return jm(m)
	case "hello":
		version, err := strconv.Atoi(arg(2, strconv.Itoa(jobgraph.ProtocolVersion)))
		if err != nil {
			s.t.Fatal(err)
		}
		return host(msg.HostHello{ProtocolVersion: version})
	case "ready":
		return host(msg.HostReady{Host: hostID(arg(2, args[1])), DataAddress: "n1:9"})
	case "alive":
		return host(msg.Heartbeat{})
	case "state":
		return host(msg.TaskStatesChanged{Changes: []msg.TaskStateChange{{State: msg.ExecutionRunning}}})
	case "collect":
		return host(msg.CollectBatch{Records: make([]byte, s.number(args[2]))})
	case "fails":
		text, permanent := strings.CutPrefix(rest(2), "permanent ")
		return host(msg.HostLost{Failure: msg.Failure{Message: text, Permanent: permanent}})
	case "exit":
		parts := append(strings.Split(rest(2), " | "), "", "")
		return hostExited{Host: hostID(args[1]), Exit: Exit{How: parts[0], Crash: parts[1], Output: parts[2]}}
	case "signal":
		return terminated{rest(1)}
	case "fetched":
		id := copyID(s.number(args[1]))
		return fetched{Copy: id, File: fmt.Sprintf("copy %d", id), Size: config.Bytes(s.number(args[2])) * config.Mebibyte}
	case "unfetched":
		cause, permanent := strings.CutPrefix(rest(2), "permanent ")
		cause, tokens := strings.CutPrefix(cause, "token ")
		return fetchFailed{Copy: copyID(s.number(args[1])), Cause: cause, Permanent: permanent, NeedsTokens: tokens}
	case "over":
		return hostOverMemory{Host: hostID(args[1]), Resident: 200 * config.Mebibyte, Share: 137 * config.Mebibyte}
	}
	return nil
}

// filesOf are cached files, by name.
func filesOf(options map[string]string) []jobgraph.CachedFile {
	var files []jobgraph.CachedFile
	for _, name := range slices.Sorted(maps.Keys(options)) {
		files = append(files, jobgraph.CachedFile{Name: name, URI: options[name]})
	}
	return files
}

func (s *script) task(text string) ids.ExecutionAttemptID {
	s.t.Helper()
	task, is := ids.ParseExecutionAttemptID(text)
	if !is {
		s.t.Fatalf("%q is no task", text)
	}
	return task
}

func (s *script) number(text string) int {
	s.t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		s.t.Fatalf("%q is no number", text)
	}
	return n
}

// hostID makes "h2" the id of the core's second host.
func hostID(name string) ids.HostID {
	n, err := strconv.Atoi(strings.TrimPrefix(name, "h"))
	if err != nil {
		return ids.HostID(name)
	}
	return ids.NewHostID(testConfig(1).Resource, n)
}

func shortHost(id ids.HostID) string {
	if id == "" {
		return "no host"
	}
	if n, ours := strings.CutPrefix(string(id), string(testConfig(1).Resource)+"-"); ours {
		return "h" + n
	}
	return string(id)
}

func (s *script) step(event event) []string {
	var lines []string
	for _, effect := range s.core.Step(s.now, event) {
		lines = append(lines, show(effect))
	}
	return lines
}

// wait lets time pass, alarm by alarm.
func (s *script) wait(text string) []string {
	s.t.Helper()
	until := s.now.Add(s.duration(text))
	var lines []string
	for {
		next := s.core.Alarm()
		if next.IsZero() || next.After(until) {
			s.now = until
			return lines
		}
		if next.After(s.now) {
			s.now = next
		}
		if s.passing {
			for _, l := range s.core.links {
				l.watch.heard(s.now)
			}
			for _, j := range s.core.hosts {
				j.host.watch.heard(s.now)
			}
		}
		for _, line := range s.step(woken{}) {
			lines = append(lines, s.now.Sub(testEpoch).String()+": "+line)
		}
		if at := s.core.Alarm(); !at.IsZero() && !at.After(s.now) {
			s.t.Fatalf("it was woken at %s, and wants to be woken at %s again", s.now, at)
		}
	}
}

func (s *script) duration(text string) time.Duration {
	s.t.Helper()
	d, err := time.ParseDuration(text)
	if err != nil {
		s.t.Fatal(err)
	}
	return d
}

// dated is a timer that is set.
type dated struct {
	timer timer
	at    time.Time
	again bool // its term was started again
}

// timers lists the timers of a core that are set, in the order in which they are due. It takes each
// out and sets it again.
func timers(c *core) []dated {
	var set []dated
	for at := c.timers.Next(); !at.IsZero(); at = c.timers.Next() {
		timer, _ := c.timers.Due(at)
		set = append(set, dated{timer, at, c.terms[timer].again})
	}
	for _, d := range set {
		c.timers.Set(d.timer, d.at)
	}
	return set
}

// setSince lists the timers that were set after these.
func setSince(before []dated, c *core) []dated {
	return slices.DeleteFunc(timers(c), func(d dated) bool { return slices.Contains(before, d) })
}

// show writes an effect as in transcripts.
func show(effect effect) string {
	switch e := effect.(type) {
	case openLink:
		text := fmt.Sprintf("open %d to %s", e.Link, target(e.Job))
		if e.Address != "" {
			text += " at " + e.Address
		}
		return text
	case findLeader:
		return "find the leader"
	case sendRole:
		return fmt.Sprintf("to %d: %s", e.Link, showMessage(e.Message))
	case setToken:
		return fmt.Sprintf("token of %d is %s", e.Link, e.Token)
	case closeLink:
		return fmt.Sprintf("close %d: %s", e.Link, e.Cause)
	case fetchProgram:
		return fmt.Sprintf("fetch %d: %s %s from %s", e.Copy, e.Program.Name, e.Program.SHA256, e.Program.URI)
	case fetchFile:
		return fmt.Sprintf("fetch %d: file %s", e.Copy, e.File.URI)
	case dropCopy:
		return fmt.Sprintf("drop %d", e.Copy)
	case updateTokens:
		return "tokens " + string(e.Tokens)
	case startHost:
		return fmt.Sprintf("start %s for %s: %s with %d MB", shortHost(e.Host), e.Job, e.Program, e.Memory.Limit()>>20)
	case instructHost:
		text := fmt.Sprintf("instruct %s: %s with %d MB, %s of buffers", shortHost(e.Host), e.Job.Name, e.Memory.Limit()>>20, e.Memory.Network)
		for _, name := range slices.Sorted(maps.Keys(e.Files)) {
			text += fmt.Sprintf(", %s at %s", name, e.Files[name])
		}
		if e.Tokens != nil {
			text += ", tokens " + string(e.Tokens)
		}
		return text
	case setHostMemory:
		return fmt.Sprintf("watch %s for %d MB", shortHost(e.Host), e.Memory.Limit()>>20)
	case sendHost:
		return fmt.Sprintf("to %s: %s", shortHost(e.Host), showMessage(e.Message))
	case answerInquiry:
		return fmt.Sprintf("inquiry %d about %s", e.Inquiry, e.About.Topic)
	case servePartitions:
		return fmt.Sprintf("serve for %s:%s", e.Job, showFiles(e.Files))
	case removePartitions:
		return fmt.Sprintf("remove of %s:%s", e.Job, showFiles(e.Files))
	case tidyPartitions:
		return strings.TrimSuffix(fmt.Sprintf("tidy after %s, keep %v", shortHost(e.Host), e.Keep), ", keep []")
	case killHost:
		return "kill " + shortHost(e.Host)
	case end:
		return fmt.Sprintf("end: %s: %s", e.Reason, e.Cause)
	}
	return fmt.Sprintf("%T", effect)
}

func showFiles(files []PartitionFile) (text string) {
	for _, f := range files {
		text += fmt.Sprintf(" %s of %s on disk %d", f.Partition, shortHost(f.Host), f.Disk)
	}
	return text
}

// showServing says whether a worker serves partitions.
func showServing(partitions bool) string {
	if partitions {
		return ", serving partitions"
	}
	return ""
}

func showMessage(m msg.Message) string {
	switch m := m.(type) {
	case msg.RegisterTaskExecutor:
		text := "register " + showSlots(m.Slots)
		if len(m.Jobs) > 0 {
			text += fmt.Sprintf(", serving partitions of %v", m.Jobs)
		}
		return text
	case msg.SlotReport:
		return "report " + showSlots(m.Slots) + showServing(m.Partitions)
	case msg.HeldPartitions:
		text := "holds"
		for _, task := range m.Tasks {
			text += fmt.Sprintf(" %s %s", task.Execution, task.State)
			if task.Inputs != nil {
				text += fmt.Sprintf(" of %d", task.Inputs)
			}
			for _, p := range task.Partitions {
				text += fmt.Sprintf(" %d:%d", p.Output, p.Dir)
			}
		}
		if m.Last {
			text += " (last)"
		}
		return text
	case msg.SlotRequestsAnswered:
		var answers []string
		for _, o := range m.Taken {
			answers = append(answers, fmt.Sprintf("took %s for slot %d", o.Allocation, o.Index))
		}
		for _, r := range m.Refused {
			answers = append(answers, fmt.Sprintf("refused %s for slot %d: %s", r.Allocation, r.Index, r.Reason))
		}
		return strings.Join(answers, ", ")
	case msg.SlotsFreed:
		var freed []string
		for _, o := range m.Slots {
			freed = append(freed, fmt.Sprintf("freed slot %d of %s", o.Index, o.Allocation))
		}
		return strings.Join(freed, ", ")
	case msg.OfferSlots:
		var offers []string
		for _, o := range m.Offers {
			offers = append(offers, fmt.Sprintf("%d:%s", o.Index, o.Allocation))
		}
		return "offer " + strings.Join(offers, " ")
	case msg.HostReady:
		return fmt.Sprintf("%s ready at %s", shortHost(m.Host), m.DataAddress)
	case msg.HostLost:
		return fmt.Sprintf("%s %s %q", shortHost(m.Host), showLoss(m), m.Failure.Message)
	case msg.StopHost:
		return "stop: " + m.Cause
	case msg.ResetHost:
		return "begin anew as " + shortHost(m.Host)
	case msg.UpdateTokens:
		return "tokens " + string(m.Tokens)
	case msg.Inquire:
		return fmt.Sprintf("inquiry %d about %s", m.Number, m.Inquiry.Topic)
	case msg.Inquired:
		text := fmt.Sprintf("answer to %d: %s", m.Number, m.Answer.Content)
		for _, h := range m.Answer.Hosts {
			text += fmt.Sprintf("%s of %s ", shortHost(h.Host), h.Job)
		}
		return text + m.Answer.Reason
	case msg.SetMemory:
		return fmt.Sprintf("memory is %d MB", m.Memory.Limit()>>20)
	default:
		return msg.Kind(m)
	}
}

func showLoss(m msg.HostLost) string {
	switch {
	case m.Failure.Permanent:
		return "lost for good"
	case m.Reason == msg.HostStopped:
		return "stops"
	case m.Reason == msg.HostUnavailable:
		return "lost, and no other:"
	case m.Reason == msg.HostFull:
		return "lost, and no room:"
	default:
		return "lost"
	}
}

func showSlots(slots []msg.SlotStatus) string {
	var parts []string
	for _, s := range slots {
		if s.Allocation == "" {
			parts = append(parts, "free")
		} else {
			parts = append(parts, fmt.Sprintf("%s/%s", s.Allocation, s.Job))
		}
	}
	return strings.Join(parts, " ")
}
