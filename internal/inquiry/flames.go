package inquiry

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"runtime"
	"runtime/pprof"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/flame"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/sched"
)

const (
	// TaskLabel is the label of pprof that names the task of a goroutine.
	TaskLabel = "task"
	// flameTime is how long a process is looked at, and flamePause the time between two looks at its goroutines. Flink
	// takes 100 samples, 50 ms apart.
	flameTime  = 5 * time.Second
	flamePause = 50 * time.Millisecond
	// flameShare bounds the cost of the looks: after each one, at least this many times its length passes, or the rest of
	// flameTime. Each look stops the process for a moment.
	flameShare = 20
	// flameRetry is the least time between two graphs, also if users ask for new ones, or one has failed.
	flameRetry = 2 * time.Second
)

// flames makes flame graphs of the process, one at a time. All who ask share the last one.
type flames struct {
	processor *processor

	mu     sync.Mutex // guards what follows
	making bool
	last   map[msg.ProfileMode]flameGraph // one of each mode at most
}

// flameGraph is what one sampling has shown.
type flameGraph struct {
	encoded []byte
	err     error // instead
	at      time.Time
}

// maker looks at the process for a time, and makes graphs, all at the same time. It returns soon after ctx has ended.
type maker func(context.Context, *processor, time.Duration) map[msg.ProfileMode]flameGraph

// makers are what makes the graphs of each mode.
var makers = map[msg.ProfileMode]maker{ //nolint:gochecknoglobals // a constant table
	msg.FlameFull: ofTasks, msg.FlameOffCPU: ofTasks, msg.FlameOnCPU: ofTasks,
	msg.ProfileCPU: ofProcessor, msg.ProfileAlloc: ofHeap,
}

// answer answers with the last graph of a mode. If it is too old, or there is none, work makes the next one.
func (f *flames) answer(now time.Time, r msg.ProfileRequest) (msg.InquiryAnswer, func(context.Context), error) {
	take := makers[r.Mode]
	if take == nil {
		return msg.InquiryAnswer{}, nil, fmt.Errorf("%w: flame graphs of mode %.20q do not exist here", msg.ErrBadInquiry, string(r.Mode))
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	last, is := f.last[r.Mode]
	var work func(context.Context)
	age := max(r.Duration, flameRetry)
	if last.err != nil {
		age = flameRetry
	}
	if !f.making && (!is || now.Sub(last.at) >= age) {
		f.making = true
		work = func(ctx context.Context) { f.make(ctx, take) }
	}
	return msg.InquiryAnswer{Content: last.encoded}, work, last.err
}

// make makes graphs, and keeps them for those who ask.
func (f *flames) make(ctx context.Context, take maker) {
	made := take(ctx, f.processor, flameTime)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.making = false
	if f.last == nil {
		f.last = make(map[msg.ProfileMode]flameGraph)
	}
	maps.Copy(f.last, made)
}

// folded encodes a graph, or notes why there is none.
func folded(ctx context.Context, g *flame.Graph, err error) flameGraph {
	now := sched.Now(ctx)
	if err != nil {
		return flameGraph{err: fmt.Errorf("make flame graph: %w", err), at: now}
	}
	return flameGraph{encoded: (&flame.Sampled{Graph: *g, End: now}).Encode(msg.MaxFlames), at: now}
}

// ofProcessor shows where the process spends processor time.
func ofProcessor(ctx context.Context, p *processor, d time.Duration) map[msg.ProfileMode]flameGraph {
	var g flame.Graph
	err := sampleProcessor(ctx, p, d, &g, "", func(ctx context.Context) error { return sched.Sleep(ctx, d) })
	return map[msg.ProfileMode]flameGraph{msg.ProfileCPU: folded(ctx, &g, err)}
}

// sampleProcessor adds where processor time goes while a function runs, which takes about this long, in ms.
func sampleProcessor(ctx context.Context, p *processor, d time.Duration, to *flame.Graph, label string, during func(context.Context) error) error {
	var profile bytes.Buffer
	if err := p.look(ctx, &profile, d, during); err != nil {
		return err
	}
	return to.AddProfile(profile.Bytes(), flame.Selection{Type: "cpu", Scale: int64(time.Millisecond), Label: label})
}

// ofHeap shows who has allocated the memory that is in use.
func ofHeap(ctx context.Context, _ *processor, _ time.Duration) map[msg.ProfileMode]flameGraph {
	var profile bytes.Buffer
	var g flame.Graph
	runtime.GC() // a profile has what the last collection has left
	err := pprof.Lookup("heap").WriteTo(&profile, 0)
	if err == nil {
		err = g.AddProfile(profile.Bytes(), flame.Selection{Type: "inuse_space"})
	}
	return map[msg.ProfileMode]flameGraph{msg.ProfileAlloc: folded(ctx, &g, err)}
}

// ofTasks shows what tasks do. A profile of the processor shows where they run, and looks at their goroutines, meanwhile,
// where they are and wait. If somebody else takes a profile of the processor, the looks alone remain.
func ofTasks(ctx context.Context, p *processor, d time.Duration) map[msg.ProfileMode]flameGraph {
	var on, full, off flame.Graph
	var err error
	looked := false
	look := func(ctx context.Context) error {
		looked = true
		err = sampleGoroutines(ctx, d, &full, &off)
		return err
	}
	noProfile := sampleProcessor(ctx, p, d, &on, TaskLabel, look)
	if !looked {
		_ = look(ctx) // keeps its error
	}
	return map[msg.ProfileMode]flameGraph{
		msg.FlameOnCPU: folded(ctx, &on, noProfile), msg.FlameFull: folded(ctx, &full, err), msg.FlameOffCPU: folded(ctx, &off, err),
	}
}

// sampleGoroutines adds where the goroutines of tasks are, all of them and those that wait, in samples.
func sampleGoroutines(ctx context.Context, d time.Duration, full, off *flame.Graph) error {
	for end := sched.Now(ctx).Add(d); sched.Now(ctx).Before(end); {
		begin := sched.Now(ctx)
		var profile bytes.Buffer
		if err := pprof.Lookup("goroutine").WriteTo(&profile, 0); err != nil {
			return err
		}
		all := flame.Selection{Type: "goroutine", Label: TaskLabel}
		waiting := all
		waiting.Leaf = flame.Parked
		for g, selection := range map[*flame.Graph]flame.Selection{full: all, off: waiting} {
			if err := g.AddProfile(profile.Bytes(), selection); err != nil {
				return err
			}
			g.Shrink(2 * flame.MaxNodes) // stacks of later samples may be others
		}
		now := sched.Now(ctx)
		if err := sched.Sleep(ctx, pauseAfter(now.Sub(begin), end.Sub(now))); err != nil {
			return err
		}
	}
	return nil
}

// pauseAfter is the time from a look that has taken this long to the next one, or to the end.
func pauseAfter(look, rest time.Duration) time.Duration {
	return min(max(flamePause, flameShare*look), max(rest, 0))
}
