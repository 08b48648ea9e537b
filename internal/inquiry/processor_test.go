package inquiry

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/flame"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// TestAProfileWaitsForAFlameGraph would catch a profile that fails because somebody looks at a flame graph. Beside a CPU profile,
// Go's virtual time stands still, so this test takes real ones.
func TestAProfileWaitsForAFlameGraph(t *testing.T) {
	p := newProcessor()
	taken := make(chan error, 1)
	err := p.look(t.Context(), io.Discard, 0, func(ctx context.Context) error {
		go func() { taken <- p.profile(ctx, io.Discard, 0) }()
		for !bytes.Contains(goroutines(msg.MaxGoroutines), []byte("sched.Send[")) { // it waits
			if len(taken) > 0 {
				return errors.New("the profile has not waited")
			}
		}
		return nil
	})
	if err := errors.Join(err, <-taken); err != nil {
		t.Error(err)
	}
}

// TestAFlameGraphDoesNotWaitForAProfile would catch one that waits for a minute, one that does not say when to look again, one
// that shows nothing of tasks because of it, and a profile that keeps the turn after its end.
func TestAFlameGraphDoesNotWaitForAProfile(t *testing.T) {
	p := newProcessor()
	ctx, end := context.WithCancelCause(t.Context())
	taken := make(chan error, 1)
	before := time.Now()
	go func() { taken <- p.profile(ctx, io.Discard, time.Hour) }() // ends with ctx
	p.wait(t)
	one := ofProcessor(t.Context(), p, time.Hour)[msg.ProfileCPU]
	after := time.Now()
	p.mu.Lock()
	until := p.until
	p.mu.Unlock()
	if until.Before(before.Add(time.Hour)) || until.After(after.Add(time.Hour)) {
		t.Errorf("a profile of an hour that began after %s ends at %s", before, until)
	}
	if !errors.Is(one.err, msg.ErrProfiling) || !strings.Contains(one.err.Error(), until.UTC().Format(time.TimeOnly)) {
		t.Errorf("beside a profile that ends at %s: %v", until, one.err)
	}
	if made := ofTasks(t.Context(), p, 0); made[msg.FlameFull].err != nil || !errors.Is(made[msg.FlameOnCPU].err, msg.ErrProfiling) {
		t.Errorf("of tasks: %v, on the processor: %v", made[msg.FlameFull].err, made[msg.FlameOnCPU].err)
	}
	end(io.ErrClosedPipe)
	if err := <-taken; !errors.Is(err, io.ErrClosedPipe) {
		t.Error(err)
	}
	if one := ofProcessor(t.Context(), p, 0)[msg.ProfileCPU]; one.err != nil {
		t.Errorf("after the profile: %v", one.err)
	}
}

// wait waits until a profile has begun.
func (p *processor) wait(t *testing.T) {
	t.Helper()
	for begun := false; !begun; {
		p.mu.Lock()
		begun = !p.until.IsZero()
		p.mu.Unlock()
	}
}

// TestAFlameGraphKeepsItsTime would catch a process with so many goroutines that a look takes a second, after which a sampling of
// five seconds sleeps for twenty.
func TestAFlameGraphKeepsItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if pause := pauseAfter(time.Second, 4*time.Second); pause != 4*time.Second {
			t.Errorf("after a look of a second, %s", pause)
		}
		start := time.Now()
		if err := sampleGoroutines(t.Context(), flameTime, new(flame.Graph), new(flame.Graph)); err != nil || time.Since(start) != flameTime {
			t.Errorf("the looks took %s: %v", time.Since(start), err)
		}
	})
}

// TestTheUsersProfileIsNamed would catch an error that does not say who takes the profile, and a turn that is not given back.
func TestTheUsersProfileIsNamed(t *testing.T) {
	p := newProcessor()
	for range 2 {
		err := p.profile(t.Context(), io.Discard, 0)
		if err != nil {
			t.Fatal(err)
		}
	}
	err := p.look(t.Context(), io.Discard, 0, func(ctx context.Context) error {
		return newProcessor().profile(ctx, io.Discard, 0) // code that does not know the first
	})
	if !errors.Is(err, msg.ErrProfiling) || !strings.Contains(err.Error(), "user's code") {
		t.Error(err)
	}
}
