package cluster

import (
	"testing"
	"time"
)

// It would catch two ResourceManagers that do not share their state, or an elector
// that never looks again.
func TestTheOtherResourceManagerTakesOver(t *testing.T) {
	c := ForTest(t, Config{HA: true, NodeManagers: 1})
	first, err := c.ActiveRM(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := c.Kill(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	var second string
	if err := poll(t.Context(), "another resourcemanager to be active", func() (err error) {
		second, err = c.ActiveRM(t.Context())
		return err
	}); err != nil {
		t.Fatal(err)
	}
	t.Logf("%s took over from %s after %v", second, first, time.Since(began).Round(time.Millisecond))
	if err := c.Restart(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	if now, err := c.ActiveRM(t.Context()); err != nil || now != second || second == first {
		t.Errorf("after the restart of %s, %s (%v) is active, want %s", first, now, err, second)
	}
}
