package userdriver

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// TestASessionRunsSoManyPrograms would catch programs that together take the ApplicationMaster's memory,
// and an error that does not say why a program waits.
func TestASessionRunsSoManyPrograms(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := NewPrograms(New(Config{}, nil, quiet()), nil, "", 4)
		var taken []*place
		for range 4 {
			at, err := p.places.enter(t.Context(), msg.Program{Name: "endless"})
			if err != nil {
				t.Fatal(err)
			}
			taken = append(taken, at)
		}
		if list := p.places.list(); len(list) != 4 || list[0].Program.Name != "endless" {
			t.Errorf("listed are %+v", list)
		}
		if err := p.End(t.Context(), taken[0].details.ID); !errors.Is(err, msg.ErrNotReady) {
			t.Errorf("a program that is being started: %v", err)
		}
		for name, ask := range map[string]func(context.Context) error{
			"plan": func(ctx context.Context) error { _, err := p.Plan(ctx, Run{}); return err },
			"run":  func(ctx context.Context) error { _, err := p.Run(ctx, Run{}); return err },
		} {
			began := time.Now()
			err := ask(t.Context())
			waited := time.Since(began)
			if !errors.Is(err, msg.ErrNotReady) || !strings.Contains(err.Error(), "4 programs run") || !strings.Contains(err.Error(), "/v1/drivers") || waited != placeTime {
				t.Errorf("%s: got %v after %v", name, err, waited)
			}
		}
		for _, at := range taken {
			at.leave()
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		gone := errors.New("gone")
		time.AfterFunc(time.Second, func() { cancel(gone) })
		if _, err := p.Run(ctx, Run{}); !errors.Is(err, gone) { // nobody runs it
			t.Errorf("run: got %v", err)
		}
		if !p.places.free.TryAcquire(4) || len(p.places.list()) > 0 {
			t.Error("a place is lost")
		}
	})
}
