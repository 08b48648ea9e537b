package heartbeat_test

import (
	"cmp"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/internal/heartbeat"
)

var start = time.Unix(1700000000, 0)

func TestSilentPeersExpireOnce(t *testing.T) {
	t.Parallel()
	m := heartbeat.NewMonitor[string](50 * time.Second)
	if _, pending := m.Next(); pending {
		t.Error("a monitor of nobody has a deadline")
	}
	m.Seen("a", start)
	m.Seen("b", start)
	m.Seen("c", start.Add(time.Second))
	m.Seen("a", start.Add(20*time.Second))
	m.Forget("c")
	if next, _ := m.Next(); !next.Equal(start.Add(50 * time.Second)) {
		t.Errorf("next deadline is %s", next)
	}
	if got := m.Expired(start.Add(50*time.Second - 1)); len(got) != 0 {
		t.Errorf("expired before the deadline: %v", got)
	}
	if diff := gocmp.Diff([]string{"b"}, m.Expired(start.Add(50*time.Second))); diff != "" {
		t.Errorf("expired at the deadline (-want +got):\n%s", diff)
	}
	if diff := gocmp.Diff([]string{"a"}, m.Expired(start.Add(time.Hour))); diff != "" {
		t.Errorf("expired later (-want +got):\n%s", diff)
	}
	if got := m.Expired(start.Add(2 * time.Hour)); len(got) != 0 {
		t.Errorf("expired again: %v", got)
	}
}

// TestMonitorAgreesWithAList compares with the obvious implementation: a heap
// with a wrong index forgets the wrong peer.
func TestMonitorAgreesWithAList(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const timeout = 10 * time.Second
		m := heartbeat.NewMonitor[int](timeout)
		type peer struct {
			seen  time.Time
			order int
		}
		model := make(map[int]peer)
		now := start
		for step := range rapid.IntRange(1, 100).Draw(t, "steps") {
			id := rapid.IntRange(0, 9).Draw(t, "peer")
			switch rapid.SampledFrom([]string{"seen", "seen", "late", "forget", "expire"}).Draw(t, "call") {
			case "seen":
				m.Seen(id, now)
				if old, known := model[id]; !known || now.After(old.seen) {
					model[id] = peer{now, step}
				}
			case "late":
				m.Seen(id, now.Add(-time.Second))
				if old, known := model[id]; !known || now.Add(-time.Second).After(old.seen) {
					model[id] = peer{now.Add(-time.Second), step}
				}
			case "forget":
				m.Forget(id)
				delete(model, id)
			case "expire":
				now = now.Add(time.Duration(rapid.IntRange(0, 6).Draw(t, "seconds")) * time.Second)
				var want []int
				for id, p := range model {
					if !p.seen.Add(timeout).After(now) {
						want = append(want, id)
					}
				}
				slices.SortFunc(want, func(a, b int) int {
					return cmp.Or(model[a].seen.Compare(model[b].seen), cmp.Compare(model[a].order, model[b].order))
				})
				for _, id := range want {
					delete(model, id)
				}
				if diff := gocmp.Diff(want, m.Expired(now)); diff != "" {
					t.Fatalf("expired differ (-want +got):\n%s", diff)
				}
			}
			var want time.Time
			for _, p := range model {
				if want.IsZero() || p.seen.Add(timeout).Before(want) {
					want = p.seen.Add(timeout)
				}
			}
			if next, pending := m.Next(); pending != (len(model) > 0) || !next.Equal(want) {
				t.Fatalf("next is %s, want %s", next, want)
			}
			if seen, known := m.LastSeen(id); known != (model[id] != peer{}) || !seen.Equal(model[id].seen) {
				t.Fatalf("peer %d seen at %s, want %s", id, seen, model[id].seen)
			}
		}
	})
}
