package actor_test

import (
	"testing"

	"github.com/bobbin-yarn/bobbin/internal/actor"
)

// TestAWaitingItemIsTakenIn would catch an Outbox that loses what an older item says, or that joins
// items of different names.
func TestAWaitingItemIsTakenIn(t *testing.T) {
	t.Parallel()
	o := actor.NewOutbox[string](0, nil)
	o.Join(func(older, newer string) string { return older + newer })
	for _, item := range []struct{ text, name string }{{"a", "x"}, {"b", "y"}, {"c", "x"}, {"d", ""}, {"e", "x"}} {
		o.Put(item.text, item.name)
	}
	for _, want := range []string{"b", "d", "ace"} {
		if got, some := o.Next(); !some || got != want {
			t.Errorf("next is %q (%t), want %q", got, some, want)
		}
	}
	o.Put("f", "x")
	if got, _ := o.Next(); got != "f" {
		t.Errorf("next is %q, want f: an item that was taken does not wait", got)
	}
}
