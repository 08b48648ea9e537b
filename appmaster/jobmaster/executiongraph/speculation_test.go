package executiongraph

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// attemptsModel is what a person would note of the attempts of single tasks.
type attemptsModel struct {
	g       *Graph
	live    map[ids.ExecutionAttemptID]ids.HostID // of those that are deployed and have not ended
	current map[[2]int]ids.ExecutionAttemptID
	used    map[ids.ExecutionAttemptID]bool
	kept    map[[2]int][]int // numbers of the earlier attempts
}

// TestAttemptsBesideTheCurrentOne would catch an attempt that is lost with a host in which it does not run, or outlives its host; one
// that is counted as a second task; a number that comes twice; an attempt that users do not see any more; and a job that counts as ended
// while attempts run.
func TestAttemptsBesideTheCurrentOne(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := attemptsModel{
			g: New(job([]int{2, 1}), 1, 64), live: make(map[ids.ExecutionAttemptID]ids.HostID),
			current: make(map[[2]int]ids.ExecutionAttemptID), used: make(map[ids.ExecutionAttemptID]bool), kept: make(map[[2]int][]int),
		}
		for e := range m.g.All() {
			m.begin(t, e)
		}
		for range rapid.IntRange(1, 50).Draw(t, "steps") {
			m.step(t)
			m.check(t)
		}
	})
}

func (m *attemptsModel) begin(t *rapid.T, e *Execution) {
	if m.used[e.ID] {
		t.Fatalf("%s comes twice", e.ID)
	}
	m.used[e.ID], m.current[[2]int{e.ID.Vertex, e.ID.Subtask}] = true, e.ID
}

func (m *attemptsModel) host(t *rapid.T) ids.HostID {
	return rapid.SampledFrom([]ids.HostID{"h1", "h2", "h3"}).Draw(t, "host")
}

// step does something with one task.
func (m *attemptsModel) step(t *rapid.T) {
	e := &m.g.executions[rapid.IntRange(0, m.g.Total()-1).Draw(t, "task")]
	task := [2]int{e.ID.Vertex, e.ID.Subtask}
	beside := m.g.Beside(e)
	switch action := rapid.SampledFrom([]string{"go on", "another", "change places", "end another", "cancel"}).Draw(t, "action"); {
	case e.State == msg.ExecutionCreated:
		m.g.mustTransition(e, msg.ExecutionScheduled, now)
	case e.State == msg.ExecutionScheduled:
		host := m.host(t)
		m.g.Deploy(e, Place{Resource: "w", Host: host}, now)
		m.live[e.ID] = host
	case action == "another" && !e.State.Final():
		host := m.host(t)
		another := m.g.Speculate(e, Place{Resource: "w", Host: host}, now)
		if m.used[another.ID] || another == e {
			t.Fatalf("%s comes twice", another.ID)
		}
		m.used[another.ID], m.live[another.ID] = true, host
	case action == "change places" && len(beside) > 0 && !e.State.Final():
		other := rapid.SampledFrom(beside).Draw(t, "other")
		was, becomes := e.ID, other.ID
		if current := m.g.Promote(other, now); current != e || current.ID != becomes || other.ID != was || !other.IsBeside() || current.IsBeside() {
			t.Fatalf("%s is current in place of %s: the current one is %s, beside it is %s", becomes, was, current.ID, other.ID)
		}
		m.current[task] = becomes
	case action == "end another" && len(beside) > 0:
		other := rapid.SampledFrom(beside).Draw(t, "other")
		delete(m.live, other.ID)
		m.kept[task] = append(m.kept[task], other.ID.Attempt)
		to := msg.ExecutionFailed
		if other.State == msg.ExecutionCanceling {
			to = msg.ExecutionCanceled
		}
		m.g.mustTransition(other, to, now)
	case action == "cancel" && len(beside) > 0:
		m.g.Cancel(beside[0], now)
	case e.State.Final():
		m.kept[task] = append(m.kept[task], e.ID.Attempt)
		m.g.Restart(e, now)
		m.begin(t, e)
	case action == "go on":
		if m.g.mustTransition(e, next(e.State)[0], now); e.State.Final() {
			delete(m.live, e.ID)
		}
	}
}

func (m *attemptsModel) check(t *rapid.T) {
	for _, host := range []ids.HostID{"h1", "h2", "h3"} {
		var want []ids.ExecutionAttemptID
		canceling := 0
		for _, id := range slices.SortedFunc(maps.Keys(m.live), ids.ExecutionAttemptID.Compare) {
			if m.live[id] != host {
				continue
			}
			want = append(want, id)
			if e, err := m.g.Find(id); err != nil || e.ID != id || e.Host != host {
				t.Fatalf("%s in %s: found %+v, %v", id, host, e, err)
			} else if e.State == msg.ExecutionCanceling {
				canceling++
			}
		}
		if got := m.g.In(host); !slices.Equal(got, want) || m.g.Canceling(host) != canceling {
			t.Fatalf("in %s run %v, and %d are cancelled; want %v and %d", host, got, m.g.Canceling(host), want, canceling)
		}
	}
	counts, ended := make(map[msg.ExecutionState]int), len(m.live) == 0
	for e := range m.g.All() {
		task := [2]int{e.ID.Vertex, e.ID.Subtask}
		counts[e.State]++
		ended = ended && e.State.Final()
		var seen []int
		for _, a := range m.g.Subtask(e, now, 1).Earlier {
			seen = append(seen, a.Number)
		}
		want := slices.Clone(m.kept[task])
		for id := range m.live {
			if id != e.ID && id.Vertex == e.ID.Vertex && id.Subtask == e.ID.Subtask {
				want = append(want, id.Attempt)
			}
		}
		slices.Sort(seen)
		slices.Sort(want)
		if e.ID != m.current[task] || !slices.Equal(seen, want) || m.g.Others(e) != len(want) {
			t.Fatalf("the current attempt is %s, beside and before it were %v; want %s and %v", e.ID, seen, m.current[task], want)
		}
	}
	got := m.g.Counts(0)
	for state, n := range m.g.Counts(1) {
		got[state] += n
	}
	if !maps.Equal(got, counts) || m.g.Ended() != ended {
		t.Fatalf("counts are %v and ended is %t, want %v and %t", got, m.g.Ended(), counts, ended)
	}
}
