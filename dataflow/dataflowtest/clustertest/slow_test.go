package clustertest

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bobbin-yarn/bobbin/client/minicluster"
	"github.com/bobbin-yarn/bobbin/dataflow/operator"
)

// second is the second subtask of some operator.
type second struct{ operator.Subtask }

func (second) Index() int { return 1 }

// TestOnlyTheSlowTaskIsDelayed would catch a delay of another subtask or operator, or of elements before the fault
// begins, and a cancelled task that waits for the end of a delay.
func TestOnlyTheSlowTaskIsDelayed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := &armed{Fault: SlowTask("words", time.Minute).Subtask(1).After(1)}
		other := &armed{Fault: SlowTask("words", time.Hour).Subtask(0)}
		s := subtask{second{}, program{new(minicluster.Worker), faults{slow, other}}}
		ctx, cancel := context.WithCancelCause(t.Context())
		words, lines := s.Observe(ctx, "words"), s.Observe(ctx, "lines")
		begin := time.Now()
		for i, want := range []time.Duration{0, time.Minute, 2 * time.Minute} {
			if err := errors.Join(words(), lines()); err != nil {
				t.Fatal(err)
			}
			if got := time.Since(begin); got != want {
				t.Errorf("element %d is processed after %s, want %s", i, got, want)
			}
		}
		if missed := (faults{slow, other}).missed(); len(missed) != 1 || !errors.Is(missed[0], ErrNotReached) {
			t.Errorf("missed faults: %v, want the other", missed)
		}
		why := errors.New("cancelled")
		time.AfterFunc(time.Second, func() { cancel(why) })
		if err := words(); !errors.Is(err, why) || time.Since(begin) != 2*time.Minute+time.Second {
			t.Errorf("a cancelled task ends with %v after %s", err, time.Since(begin))
		}
	})
}
