package inquiry

import (
	"context"
	"fmt"
	"io"
	"runtime/pprof"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/sched"
)

// processor shares the one profile of the processor that Go takes at a time. Make it with newProcessor. Any goroutine may
// use it.
type processor struct {
	turn chan struct{} // capacity 1: holds a token while a profile is taken

	mu    sync.Mutex // guards what follows
	until time.Time  // when the profile that has the turn ends
}

func newProcessor() *processor { return &processor{turn: make(chan struct{}, 1)} }

// profile takes a profile of this length, for a user who has asked for one. It waits for a flame graph that is being made,
// so it takes some seconds longer then.
func (p *processor) profile(ctx context.Context, to io.Writer, d time.Duration) error {
	if err := sched.Send(ctx, p.turn, struct{}{}); err != nil {
		return err
	}
	return p.during(ctx, to, d, func(ctx context.Context) error { return sched.Sleep(ctx, d) })
}

// look takes a profile while a function runs, which takes about this long. It does not wait: while another profile is taken,
// the error is msg.ErrProfiling, and the function does not run.
func (p *processor) look(ctx context.Context, to io.Writer, d time.Duration, f func(context.Context) error) error {
	select {
	case p.turn <- struct{}{}:
		return p.during(ctx, to, d, f)
	default:
		p.mu.Lock()
		defer p.mu.Unlock()
		return fmt.Errorf("%w until %s: Go takes one profile of the processor at a time", msg.ErrProfiling, p.until.UTC().Format(time.TimeOnly))
	}
}

// during takes the profile, and gives the turn back.
func (p *processor) during(ctx context.Context, to io.Writer, d time.Duration, f func(context.Context) error) error {
	defer func() { <-p.turn }()
	p.mu.Lock()
	p.until = sched.Now(ctx).Add(d)
	p.mu.Unlock()
	if err := pprof.StartCPUProfile(to); err != nil {
		return fmt.Errorf("%w by the user's code: %w", msg.ErrProfiling, err)
	}
	defer pprof.StopCPUProfile()
	return f(ctx)
}
