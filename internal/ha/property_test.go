package ha_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/integration/sim/dfsmodel"
	"github.com/bobbin-yarn/bobbin/internal/ha"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// naive is what any backend does, in a few lines.
type naive struct {
	epoch     ids.Epoch
	outcome   *ha.Outcome
	removed   bool
	stopped   bool
	authority string
	jobs      map[ids.JobID]*naiveJob
	results   map[ids.JobID]msg.JobStatus
}

type naiveJob struct {
	text      string
	cancelled bool
	commits   map[int]string
	committed bool
}

// action is a call of an attempt.
type action struct {
	Epoch  ids.Epoch
	Kind   string
	Job    ids.JobID
	Number int
	Status msg.JobStatus
}

func drawAction(t *rapid.T) action {
	return action{
		Epoch: ids.Epoch(rapid.IntRange(1, 4).Draw(t, "epoch")),
		Kind: rapid.SampledFrom([]string{
			"lead", "confirm", "authority", "add", "add", "cancel", "commit", "finish commit", "remove job", "result", "remove result", "publish", "stop", "end", "remove",
		}).Draw(t, "kind"),
		Job:    rapid.SampledFrom([]ids.JobID{jobA, jobB}).Draw(t, "job"),
		Number: rapid.IntRange(0, 1).Draw(t, "number"),
		Status: rapid.SampledFrom([]msg.JobStatus{msg.JobFinished, msg.JobFailed, msg.JobCanceled}).Draw(t, "status"),
	}
}

// do makes the call.
func (a action) do(ctx context.Context, e ha.Election, s ha.Store) (ha.Store, *ha.Outcome, error) {
	text := fmt.Sprint(a.Number)
	switch a.Kind {
	case "lead":
		term, err := e.Lead(ctx)
		return term.Store, term.Outcome, err
	case "confirm":
		err := e.Confirm(ctx)
		for class(err) == "other" { // it is not known
			err = e.Confirm(ctx)
		}
		return s, nil, err
	case "authority":
		return s, nil, s.SetAuthority(ctx, []byte(text))
	case "add":
		return s, nil, s.AddJob(ctx, a.Job, job(text))
	case "cancel":
		return s, nil, s.Cancel(ctx, a.Job)
	case "commit":
		return s, nil, s.AddCommit(ctx, a.Job, 0, []byte(text))
	case "finish commit":
		return s, nil, s.FinishCommit(ctx, a.Job, 0)
	case "remove job":
		return s, nil, s.RemoveJob(ctx, a.Job)
	case "result":
		return s, nil, s.AddResult(ctx, a.Job, a.Status, []byte(a.Status))
	case "remove result":
		return s, nil, s.RemoveResult(ctx, a.Job)
	case "publish":
		return s, nil, s.Publish(ctx, "host:"+fmt.Sprint(a.Number+1), nil)
	case "stop":
		return s, nil, s.Stop(ctx)
	case "end":
		return s, nil, s.End(ctx, ha.Outcome{Status: msg.ApplicationSucceeded, Diagnostics: text})
	default:
		return s, nil, s.Remove(ctx)
	}
}

// step returns the class of the error, and the outcome that a new leader finds.
func (m *naive) step(a action) (class string, outcome *ha.Outcome) {
	switch {
	case m.removed && a.Kind == "remove":
		return "", nil
	case m.removed:
		return "nothing", nil
	case m.epoch > a.Epoch:
		return "superseded", nil
	case a.Kind == "lead":
		m.epoch = a.Epoch
		return "", m.outcome
	case a.Kind == "confirm":
		return "", nil
	case a.Kind == "remove":
		m.removed = true
		return "", nil
	case m.outcome != nil && a.Kind == "end":
		return "", nil
	case m.outcome != nil:
		return "ended", nil
	}
	text, j := fmt.Sprint(a.Number), m.jobs[a.Job]
	switch a.Kind {
	case "authority":
		if m.authority != "" && m.authority != text {
			return "exist", nil
		}
		m.authority = text
	case "add":
		if j == nil {
			m.jobs[a.Job] = &naiveJob{text: text, commits: map[int]string{}}
		}
	case "cancel":
		if j == nil {
			return "not exist", nil
		}
		j.cancelled = true
	case "commit":
		if j == nil {
			return "not exist", nil
		}
		if old, there := j.commits[0]; there && old != text {
			return "exist", nil
		}
		j.commits[0] = text
	case "finish commit":
		if j == nil {
			return "not exist", nil
		}
		j.committed = true
	case "remove job":
		delete(m.jobs, a.Job)
	case "result":
		if m.results[a.Job] == "" {
			m.results[a.Job] = a.Status
		}
	case "remove result":
		delete(m.results, a.Job)
	case "stop":
		m.stopped = true
	case "end":
		m.outcome = &ha.Outcome{Status: msg.ApplicationSucceeded, Diagnostics: text}
	}
	return "", nil
}

// content is what a Store must tell.
func (m *naive) content() content {
	c := content{Authority: m.authority, Stopped: m.stopped, Graphs: map[ids.JobID]string{}, Commits: map[ids.JobID]map[int]string{}, Bodies: map[ids.JobID]string{}}
	for _, id := range slices.Sorted(maps.Keys(m.jobs)) {
		j := m.jobs[id]
		c.Jobs = append(c.Jobs, ha.JobEntry{ID: id, Cancelled: j.cancelled, Committed: len(j.commits) > 0 || j.committed})
		c.Graphs[id] = j.text + " by " + j.text
		if len(j.commits) > 0 {
			c.Commits[id] = maps.Clone(j.commits)
			if j.committed {
				c.Commits[id][0] += ", finished"
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(m.results)) {
		c.Results = append(c.Results, ha.ResultEntry{ID: id, Status: m.results[id]})
		c.Bodies[id] = string(m.results[id])
	}
	return c
}

// compare makes the calls, and compares each with the naive model, and in the end what is stored.
func compare(ctx context.Context, errorf func(string, ...any), election func(ids.Epoch) ha.Election, actions []action) {
	m := &naive{jobs: map[ids.JobID]*naiveJob{}, results: map[ids.JobID]msg.JobStatus{}}
	stores := map[ids.Epoch]ha.Store{}
	for i, a := range append(actions, action{Epoch: 5, Kind: "lead"}) {
		if stores[a.Epoch] == nil && a.Kind != "confirm" {
			a.Kind = "lead" // the first call of an attempt
		}
		s, outcome, err := a.do(ctx, election(a.Epoch), stores[a.Epoch])
		if err == nil {
			stores[a.Epoch] = s
		}
		want, wantOutcome := m.step(a)
		if class(err) != want || !cmp.Equal(outcome, wantOutcome) {
			errorf("call %d, %+v: %v, %v, want %q, %v", i, a, outcome, err, want, wantOutcome)
			return
		}
	}
	if m.removed || m.outcome != nil {
		return
	}
	found, err := read(ctx, stores[5])
	if diff := cmp.Diff(m.content(), found); err != nil || diff != "" {
		errorf("what is stored (-want +got):\n%s\nerror %v", diff, err)
	}
}

// Attempts take turns at random, also those that were replaced, and calls to HDFS are lost or late. The test would catch a
// backend that does anything else than the model.
func TestABackendIsLikeTheModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		actions := rapid.SliceOfN(rapid.Custom(drawAction), 1, 40).Draw(r, "actions")
		m := ha.NewMemory()
		compare(t.Context(), func(format string, args ...any) { r.Fatalf("memory: "+format, args...) }, m.Election, actions)

		every := rapid.SampledFrom([]int{0, 3, 10}).Draw(r, "one call of so many fails")
		w := newWorld(t, uint64(rapid.IntRange(0, 1<<16).Draw(r, "seed")))
		defer w.Close()
		w.delays, w.lateBy = rapid.Bool().Draw(r, "delays"), 1130*time.Millisecond
		w.fate = func(int, string, dfsmodel.Operation) fate {
			if every == 0 || w.random.IntN(every) > 0 {
				return answered
			}
			return []fate{lost, unheard, late}[w.random.IntN(3)]
		}
		var fault string
		w.process("all", func(ctx context.Context, files *dfsmodel.FileSystem) {
			compare(ctx, func(format string, args ...any) { fault = fmt.Sprintf(format, args...) }, func(epoch ids.Epoch) ha.Election { return attempt(files, home, epoch) }, actions)
		})
		w.run(t)
		if fault != "" {
			r.Fatalf("HDFS: %s", fault)
		}
	})
}
