package clusters

import (
	"context"
	"errors"
	"testing"
)

// The test would catch two tests that change one cluster at the same time, a test that waits although the twin of its
// cluster is free, and one that gets the cluster of another kind.
func TestATestThatChangesAClusterTakesItsTwinIfItIsFree(t *testing.T) {
	r := folder(t.TempDir())
	for _, step := range []struct{ asked, want Kind }{{Victim, Victim}, {Victim, OtherVictim}, {Pair, Pair}} {
		got, unlock, err := r.free(t.Context(), step.asked)
		if err != nil || got != step.want {
			t.Fatalf("a test that asks for %s gets %s, %v; want %s", step.asked, got, err, step.want)
		}
		defer unlock()
	}
	over := errors.New("over")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(over)
	for _, asked := range []Kind{Victim, Pair} {
		if got, _, err := r.free(ctx, asked); !errors.Is(err, over) {
			t.Errorf("while others have all of them, a test that asks for %s gets %s, %v", asked, got, err)
		}
	}
}
