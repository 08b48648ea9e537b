package output_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/dataflow/internal/memfs"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/output"
)

// oldContent is what the output holds before.
var oldContent = map[string]string{"/out/_SUCCESS": "", "/out/part-00000": "precious 0", "/out/part-00009": "precious 9"} //nolint:gochecknoglobals // never changed

// schedule runs jobs in an interleaving that rapid draws, each below this number of masters at most.
func schedule(t *rapid.T, w *watch, masters int, jobs ...*job) {
	draw := func(what string, from int) int { return rapid.IntRange(0, from-1).Draw(t, what) }
	for range rapid.IntRange(0, 40).Draw(t, "bursts") {
		j := jobs[draw("job", len(jobs))]
		if len(j.masters) == 0 || len(j.masters) < masters && draw("next master", 8) == 0 {
			j.lead()
		}
		m := j.masters[draw("master", len(j.masters))] // old ones, too
		order := orderOf(rapid.Uint64().Draw(t, "order of the moves"))
		switch presumedDead := draw("presumed dead", 10) == 0; {
		case presumedDead && m.state == running:
			m.deploy(draw("part", parts), order)
		case presumedDead && m.state == committing:
			m.deployCommit(order)
		}
		alive := m.processes()
		if len(alive) == 0 {
			continue
		}
		p := alive[draw("process", len(alive))]
		for range draw("calls", 30) {
			p.step(proceed)
			w.check()
		}
		p.step(rapid.SampledFrom([]command{proceed, proceed, proceed, failBefore, failAfter}).Draw(t, "how"))
		w.check()
		m.advance(order)
		w.check()
	}
}

// Up to three masters run a job, their tasks and commits one step at a time in any interleaving. Calls fail, or have an
// effect without an answer; attempts and masters that were given up go on at any time. At each moment an output with
// _SUCCESS must hold one complete result, and no old content may be lost before. An undisturbed last master must bring the
// job to its end, and nothing that comes late may change the result, or another job's files.
func TestNoInterleavingOfMastersShowsAPartialResult(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		old, mode := oldContent, output.Replace
		if rapid.Bool().Draw(t, "new output") {
			old, mode = nil, output.Fail
		}
		f := memfs.New(old)
		j := &job{f: f, output: output.Output{Dir: "mem:///out", Job: "job", Mode: mode}, keeps: rapid.Bool().Draw(t, "keeps finished tasks")}
		w := &watch{f: f, old: old, jobs: []*job{j}, fatalf: t.Fatalf}
		defer kill(j)
		schedule(t, w, 3, j)
		m := j.lead()
		m.end(w)
		if j.lost {
			t.Fatalf("the job fails below the last master or an earlier one: %v", m.fault)
		}
		want := result("job", j.winners)
		if diff := cmp.Diff(want, visible(f)); diff != "" {
			t.Fatalf("the last master is done (-want +got):\n%s", diff)
		}
		f.Write("/out/_temporary/next/e1/x/part-00000", "theirs")
		j.rest(rapid.SampledFrom([]command{proceed, dieBefore, dieAfter, failBefore, failAfter}).Draw(t, "in the end"), w)
		if diff := cmp.Diff(want, visible(f)); diff != "" {
			t.Fatalf("late calls change the result (-want +got):\n%s", diff)
		}
		if err := m.output.Discard(t.Context(), f); err != nil { // of what a call that failed has left
			t.Fatal(err)
		}
		files := f.Files()
		if files["/out/_temporary/next/e1/x/part-00000"] != "theirs" {
			t.Fatal("the next job's files are gone")
		}
		for name := range files {
			if strings.Contains(name, "_temporary/job") || strings.Contains(name, "_committing") {
				t.Fatalf("%s is left", name)
			}
		}
	})
}

// Two jobs write one output at the same time, of which one may not replace anything: a mistake, but no reader may see a
// mixture of both, and no old content may be lost. A third job must still succeed.
func TestNoInterleavingOfJobsMixesThem(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var old map[string]string
		if rapid.Bool().Draw(t, "old content") {
			old = oldContent
		}
		f := memfs.New(old)
		jobs := make([]*job, 3)
		for i, mode := range []output.Mode{output.Replace, rapid.SampledFrom([]output.Mode{output.Fail, output.Replace}).Draw(t, "mode"), output.Replace} {
			jobs[i] = &job{f: f, output: output.Output{Dir: "mem:///out", Job: fmt.Sprint("job", i), Mode: mode}}
		}
		w := &watch{f: f, old: old, jobs: jobs, fatalf: t.Fatalf}
		defer kill(jobs...)
		schedule(t, w, 2, jobs[:2]...)
		third := jobs[2]
		third.lead().end(w)
		if diff := cmp.Diff(result("job2", third.winners), visible(f)); diff != "" {
			t.Fatalf("the third job is done (-want +got):\n%s", diff)
		}
		for _, j := range jobs {
			j.rest(proceed, w)
		}
	})
}

// A job of up to two masters fails or is cancelled at any time. Its attempts, masters and clean-ups continue in any
// interleaving. The old content must stay in the output or below _temporary, unless one complete result has replaced it.
func TestNoInterleavingOfACleanUpLosesTheOldContent(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := memfs.New(oldContent)
		j := &job{f: f, output: output.Output{Dir: "mem:///out", Job: "job", Mode: output.Replace}}
		w := &watch{f: f, old: oldContent, jobs: []*job{j}, fatalf: t.Fatalf}
		defer kill(j)
		schedule(t, w, 2, j)
		if len(j.masters) == 0 {
			j.lead()
		}
		m := last(j.masters)
		if m.state != over {
			m.fail(errors.New("cancelled"), asGiven)
		}
		schedule(t, w, 0, j)
		if j.result {
			return
		}
		err := m.output.Discard(t.Context(), f)
		if err != nil && !errors.Is(err, output.ErrCommitBegun) {
			t.Fatalf("an undisturbed clean-up: %v", err)
		}
		w.check()
		for name, content := range f.Files() {
			if err == nil && content != "" && strings.Contains(name, "_temporary") {
				t.Errorf("%s is left", name)
			}
		}
		j.rest(proceed, w)
	})
}
