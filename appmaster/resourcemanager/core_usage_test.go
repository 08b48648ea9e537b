package resourcemanager

import (
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// used is a worker's processor time, and the calls of its task host of job j1; 0 calls: it has no such host.
type used struct {
	connection actor.ConnectionID
	time       time.Duration
	calls      int64
}

// TestUsageNeverFalls would catch sums of counters that fall when a worker or a task host ends, and so make peaks of a rate; that
// begin again when a task host is replaced; that count a host twice which one report leaves out; and that jump when a worker of an
// earlier master returns, by all that it had used before.
func TestUsageNeverFalls(t *testing.T) {
	t.Parallel()
	s := &script{t: t, config: testConfig(), now: testEpoch}
	last := Status{}
	for _, line := range []struct {
		command    string
		report     used
		time       time.Duration
		calls      int64
		registered int // workers
	}{
		{command: "jobmaster j1 jm1"},
		{command: "declare j1 jm1 4"},
		{command: "previous w9"},
		{command: "starting w1"},
		{command: "register w1 1 - -", registered: 1},
		{report: used{1, 10, 5}, time: 10, calls: 5, registered: 1},
		{command: "starting w2", time: 10, calls: 5, registered: 1},
		{command: "register w2 2 - -", time: 10, calls: 5, registered: 2},
		{report: used{2, 7, 0}, time: 17, calls: 5, registered: 2},
		{report: used{2, 8, 3}, time: 18, calls: 8, registered: 2},
		{report: used{1, 12, 2}, time: 20, calls: 10, registered: 2}, // another host
		{report: used{1, 12, 0}, time: 20, calls: 10, registered: 2}, // without it
		{report: used{1, 13, 4}, time: 21, calls: 12, registered: 2}, // and with it again
		{command: "completed w1 lost", time: 21, calls: 12, registered: 1},
		{command: "register w9 3 - -", time: 21, calls: 12, registered: 2},
		{report: used{3, 1000, 1000}, time: 21, calls: 12, registered: 2},
		{report: used{3, 1003, 1004}, time: 24, calls: 16, registered: 2},
		{command: "completed w9 lost", time: 24, calls: 16, registered: 1},
		{command: "completed w2 lost", time: 24, calls: 16},
	} {
		if line.command != "" {
			s.command(line.command)
		} else {
			s.report(line.report)
		}
		got := s.status()
		if got.Used.CPUTime != line.time || got.UsedBy["j1"].Read.Calls != line.calls || len(got.TaskExecutors) != line.registered {
			t.Errorf("%s%+v: the workers have used %d, the hosts of j1 have called %d times, %d workers are registered; want %d, %d, %d",
				line.command, line.report, got.Used.CPUTime, got.UsedBy["j1"].Read.Calls, len(got.TaskExecutors), line.time, line.calls, line.registered)
		}
		if got.Used.CPUTime < last.Used.CPUTime || got.UsedBy["j1"].Read.Calls < last.UsedBy["j1"].Read.Calls {
			t.Errorf("%s%+v: a sum falls", line.command, line.report)
		}
		last = got
	}
	s.command("gone j1 jm1")
	if got := s.status(); len(got.UsedBy) > 0 {
		t.Errorf("after the end of the job: %+v", got.UsedBy)
	}
}

// report sends the metrics of a worker with two slots.
func (s *script) report(u used) {
	m := msg.WorkerMetrics{Process: msg.ProcessMetrics{CPUTime: u.time}}
	if u.calls > 0 {
		m.Hosts = []msg.HostMetrics{{Job: "j1", HDFS: &msg.HDFSMetrics{Read: msg.CallMetrics{Calls: u.calls}}}}
	}
	for id, w := range s.peers {
		if id == u.connection {
			said := msg.SlotReport{Slots: []msg.SlotStatus{{Index: 0}, {Index: 1}}, Metrics: &m}
			s.stepper.Core.Step(s.now, taskExecutorSaid{From: actor.Peer{Connection: id, Resource: w}, Message: said})
			return
		}
	}
	s.t.Fatalf("no worker has connection %d", u.connection)
}

func (s *script) status() Status {
	s.t.Helper()
	for _, e := range s.stepper.Core.Step(s.now, statusAsked{}) {
		if answer, is := e.(reply); is {
			return answer.Content().(Status)
		}
	}
	s.t.Fatal("no answer")
	return Status{}
}

// supply is what the core tells of its slots.
func (s *script) supply() msg.SlotSupply {
	s.t.Helper()
	for _, e := range s.stepper.Core.Step(s.now, supplyAsked{}) {
		if answer, is := e.(reply); is {
			return answer.Content().(msg.SlotSupply)
		}
	}
	s.t.Fatal("no answer")
	return msg.SlotSupply{}
}
