package output_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/memfs"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/output"
)

// process is an attempt that makes one file system call for each step of the test,
// and can die before or after any call. A process without steps for a while is a
// paused process that comes back late.
type process struct {
	waiting chan struct{} // it stands before a call, or has ended (closed)
	next    memfs.Call    // the call before which it stands
	command chan command
	dead    bool
	dying   bool
	err     error // how it ended; read once waiting is closed
}

type command int

const (
	proceed command = iota
	dieBefore
	dieAfter
)

var errDied = errors.New("process died")

// anyOrder is a file system that does the moves of RenameAll in another order.
type anyOrder struct {
	*memfs.FS
	shuffle func(n int, swap func(i, j int))
}

func (f anyOrder) RenameAll(ctx context.Context, moves []filesystem.Move) error {
	f.shuffle(len(moves), func(i, j int) { moves[i], moves[j] = moves[j], moves[i] })
	return f.FS.RenameAll(ctx, moves)
}

func start(f *memfs.FS, o output.Output, attempt string) *process {
	return startInOrder(f, o, attempt, func(int, func(i, j int)) {})
}

func startInOrder(f *memfs.FS, o output.Output, attempt string, shuffle func(n int, swap func(i, j int))) *process {
	p := &process{waiting: make(chan struct{}), command: make(chan command)}
	go func() { // ends with its attempt, which the test steps to its end
		defer close(p.waiting)
		p.err = try(context.Background(), anyOrder{f.View(p.fault), shuffle}, o, attempt)
	}()
	<-p.waiting
	return p
}

func (p *process) fault(c memfs.Call) error {
	if p.dead {
		return errDied
	}
	if !c.Done {
		p.next = c
		p.waiting <- struct{}{}
		switch <-p.command {
		case dieBefore:
			p.dead = true
			return errDied
		case dieAfter:
			p.dying = true
		case proceed:
		}
		return nil
	}
	if p.dying {
		p.dead = true
		return errDied
	}
	return nil
}

// step lets the process make its next call, and reports whether it has ended.
func (p *process) step(c command) (ended bool) {
	p.command <- c
	_, alive := <-p.waiting
	return !alive
}

// finish gives the process the same command at each call until it has ended.
func (p *process) finish(how command) {
	for !p.step(how) {
	}
}

// stopBefore lets the process run up to its n-th call of this kind.
func (p *process) stopBefore(t *testing.T, n int, op, uri string) {
	t.Helper()
	for {
		if p.next.Op == op && p.next.URI == uri {
			if n--; n == 0 {
				return
			}
		}
		if p.step(proceed) {
			t.Fatalf("it ends before %s of %s: %v", op, uri, p.err)
		}
	}
}

// checkVisible fails unless the output, if it has a _SUCCESS, holds one whole
// result: either the old one or that of a single attempt.
func checkVisible(f *memfs.FS, old map[string]string, fatalf func(string, ...any)) {
	visible := map[string]string{}
	for name, content := range f.Files() {
		if !strings.HasPrefix(name, "/out/_temporary/") && !strings.HasPrefix(name, "/out/_committing") {
			visible[name] = content
		}
	}
	signature, ok := visible["/out/_SUCCESS"]
	if !ok || signature == "" && maps.Equal(visible, old) {
		return
	}
	fields := strings.Fields(visible["/out/part-00000"])
	if len(fields) != 3 || signature != fields[0]+"\n" {
		fatalf("_SUCCESS holds %q, the output %v", signature, visible)
	}
	if diff := cmp.Diff(result(fields[0], fields[1]), visible); diff != "" {
		fatalf("not one whole result (-want +got):\n%s", diff)
	}
}

// Attempts of two jobs run one step at a time in any interleaving. They die before
// or after any call, or come back late. At each moment, an output with _SUCCESS must
// hold the complete result of one attempt. An undisturbed attempt must succeed.
// Catches any step that a late attempt can still make, and any state from which a
// commit cannot be repeated.
func TestNoInterleavingShowsAPartialResult(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	rapid.Check(t, func(t *rapid.T) {
		old := map[string]string{"/out/_SUCCESS": "", "/out/part-00000": "old", "/out/part-00009": "old"}
		mode := output.Replace
		jobs := []string{"j1", "j2"}
		if rapid.Bool().Draw(t, "new output") {
			old, mode, jobs = nil, output.Fail, jobs[:1]
		}
		f := memfs.New(old)
		var running []*process
		attempts := 0
		for range rapid.IntRange(0, 20).Draw(t, "bursts") {
			i := rapid.IntRange(-1, len(running)-1).Draw(t, "process")
			if i < 0 {
				attempts++
				o := output.Output{Dir: "mem:///out", Job: rapid.SampledFrom(jobs).Draw(t, "job"), Mode: mode}
				order := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "order of the moves"), 0))
				running = append(running, startInOrder(f, o, fmt.Sprint("a", attempts), order.Shuffle))
				i = len(running) - 1
			}
			how := rapid.SampledFrom([]command{proceed, proceed, proceed, proceed, proceed, dieBefore, dieAfter}).Draw(t, "how")
			ended := false
			for range rapid.IntRange(0, 30).Draw(t, "calls") {
				if ended = ended || running[i].step(proceed); ended {
					break
				}
				checkVisible(f, old, t.Fatalf)
			}
			if ended || how != proceed && running[i].step(how) {
				running = append(running[:i:i], running[i+1:]...)
			}
			checkVisible(f, old, t.Fatalf)
		}
		for _, p := range running {
			p.finish(dieBefore) // every later call fails too
		}
		job := rapid.SampledFrom(jobs).Draw(t, "last job")
		if err := try(ctx, f, output.Output{Dir: "mem:///out", Job: job, Mode: mode}, "last"); err != nil {
			t.Fatalf("an undisturbed attempt: %v", err)
		}
		checkVisible(f, old, t.Fatalf)
		if got := f.Files()["/out/_SUCCESS"]; got != job+"\n" {
			t.Fatalf("_SUCCESS of %q, want %s", got, job)
		}
	})
}

// A late try takes over the marker of another try. That try has removed the late try's files and is about to
// clear the output. The test would catch a try that moves the other try's marker away as if it were old
// content. The remaining parts would then look like another job's, and no later try could succeed.
func TestAMarkerThatWasTakenOverStays(t *testing.T) {
	t.Parallel()
	f := memfs.New(nil)
	o := output.Output{Dir: "mem:///out", Job: "job", Mode: output.Fail}
	late := start(f, o, "late")
	late.stopBefore(t, 2, "List", "mem:///out") // it has removed others' files
	first := start(f, o, "first")
	first.stopBefore(t, 3, "List", "mem:///out") // it has a marker
	late.finish(proceed)
	first.finish(proceed)
	if !errors.Is(first.err, output.ErrFenced) {
		t.Errorf("the one that has lost its marker ends with %v", first.err)
	}
	if err := try(t.Context(), f, o, "last"); err != nil {
		t.Errorf("an undisturbed attempt: %v", err)
	}
	checkVisible(f, nil, t.Fatalf)
}

// Each call of an attempt fails in turn, before or after its effect. The next attempt
// must repeat the commit. The number of calls proves that the test reaches all of
// them.
func TestTheCommitIsRepeatableAtEveryStep(t *testing.T) {
	t.Parallel()
	for _, how := range []command{dieBefore, dieAfter} {
		calls := 0
		for ended := false; !ended; calls++ {
			f := memfs.New(map[string]string{"/out/part-00000": "old"})
			o := output.Output{Dir: "mem:///out", Job: "job", Mode: output.Replace}
			p := start(f, o, "first")
			for range calls {
				ended = p.step(proceed) || ended
			}
			if !ended {
				p.step(how)
			}
			if err := try(t.Context(), f, o, "second"); err != nil {
				t.Fatalf("attempt after one that died at call %d: %v", calls, err)
			}
			checkVisible(f, nil, t.Fatalf)
			if _, ok := f.Files()["/out/_SUCCESS"]; !ok {
				t.Fatalf("no _SUCCESS after call %d", calls)
			}
			for name := range f.Files() {
				if strings.Contains(name, "_temporary") || strings.Contains(name, "_committing") {
					t.Errorf("%s is left after call %d", name, calls)
				}
			}
		}
		if calls < 20 {
			t.Errorf("the attempt made only %d calls", calls)
		}
	}
}
