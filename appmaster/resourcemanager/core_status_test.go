package resourcemanager

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/msg/codec"
)

// TestStatusHasTheLastMetricsOfWorkers would catch metrics that a heartbeat without any removes, those of an honest worker
// that a liar replaces by nonsense, ids of jobs that a worker has made up, and the memory of the host of an ended job that is missing
// in the container.
func TestStatusHasTheLastMetricsOfWorkers(t *testing.T) {
	s := &script{t: t, config: testConfig(), now: testEpoch}
	for _, line := range []string{"jobmaster j1 jm1", "declare j1 jm1 1", "starting w1", "register w1 1 - -"} {
		s.command(line)
	}
	report := func(m *msg.WorkerMetrics) *msg.WorkerMetrics {
		from := actor.Peer{Connection: 1, Resource: "w1"}
		reported := msg.SlotReport{Slots: []msg.SlotStatus{{Index: 0}, {Index: 1}}, Metrics: m}
		effects := s.stepper.Core.Step(s.now, taskExecutorSaid{From: from, Message: reported})
		noted := slices.ContainsFunc(effects, func(e effect) bool { _, is := e.(dropped); return is })
		if lies := m != nil && m.Check(len(reported.Slots)) != nil; noted != lies {
			t.Errorf("metrics %+v: noted for the log: %t", m, noted)
		}
		return s.status().TaskExecutors[0].Metrics
	}
	if got := report(nil); got != nil {
		t.Errorf("before any came: %+v", got)
	}
	sent := &msg.WorkerMetrics{Process: msg.ProcessMetrics{Threads: 3}, Hosts: []msg.HostMetrics{{Job: "made-up", Resident: 7, Share: 1}, {Job: "j1", Resident: 5}}}
	want := &msg.WorkerMetrics{Process: msg.ProcessMetrics{Threads: 3}, Hosts: []msg.HostMetrics{{Job: "j1", Resident: 5}, {Resident: 7, Share: 1}}}
	for name, next := range map[string]*msg.WorkerMetrics{
		"the first ones": sent, "none": nil, "nonsense": {Process: msg.ProcessMetrics{Threads: -1}}, "too many hosts": {Hosts: make([]msg.HostMetrics, 9)},
	} {
		report(sent)
		if diff := cmp.Diff(want, report(next)); diff != "" {
			t.Errorf("after %s (-want +got):\n%s", name, diff)
		}
	}
}

// TestNoTextOfAUserBreaksAConnection would catch a name in a URL, such as %FF, with which a user who may only view makes a
// worker refuse the message, and end its connection.
func TestNoTextOfAUserBreaksAConnection(t *testing.T) {
	s := &script{t: t, config: testConfig(), now: testEpoch}
	for _, line := range []string{"jobmaster j1 jm1", "declare j1 jm1 1", "starting w1", "register w1 1 - -"} {
		s.command(line)
	}
	for _, text := range []string{"\xff", "taskmanager.log\xc3", strings.Repeat("a", 1<<16), "plain", "ü"} {
		for _, q := range []inquiryAsked{
			{Worker: "w1", Host: ids.HostID(text), Inquiry: msg.Inquiry{Topic: msg.AboutGoroutines}},
			{Worker: "w1", Inquiry: msg.Inquiry{Topic: msg.AboutLog, File: text}},
			{Worker: "w1", Inquiry: msg.Inquiry{Topic: msg.AboutNewProfile, Profile: msg.ProfileRequest{Mode: msg.ProfileMode(text)}}},
		} {
			sent, refused := false, false
			for _, e := range s.stepper.Core.Step(s.now, q) {
				switch e := e.(type) {
				case sendTaskExecutor:
					sent = true
					s.stepper.Core.Step(s.now, taskExecutorSaid{From: actor.Peer{Connection: 1, Resource: "w1"}, Message: msg.Inquired{Number: e.Message.(msg.Inquire).Number}})
					data, err := codec.Encode(e.Message)
					if _, unread := codec.Decode(data, msg.ResourceManagerToTaskExecutor); err != nil || unread != nil || len(data) > 2<<10 {
						t.Errorf("a question with %.20q has %d bytes: %v, %v", text, len(data), err, unread)
					}
				case reply:
					refused = errors.Is(e.Content().(inquiryResult).Err, msg.ErrBadInquiry)
				}
			}
			if honest := utf8.ValidString(text) && len(text) < 1<<10; sent != honest || refused == honest {
				t.Errorf("a question with %.20q: sent %v, refused %v", text, sent, refused)
			}
		}
	}
}

// TestStatusTellsWhatJobsWaitFor would catch a status that shows slots of another job to a user,
// and a waiting time that starts again with each status.
func TestStatusTellsWhatJobsWaitFor(t *testing.T) {
	s := &script{t: t, config: testConfig(), now: testEpoch}
	run := func(lines ...string) {
		for _, line := range lines {
			s.command(line)
		}
	}
	run("jobmaster j1 jm1", "declare j1 jm1 2", "wait 1s", "jobmaster j2 jm2", "declare j2 jm2 3", "wait 1s")
	at := testEpoch.Add
	want := Status{
		Worker: testConfig().Worker, Requested: 3, RequestedSince: at(0),
		Jobs: []msg.SlotDemand{{Job: "j1", Needed: 2, Since: at(0)}, {Job: "j2", Needed: 3, Since: at(time.Second)}},
	}
	ignored := cmp.Options{cmpopts.IgnoreFields(Status{}, "TaskExecutors", "Kinds", "Begin", "UsedBy"), cmpopts.IgnoreFields(msg.SlotDemand{}, "Lacks")}
	if diff := cmp.Diff(want, s.status(), ignored); diff != "" {
		t.Errorf("before any worker (-want +got):\n%s", diff)
	}
	run("starting w1", "register w1 1 - -", "wait 1s")
	want.Requested = 2
	want.Jobs[0] = msg.SlotDemand{Job: "j1", Needed: 2, Held: 2}
	if diff := cmp.Diff(want, s.status(), ignored); diff != "" {
		t.Errorf("with one worker (-want +got):\n%s", diff)
	}
	run("starting w2", "failed w2 disk full")
	if s := s.status(); s.StartsFailed != (StartFailures{NotStarted: 1}) || s.StartsFailedPerSecond != 0 {
		t.Errorf("with one failed start: %v, %v per second", s.StartsFailed, s.StartsFailedPerSecond)
	}
	run("wait 6s")
	if s := s.status(); s.StartsFailedPerSecond != 1./60 {
		t.Errorf("six seconds after a failed start: %v per second", s.StartsFailedPerSecond)
	}
	want.StartsFailed[NotStarted], want.StartsFailedPerSecond = 1, 1./60
	run("gone j2 jm2", "wait 1s")
	want.Requested, want.RequestedSince, want.Jobs = 0, time.Time{}, want.Jobs[:1]
	if diff := cmp.Diff(want, s.status(), ignored); diff != "" {
		t.Errorf("without the second job (-want +got):\n%s", diff)
	}
}

// TestStatusTellsWhyWorkersDoNotCome would catch a reason that outlives what it was about, that of another size of workers,
// failures that count although a worker has registered since, and a limit that is told before it is reached.
func TestStatusTellsWhyWorkersDoNotCome(t *testing.T) {
	config := testConfig()
	config.Ceiling.Slots, config.MaxStartFailures = 6, 1 // three workers
	s := &script{t: t, config: config, now: testEpoch}
	supply := func(lines ...string) (msg.WorkerSupply, msg.SlotDemand) {
		t.Helper()
		for _, line := range lines {
			s.command(line)
		}
		for _, e := range s.stepper.Core.Step(s.now, statusAsked{}) {
			if answer, is := e.(reply); is {
				status := answer.Content().(Status)
				return status.Kinds[0], status.Jobs[0]
			}
		}
		t.Fatal("no answer")
		return msg.WorkerSupply{}, msg.SlotDemand{}
	}
	full := msg.Room{Reason: msg.QueueFull, Queue: "root.default"}
	tell := func(spec WorkerResourceSpec) {
		s.stepper.Core.Step(s.now, workersReported{[]WorkerEvent{RoomChanged{Spec: spec, Room: full}}})
	}
	supply("jobmaster j1 jm1", "declare j1 jm1 6")
	tell(config.Worker)
	tell(WorkerResourceSpec{MemoryMB: 1}) // never ordered
	got, job := supply("wait 1s")
	if got.Room != full || got.Requested != 3 || !got.Since.Equal(testEpoch) || got.Limit != "" || len(job.Lacks) != 1 {
		t.Errorf("in a full queue: %+v, %+v", got, job)
	}
	got, _ = supply("starting w1", "failed w1 disk full", "starting w2", "failed w2 no such user", "wait 1s")
	if f := got.Failures; !f.Since.Equal(testEpoch.Add(time.Second)) || f.Cause != "could not be started: no such user" || !f.Until.After(s.now) {
		t.Errorf("after two failed starts: %+v", f)
	}
	got, _ = supply("wait 1m", "starting w3", "register w3 1 - -", "starting w4", "register w4 2 - -", "starting w5")
	if got.Failures != (msg.StartFailures{}) || got.Starting != 1 || got.Limit == "" {
		t.Errorf("with all workers that may come: %+v", got)
	}
	if got, job = supply("register w5 3 - -"); len(job.Lacks) != 0 || got.Requested != 0 || !got.Since.IsZero() || got.Room != (msg.Room{}) {
		t.Errorf("with all slots: %+v, %+v", got, job)
	}
}

// TestStatusTellsHowTheFirstWorkersCame would catch times that later workers, or a worker that registers again, replace, a
// list that grows with the cluster, and a worker that seems to start although it has ended.
func TestStatusTellsHowTheFirstWorkersCame(t *testing.T) {
	s := &script{t: t, config: testConfig(), now: testEpoch}
	begin := func(lines ...string) Begin {
		t.Helper()
		for _, line := range lines {
			s.command(line)
		}
		for _, e := range s.stepper.Core.Step(s.now, statusAsked{}) {
			if answer, is := e.(reply); is {
				return answer.Content().(Status).Begin
			}
		}
		t.Fatal("no answer")
		return Begin{}
	}
	launched := func(w ids.ResourceID) {
		s.stepper.Core.Step(s.now, workersReported{[]WorkerEvent{WorkerLaunched{Worker: w}}})
	}
	begin("wait 1s", "jobmaster j1 jm1", "declare j1 jm1 40", "wait 1s", "starting w1", "starting w2", "wait 1s")
	launched("w1")
	begin("wait 1s", "register w1 1 - -", "completed w2 disk full", "wait 1s")
	launched("w2") // it has ended
	first := begin("register w1 2 - -")
	at := func(seconds int) time.Time { return testEpoch.Add(time.Duration(seconds) * time.Second) }
	size := msg.ContainerSize{MemoryMB: testConfig().Worker.MemoryMB, VCores: testConfig().Worker.VCores}
	want := Begin{Asked: at(1), Workers: []WorkerBegin{
		{Worker: "w1", Host: "host-w1", Size: size, Granted: at(2), Launched: at(3), Registered: at(4)},
		{Worker: "w2", Host: "host-w2", Size: size, Granted: at(2), Ended: at(4), Cause: "disk full"},
	}}
	if diff := cmp.Diff(want, first); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var many []string
	for i := range 12 {
		many = append(many, fmt.Sprintf("starting x%d", i))
	}
	if got := begin(many...); len(got.Workers) != NotedWorkers || got.More != 14-NotedWorkers || !got.Asked.Equal(at(1)) {
		t.Errorf("after 14 workers: %+v", got)
	}
}

// TestTheReturnOfWorkersIsTold would catch a master that seems to do nothing while it awaits the workers of an earlier one, and a
// wait that seems to last for ever.
func TestTheReturnOfWorkersIsTold(t *testing.T) {
	s := &script{t: t, config: testConfig(), now: testEpoch}
	for _, step := range []struct {
		line        string
		from, until time.Duration // since testEpoch; below 0: not yet
	}{
		{"attempt 2", -1, -1},
		{"previous p1", -1, -1},
		{"wait 1s", -1, -1},
		{"lead", 1 * time.Second, -1},
		{"wait 1s", 1 * time.Second, -1},
		{"register p1 1 - -", 1 * time.Second, 2 * time.Second},
		{"wait 5s", 1 * time.Second, 2 * time.Second},
	} {
		s.command(step.line)
		if s.stepper.Core == nil {
			continue
		}
		for _, e := range s.stepper.Core.Step(s.now, statusAsked{}) {
			answer, is := e.(reply)
			if !is {
				continue
			}
			want := Begin{}
			if step.from >= 0 {
				want.ReturnFrom = testEpoch.Add(step.from)
			}
			if step.until >= 0 {
				want.ReturnUntil = testEpoch.Add(step.until)
			}
			if got := answer.Content().(Status).Begin; !cmp.Equal(want, got) {
				t.Errorf("after %q: %s", step.line, cmp.Diff(want, got))
			}
		}
	}
}

// TestTheFirstContainerOfAJobIsRemembered would catch the container of another job, a later one in place of the first, one
// that is forgotten when the job ends, and memory that grows with each job.
func TestTheFirstContainerOfAJobIsRemembered(t *testing.T) {
	s := &script{t: t, config: testConfig(), now: testEpoch}
	check := func(job ids.JobID, want time.Duration, lines ...string) {
		t.Helper()
		for _, line := range lines {
			s.command(line)
		}
		for _, e := range s.stepper.Core.Step(s.now, grantAsked{Job: job}) {
			if answer, is := e.(reply); is {
				if got := answer.Content().(time.Time); want == 0 && !got.IsZero() || want > 0 && !got.Equal(testEpoch.Add(want)) {
					t.Errorf("the first container of %s came at %v, want %s", job, got, want)
				}
			}
		}
	}
	check("j1", 0, "wait 1s", "jobmaster j1 jm1", "declare j1 jm1 4")
	check("j1", 2*time.Second, "wait 1s", "starting w1", "wait 1s", "starting w2")
	check("j2", 0, "wait 1s", "register w1 1 - -", "register w2 2 - -", "jobmaster j2 jm2", "declare j2 jm2 1")
	check("j1", 2*time.Second, "gone j1 jm1", "wait 1s", "starting w3")
	check("j2", 5*time.Second)
	g := newGrants()
	for i := range 2 * notedGrants {
		g.add(testEpoch, []ids.JobID{ids.JobID(strconv.Itoa(i))})
	}
	if len(g.at) != notedGrants || len(g.order) != notedGrants || g.at[ids.JobID(strconv.Itoa(2*notedGrants-1))].IsZero() {
		t.Errorf("%d jobs are remembered, %d in order", len(g.at), len(g.order))
	}
}

// TestTheSupplyIsThatOfTheStatus would catch a supply that counts workers which are not registered, or which forgets what the
// status tells.
func TestTheSupplyIsThatOfTheStatus(t *testing.T) {
	s := &script{t: t, config: testConfig(), now: testEpoch}
	for _, line := range []string{"jobmaster j1 jm1", "declare j1 jm1 7", "starting w1", "register w1 1 - -", "starting w2", "register w2 2 - -", "starting w3", "wait 1s"} {
		s.command(line)
	}
	got, want := s.supply(), s.status()
	if got.Total != 4 || got.Free != 0 || got.Starting != 1 || got.Requested != want.Requested || got.PerWorker != want.Worker.Slots {
		t.Errorf("supply %+v, of status %+v", got, want)
	}
	if diff := cmp.Diff(want.Jobs, got.Jobs); diff != "" || len(want.Jobs) != 1 {
		t.Error(diff)
	}
	if diff := cmp.Diff(want.Kinds, got.Kinds); diff != "" || len(want.Kinds) != 1 {
		t.Error(diff)
	}
}
