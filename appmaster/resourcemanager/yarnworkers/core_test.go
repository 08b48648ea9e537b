package yarnworkers

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ha"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/memory"
	"github.com/bobbin-yarn/bobbin/internal/testing/actortest"
	"github.com/bobbin-yarn/bobbin/internal/testing/transcript"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/amrm"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

var rewrite = flag.Bool("rewrite", false, "write transcripts anew")

var (
	defaultHeartbeat       = config.Config{}.Duration(config.YarnHeartbeatInterval)
	defaultRequestInterval = config.Config{}.Duration(config.YarnContainerRequestInterval)

	testEpoch   = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	testAttempt = records.ApplicationAttemptID{Application: records.ApplicationID{ClusterTimestamp: 1, ID: 1}, Attempt: 2}
	testSpec    = resourcemanager.WorkerResourceSpec{MemoryMB: 1024, VCores: 1, Slots: 1, Memory: memory.Worker{By: config.TaskManagerProcessSize}}
	largeSpec   = resourcemanager.WorkerResourceSpec{MemoryMB: 4096, VCores: 4, Slots: 4, Memory: memory.Worker{By: config.TaskManagerFlinkSize}}
)

// testNodes are two nodes with room for four workers each.
func testNodes() []records.NodeReport {
	var nodes []records.NodeReport
	for _, host := range []string{"h1", "h2"} {
		nodes = append(nodes, records.NodeReport{
			ID: nodeID(host), Rack: "/r", State: records.NodeRunning,
			Capability: records.Resource{MemoryMB: 4096, VCores: 8},
		})
	}
	return nodes
}

// testCore is a core of the second attempt, which knows these nodes and keeps the containers of the first one.
func testCore(place launch.WorkerPlace, nodes []records.NodeReport) *core {
	c := newCore(testConfig(place))
	c.Step(testEpoch, nodesKnown{nodes})
	return c
}

func testConfig(place launch.WorkerPlace) Config {
	return Config{Attempt: testAttempt, KeepPrevious: true, Place: place, Heartbeat: defaultHeartbeat, RequestInterval: defaultRequestInterval}
}

func nodeID(host string) records.NodeID { return records.NodeID{Host: host, Port: 1} }

func containerID(number int) records.ContainerID {
	return records.ContainerID{Attempt: testAttempt, ID: int64(number)}
}

// previousID is a container of the first attempt.
func previousID(number int) records.ContainerID {
	id := containerID(number)
	id.Attempt.Attempt = 1
	return id
}

func TestCoreTranscripts(t *testing.T) {
	transcript.Run(t, *rewrite, func(t *testing.T) func(string) []string {
		s := &script{t: t, now: testEpoch}
		s.stepper.Core = testCore(launch.WorkerPlace{}, testNodes())
		return s.command
	})
}

// script drives a core by commands, as its transcripts have them. A container is a number; p3 is container 3 of the
// first attempt.
//
//	config keep=no, config nodes=later, config label=LABEL       before anything else
//	registered [maximum=MB] [previous=p3@h1] [sent=DURATION]  with containers of an earlier attempt; sent so long ago
//	known h1,h2                              the nodes of the cluster
//	order TOTAL [spec=large] [release=3,4] [check=5] [avoid=h1,h2]
//	answer [2@h1 …] [surplus=3@h2] [previous=4@h1] [done=4:EXIT] [lost=h1] [changed=h2,h3:MB] [resynced=yes] [left=MB]   to an allocate: containers by number
//	fail gone|invalid|label|blacklist|TEXT      of an allocate
//	confirmed [superseded|nothing|TEXT]              the answer to confirm
//	late NUMBER, late NUMBER@HOST               a start, a stop: its turn came too late
//	started|stopped|lost NUMBER, unstarted NUMBER TEXT, checked NUMBER [EXIT]
//	finish STATUS TEXT, finished
//	wait DURATION                               the core is woken at its alarms
//	pause DURATION                              the process is stopped: no alarms
type script struct {
	t     *testing.T
	now   time.Time
	alarm time.Time
	// workers are the last orders.
	workers []resourcemanager.WorkerOrder

	stepper actortest.Stepper[event, effect]
}

func (s *script) command(line string) []string {
	s.t.Helper()
	options := map[string]string{}
	var args []string
	for w := range strings.FieldsSeq(line) {
		if name, value, ok := strings.Cut(w, "="); ok {
			options[name] = value
		} else {
			args = append(args, w)
		}
	}
	switch args[0] {
	case "wait":
		return s.wait(args[1])
	case "config":
		s.configure(options)
		return nil
	case "pause":
		s.now = s.now.Add(s.duration(args[1]))
		return nil
	}
	e := s.event(args, options)
	if e == nil {
		s.t.Fatalf("unknown command %q", line)
	}
	return s.step(e)
}

func (s *script) event(args []string, options map[string]string) event {
	text := func(i int) string { return strings.Join(args[min(i, len(args)):], " ") }
	switch args[0] {
	case "registered":
		r := amrm.Registration{Queue: "root.default"}
		if maximum, ok := options["maximum"]; ok {
			r.Maximum = records.Resource{MemoryMB: int64(s.number(maximum)), VCores: 4}
		}
		r.PreviousContainers = s.containers(options["previous"])
		ago := time.Duration(0)
		if text, ok := options["sent"]; ok {
			ago = s.duration(text)
		}
		return registered{r, s.now.Add(-ago)}
	case "known":
		e := nodesKnown{}
		for _, host := range numbers(args[1]) {
			report := testNodes()[0]
			report.ID = nodeID(host)
			e.nodes = append(e.nodes, report)
		}
		return e
	case "confirmed":
		switch text(1) {
		case "":
			return confirmed{}
		case "superseded":
			return confirmed{fmt.Errorf("list: %w", ha.ErrSuperseded)}
		case "nothing":
			return confirmed{fmt.Errorf("list: %w", ha.ErrNothing)}
		}
		return confirmed{errors.New(text(1))}
	case "order":
		return ordered{s.orders(args, options)}
	case "answer":
		return allocated{response: s.response(args, options)}
	case "fail":
		switch args[1] {
		case "gone":
			return allocated{err: amrm.ErrAttemptGone}
		case "invalid":
			return allocated{err: yarnrpc.ErrInvalidResourceRequest}
		case "label":
			return allocated{err: &yarnrpc.RemoteError{Class: "org.apache.hadoop.yarn.exceptions.InvalidLabelResourceRequestException", Message: "no such label"}}
		case "blacklist":
			return allocated{err: yarnrpc.ErrInvalidBlacklistRequest}
		}
		return allocated{err: errors.New(text(1))}
	case "started":
		return containerStarted{id: s.id(args[1])}
	case "unstarted":
		return containerStarted{id: s.id(args[1]), err: errors.New(text(2))}
	case "lost":
		return containerStarted{id: s.id(args[1]), err: &yarnrpc.CallError{MaybeSent: true, Err: io.EOF}}
	case "late":
		if number, host, stop := strings.Cut(args[1], "@"); stop {
			return containerStopped{id: s.id(number), node: nodeID(host), late: true}
		}
		return containerStarted{id: s.id(args[1]), err: errLate}
	case "stopped":
		return containerStopped{id: s.id(args[1])}
	case "checked":
		e := containerChecked{id: s.id(args[1])}
		if len(args) > 2 {
			e.status = s.completion(args[1], args[2])
		}
		return e
	case "finish":
		return finishAsked{status: records.FinalApplicationStatus(args[1]), diagnostics: text(2)}
	case "finished":
		return finished{}
	}
	return nil
}

func (s *script) orders(args []string, options map[string]string) resourcemanager.Orders {
	spec := testSpec
	if options["spec"] == "large" {
		spec = largeSpec
	}
	at := slices.IndexFunc(s.workers, func(w resourcemanager.WorkerOrder) bool { return w.Spec == spec })
	if at < 0 {
		at = len(s.workers)
		s.workers = append(s.workers, workersOf(spec, 0)...)
	}
	s.workers[at].Total = s.number(args[1])
	o := resourcemanager.Orders{Workers: slices.Clone(s.workers)}
	for _, n := range numbers(options["release"]) {
		o.Release = append(o.Release, resourcemanager.Release{Worker: worker(s.id(n))})
	}
	o.Avoid = numbers(options["avoid"])
	for _, n := range numbers(options["check"]) {
		o.Check = append(o.Check, worker(s.id(n)))
	}
	return o
}

// workersOf orders a total of workers of one kind.
func workersOf(spec resourcemanager.WorkerResourceSpec, total int) []resourcemanager.WorkerOrder {
	return []resourcemanager.WorkerOrder{{Spec: spec, Total: total}}
}

func numbers(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' })
}

func (s *script) response(args []string, options map[string]string) amrm.Response {
	var r amrm.Response
	for _, word := range args[1:] {
		r.Allocated = append(r.Allocated, s.container(word))
	}
	r.Surplus = s.containers(options["surplus"])
	r.PreviousContainers = s.containers(options["previous"])
	for _, word := range numbers(options["done"]) {
		number, status, _ := strings.Cut(word, ":")
		r.Completed = append(r.Completed, s.completion(number, status))
	}
	for _, host := range numbers(options["lost"]) {
		r.UpdatedNodes = append(r.UpdatedNodes, records.NodeReport{ID: nodeID(host), State: records.NodeLost})
	}
	for _, word := range numbers(options["changed"]) {
		report := testNodes()[0]
		host, size, _ := strings.Cut(word, ":")
		report.ID = nodeID(host)
		if size != "" {
			report.Capability = records.Resource{MemoryMB: int64(s.number(size)), VCores: 4}
		}
		r.UpdatedNodes = append(r.UpdatedNodes, report)
	}
	r.Resynced = options["resynced"] != ""
	r.Headroom = records.Resource{MemoryMB: 1 << 20, VCores: 1 << 10} // without it, each request would find a full queue
	if left := options["left"]; left != "" {
		r.Headroom.MemoryMB = int64(s.number(left))
	}
	return r
}

// containers parses a list of containers.
func (s *script) containers(list string) (all []records.Container) {
	for _, word := range numbers(list) {
		all = append(all, s.container(word))
	}
	return all
}

// id parses the number of a container.
func (s *script) id(word string) records.ContainerID {
	if number, ok := strings.CutPrefix(word, "p"); ok {
		return previousID(s.number(number))
	}
	return containerID(s.number(word))
}

// configure makes another core.
func (s *script) configure(options map[string]string) {
	c := testConfig(launch.WorkerPlace{NodeLabel: options["label"]})
	c.KeepPrevious = options["keep"] != "no"
	core := newCore(c)
	if options["nodes"] != "later" {
		core.Step(testEpoch, nodesKnown{testNodes()})
	}
	s.stepper.Core = core
}

// container parses NUMBER@HOST, with :MB if the size is not that of small workers, and /PRIORITY if
// the priority is not 1.
func (s *script) container(word string) records.Container {
	word, priority, found := strings.Cut(word, "/")
	if !found {
		priority = "1"
	}
	word, size, found := strings.Cut(word, ":")
	if !found {
		size = strconv.Itoa(testSpec.MemoryMB)
	}
	number, host, _ := strings.Cut(word, "@")
	return records.Container{
		ID: s.id(number), Node: nodeID(host),
		Resource: records.Resource{MemoryMB: int64(s.number(size)), VCores: 1}, Priority: records.Priority(s.number(priority)),
	}
}

func (s *script) completion(number, status string) records.ContainerStatus {
	return records.ContainerStatus{
		ID: s.id(number), State: records.ContainerComplete,
		ExitStatus: records.ExitStatus(s.number(status)), Diagnostics: "N/A",
	}
}

func (s *script) number(word string) int {
	n, err := strconv.Atoi(word)
	if err != nil {
		s.t.Fatalf("number %q: %v", word, err)
	}
	return n
}

func (s *script) duration(word string) time.Duration {
	d, err := time.ParseDuration(word)
	if err != nil {
		s.t.Fatal(err)
	}
	return d
}

// wait lets time pass, and wakes the core at its alarms.
func (s *script) wait(duration string) []string {
	var lines []string
	end := s.now.Add(s.duration(duration))
	for !s.alarm.IsZero() && !s.alarm.After(end) {
		s.now = s.alarm
		s.stepper.Rang()
		for _, line := range s.step(woken{}) {
			lines = append(lines, fmt.Sprintf("%v: %s", s.now.Sub(testEpoch), line))
		}
	}
	s.now = end
	return lines
}

func (s *script) step(e event) []string {
	var lines []string
	for _, effect := range s.stepper.All(s.now, e) {
		lines = append(lines, describe(effect)...)
	}
	s.alarm = s.stepper.Core.Alarm()
	return lines
}

func describe(e any) []string {
	switch e := e.(type) {
	case allocate:
		return []string{describeAllocate(e)}
	case report:
		var lines []string
		for _, event := range e.events {
			lines = append(lines, describeReport(event))
		}
		return lines
	case startContainers:
		var lines []string
		for _, s := range e.starts {
			lines = append(lines, fmt.Sprintf("start %s on %s", number(s.container.ID), s.container.Node.Host))
		}
		return lines
	case stopContainer:
		return []string{fmt.Sprintf("stop %s on %s", number(e.id), e.node.Host)}
	case checkContainer:
		return []string{fmt.Sprintf("look at %s on %s", number(e.id), e.node.Host)}
	case confirm:
		return []string{"confirm"}
	case finish:
		return []string{fmt.Sprintf("finish %s: %s", e.status, e.diagnostics)}
	case reply:
		return []string{fmt.Sprintf("answer: %v", e.Content())}
	case tellLargest:
		return []string{"largest container " + e.resource.String()}
	case noteWaits:
		return []string{fmt.Sprintf("waited %v", e.waited)}
	case actortest.Wake:
		return []string{fmt.Sprintf("wake at %v", e.At.Sub(testEpoch))}
	case fail:
		return []string{fmt.Sprintf("fail: %v", e.err)}
	}
	return []string{fmt.Sprintf("unknown effect %T", e)}
}

func describeAllocate(a allocate) string {
	text := "allocate"
	for _, ask := range a.asks {
		text += fmt.Sprintf(" ask=%d of %v at priority %d", ask.Count, ask.Capability, ask.Key.Priority)
		for _, h := range ask.Hosts {
			text += fmt.Sprintf(" %s:%d", h.Host, h.Count)
		}
	}
	for _, host := range a.avoid {
		text += " avoid=" + host
	}
	for _, host := range a.dontAvoid {
		text += " nomore=" + host
	}
	for _, id := range a.release {
		text += " release=" + number(id)
	}
	return text
}

// number writes the id of a container as in transcripts.
func number(id records.ContainerID) string {
	if id.Attempt == previousID(0).Attempt {
		return fmt.Sprintf("p%d", id.ID)
	}
	return strconv.FormatInt(id.ID, 10)
}

func describeReport(e resourcemanager.WorkerEvent) string {
	number := func(id ids.ResourceID) string {
		container, err := records.ParseContainerID(string(id))
		if err != nil {
			return string(id)
		}
		return number(container)
	}
	switch e := e.(type) {
	case resourcemanager.PreviousWorkers:
		text := "report previous"
		for _, p := range e.Workers {
			text += fmt.Sprintf(" %s on %s", number(p.Worker), p.Host)
		}
		return text
	case resourcemanager.WorkerStarting:
		return fmt.Sprintf("report %s starting on %s", number(e.Worker), e.Host)
	case resourcemanager.WorkerFailed:
		return fmt.Sprintf("report %s failed: %s", number(e.Worker), e.Cause)
	case resourcemanager.WorkerCompleted:
		return fmt.Sprintf("report %s completed: %s", number(e.Worker), e.Cause)
	case resourcemanager.NodesChanged:
		return fmt.Sprintf("report nodes %v", e.Nodes)
	case resourcemanager.WorkersRefused:
		return "report refused: " + e.Reason
	case resourcemanager.RefusalEnded:
		return "report refusal ended"
	case resourcemanager.OrdersTaken:
		return "report taken"
	case resourcemanager.WorkerLaunched:
		return fmt.Sprintf("report %s launched", number(e.Worker))
	case resourcemanager.RoomChanged:
		switch room := e.Room; {
		case room.Reason == "":
			return "report nothing in the way"
		case !room.Silent.IsZero():
			return fmt.Sprintf("report %s since %s", room.Reason, room.Silent.Sub(testEpoch))
		default:
			return fmt.Sprintf("report %s in %s, left %s", room.Reason, room.Queue, room.Left)
		}
	}
	return fmt.Sprintf("unknown report %T", e)
}
