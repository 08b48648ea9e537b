package inquiry

import (
	"context"
	"errors"
	"io"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/flame"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// TestAFlameGraphIsShared would catch a sampling for each user who looks, two at the same time, a graph that is never made
// anew, a failure that is shown for a minute, and one that stops all further samplings.
func TestAFlameGraphIsShared(t *testing.T) {
	t.Parallel()
	var f flames
	now := time.Unix(1_700_000_000, 0)
	ask := func(mode msg.ProfileMode, wantWork bool) (string, error) {
		t.Helper()
		answer, work, err := f.answer(now, msg.ProfileRequest{Mode: mode, Duration: time.Minute})
		if (work != nil) != wantWork {
			t.Errorf("at %s, %s: work %t, want %t", now, mode, work != nil, wantWork)
		}
		return string(answer.Content), err
	}
	sample := func(one flameGraph) {
		f.make(t.Context(), func(context.Context, *processor, time.Duration) map[msg.ProfileMode]flameGraph {
			for _, mode := range []msg.ProfileMode{msg.FlameFull, msg.FlameOffCPU, msg.ProfileAlloc} {
				if content, err := ask(mode, false); content != "" || err != nil { // it is being made
					t.Errorf("%s: %q, %v", mode, content, err)
				}
			}
			now = now.Add(5 * time.Second)
			one.at = now
			return map[msg.ProfileMode]flameGraph{msg.FlameFull: one, msg.FlameOffCPU: one}
		})
	}
	if content, err := ask(msg.FlameFull, true); content != "" || err != nil {
		t.Errorf("before the first one: %q, %v", content, err)
	}
	sample(flameGraph{err: io.ErrClosedPipe})
	if _, err := ask(msg.FlameOffCPU, false); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("a failure: %v", err)
	}
	now = now.Add(2 * time.Second)
	if _, err := ask(msg.FlameFull, true); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("while it is tried again: %v", err)
	}
	f.last = nil
	sample(flameGraph{encoded: []byte("graph")})
	for range 2 {
		if content, err := ask(msg.FlameOffCPU, false); content != "graph" || err != nil {
			t.Errorf("the graph: %q, %v", content, err)
		}
		now = now.Add(59 * time.Second)
	}
	if content, err := ask(msg.FlameFull, true); content != "graph" || err != nil {
		t.Errorf("when it is old: %q, %v", content, err)
	}
	if _, _, err := f.answer(now, msg.ProfileRequest{Mode: "WALL"}); !errors.Is(err, msg.ErrBadInquiry) {
		t.Errorf("an unknown mode: %v", err)
	}
}

// graph decodes what has been made.
func graph(t *testing.T, one flameGraph) *flame.Node {
	t.Helper()
	if one.err != nil {
		t.Fatal(one.err)
	}
	got, err := flame.Decode(one.encoded)
	if err != nil {
		t.Fatal(err)
	}
	return &got.Graph.Root
}

// has reports whether a function is anywhere below a node.
func has(n *flame.Node, function string) bool {
	for _, c := range n.Children {
		if strings.HasSuffix(c.Name, function) || has(c, function) {
			return true
		}
	}
	return false
}

func waits(end <-chan struct{}) { <-end }

func computes(end <-chan struct{}) {
	for n := 0; ; n++ {
		if n%1000 == 0 {
			select {
			case <-end:
				return
			default:
			}
		}
	}
}

// run runs a function as a task.
func run(ctx context.Context, task string, code func(<-chan struct{})) (stop func()) {
	end, done := make(chan struct{}), make(chan struct{})
	go pprof.Do(ctx, pprof.Labels(TaskLabel, task), func(context.Context) { // ends with end
		defer close(done)
		code(end)
	})
	return func() {
		close(end)
		<-done
	}
}

// TestTasksAreSampled would catch a task that waits among those that run, one that runs among those that wait, and
// goroutines of no task. Somebody else's profile of the processor would hide where tasks wait.
func TestTasksAreSampled(t *testing.T) {
	defer run(t.Context(), "e1-v0-s0-a0", waits)()
	defer run(t.Context(), "e1-v0-s1-a0", computes)()
	for {
		made := ofTasks(t.Context(), newProcessor(), 100*time.Millisecond)
		full, off, on := graph(t, made[msg.FlameFull]), graph(t, made[msg.FlameOffCPU]), graph(t, made[msg.FlameOnCPU])
		if has(off, ".computes") || has(on, ".waits") {
			t.Fatalf("off: %s\non: %s", made[msg.FlameOffCPU].encoded, made[msg.FlameOnCPU].encoded)
		}
		if len(full.Children) > 2 {
			t.Fatalf("full: %s", made[msg.FlameFull].encoded)
		}
		if has(full, ".waits") && has(full, ".computes") && has(off, ".waits") && has(on, ".computes") {
			break // a busy machine needs some time
		}
	}
	if err := pprof.StartCPUProfile(io.Discard); err != nil {
		t.Fatal(err)
	}
	made := ofTasks(t.Context(), newProcessor(), time.Millisecond)
	pprof.StopCPUProfile()
	if !errors.Is(made[msg.FlameOnCPU].err, msg.ErrProfiling) || !has(graph(t, made[msg.FlameFull]), ".waits") {
		t.Errorf("beside a profile: %v, %s", made[msg.FlameOnCPU].err, made[msg.FlameFull].encoded)
	}
}

// TestSamplingEndsWithItsContext would catch a process that cannot end while somebody looks at it.
func TestSamplingEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(io.ErrClosedPipe)
	for mode, take := range map[msg.ProfileMode]maker{msg.FlameFull: ofTasks, msg.FlameOnCPU: ofTasks, msg.ProfileCPU: ofProcessor} {
		if one := take(ctx, newProcessor(), time.Hour)[mode]; !errors.Is(one.err, io.ErrClosedPipe) {
			t.Errorf("%s: %v", mode, one.err)
		}
	}
}

//go:noinline
func allocates() []byte { return make([]byte, 64<<20) }

// TestTheProcessIsShown would catch memory that is in use and is not shown, or not in bytes, and processor time of a
// goroutine without a task that is not shown.
func TestTheProcessIsShown(t *testing.T) {
	kept := allocates()
	heap := ofHeap(t.Context(), nil, 0)[msg.ProfileAlloc]
	if got := graph(t, heap); got.Value < 64<<20 || !has(got, "inquiry.allocates") {
		t.Errorf("heap: %s", heap.encoded)
	}
	end := make(chan struct{})
	done := make(chan struct{})
	go func() { // ends with end
		computes(end)
		close(done)
	}()
	for !has(graph(t, ofProcessor(t.Context(), newProcessor(), 100*time.Millisecond)[msg.ProfileCPU]), ".computes") { // a busy machine needs some time
		kept[0]++
	}
	close(end)
	<-done
}
