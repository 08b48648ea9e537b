package slotmanager

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

const idleTimeout = 30 * time.Second

func sequence(prefix string) *ids.Sequence {
	s := ids.NewSequence(prefix)
	return &s
}

// The oldest job is served first, and a used worker before an idle one, so that idle workers can be
// released.
func TestGrantsPreferEarlierJobsAndWorkersInUse(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	m := New(Config{SlotsPerWorker: 2, IdleTimeout: idleTimeout}, sequence("a"))
	for _, id := range []ids.ResourceID{"w1", "w2"} {
		m.Expect(id)
		if err := m.Register(now, id, []msg.SlotStatus{{Index: 0}, {Index: 1}}); err != nil {
			t.Fatal(err)
		}
	}
	m.Declare("j1", 3, 0)
	grants := m.Reconcile(now).Grants
	m.Freed(now, grants[0].Slot, grants[0].Allocation) // w1 keeps one of its slots
	m.Freed(now, grants[2].Slot, grants[2].Allocation) // w2 is idle
	m.Declare("j1", 1, 0)
	m.Reconcile(now)
	m.Declare("j2", 1, 0)
	m.Declare("j1", 2, 0)

	var got []string
	for _, g := range m.Reconcile(now).Grants {
		got = append(got, fmt.Sprintf("%s gets %s", g.Job, g.Slot))
	}
	if diff := cmp.Diff([]string{"j1 gets w1_0", "j2 gets w2_0"}, got); diff != "" {
		t.Errorf("grants (-want +got):\n%s", diff)
	}
}

// A worker with partitions would be released, and all that its tasks have done would be lost. One without them would stay for ever,
// or no longer be there for the next job.
func TestWorkerThatServesDataIsReleasedAfterItsIdleTimeoutSinceThen(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	m := New(Config{SlotsPerWorker: 1, IdleTimeout: idleTimeout}, sequence("a"))
	if err := m.Register(now, "w1", []msg.SlotStatus{{Index: 0}}); err != nil {
		t.Fatal(err)
	}
	m.Serves(now, "w1", true)
	m.Reconcile(now)
	now = now.Add(10 * idleTimeout)
	if released := m.Reconcile(now).Release; len(released) != 0 {
		t.Fatalf("released while it serves data: %v", released)
	}
	m.Serves(now, "w1", false)
	m.Reconcile(now)
	due, ok := m.Next()
	if want := now.Add(idleTimeout); !ok || !due.Equal(want) {
		t.Fatalf("next reconciliation is at %v, %v instead of %v", due, ok, want)
	}
	if released := m.Reconcile(due).Release; len(released) != 1 {
		t.Errorf("not released: %v", released)
	}
}

// A worker that becomes idle long after it came, when no other is idle, is released in time.
func TestWorkerIsReleasedAfterItsIdleTimeoutAndNotBefore(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	m := New(Config{SlotsPerWorker: 1, IdleTimeout: idleTimeout}, sequence("a"))
	m.Declare("j1", 1, 0)
	if err := m.Register(now, "w1", []msg.SlotStatus{{Index: 0}}); err != nil {
		t.Fatal(err)
	}
	grant := m.Reconcile(now).Grants[0]
	m.Declare("j1", 0, 0)
	now = now.Add(time.Hour)
	m.Reconcile(now)
	m.Freed(now, grant.Slot, grant.Allocation)
	m.Reconcile(now)

	due, ok := m.Next()
	if want := now.Add(idleTimeout); !ok || !due.Equal(want) {
		t.Fatalf("next reconciliation is at %v, %v instead of %v", due, ok, want)
	}
	if released := m.Reconcile(due.Add(-1)).Release; len(released) != 0 {
		t.Errorf("released too soon: %v", released)
	}
	if released := m.Reconcile(due).Release; len(released) != 1 || released[0].Worker != "w1" {
		t.Errorf("released in time: %v", released)
	}
}

// A spare stays after its time-out. That must not hide that another worker, which the only job has set
// aside and which is no spare for it, becomes due later.
func TestUselessWorkerIsReleasedInTimeWhileASpareStays(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	m := New(Config{SlotsPerWorker: 1, Redundant: 1, IdleTimeout: idleTimeout, Blocklist: aside{"j1": "w1"}}, sequence("a"))
	for _, id := range []ids.ResourceID{"w1", "w2", "spare"} {
		if err := m.Register(now, id, []msg.SlotStatus{{Index: 0}}); err != nil {
			t.Fatal(err)
		}
	}
	m.Declare("j1", 1, 0)
	m.Declare("j2", 1, 0)
	grants := m.Reconcile(now).Grants // w2 serves j1, and w1 serves j2
	now = now.Add(idleTimeout)
	if released := m.Reconcile(now).Release; len(released) != 0 {
		t.Fatalf("released while all are used or spares: %v", released)
	}
	m.Declare("j2", 0, 0)
	m.Freed(now, grants[1].Slot, grants[1].Allocation)
	m.Reconcile(now)

	due, ok := m.Next()
	if want := now.Add(idleTimeout); !ok || !due.Equal(want) {
		t.Fatalf("next reconciliation is at %v, %v instead of %v", due, ok, want)
	}
	if released := m.Reconcile(due).Release; len(released) != 1 || released[0].Worker != "w1" {
		t.Errorf("released in time: %v", released)
	}
	if due, ok := m.Next(); ok {
		t.Errorf("next reconciliation is at %v, though only facts can release the spare", due)
	}
}

// aside is a Blocklist: each job has set one worker aside.
type aside map[ids.JobID]ids.ResourceID

func (a aside) Blocks(job ids.JobID, worker ids.ResourceID) bool { return a[job] == worker }
func (a aside) Exhausted(ids.JobID) bool                         { return false }
func (a aside) Empty() bool                                      { return len(a) == 0 }

// The time per fact must not grow with the square of the cluster.
func BenchmarkTenThousandWorkersComeAndGo(b *testing.B) {
	for b.Loop() {
		now := time.Unix(1_000_000, 0)
		const workers = 10_000
		m := New(Config{SlotsPerWorker: 2, IdleTimeout: idleTimeout}, sequence("a"))
		m.Declare("j1", 2*workers, 0)
		var grants []Grant
		for i := range workers {
			id := ids.ResourceID(fmt.Sprintf("w%d", i))
			m.Expect(id)
			m.Reconcile(now)
		}
		for i := range workers {
			id := ids.ResourceID(fmt.Sprintf("w%d", i))
			if err := m.Register(now, id, []msg.SlotStatus{{Index: 0}, {Index: 1}}); err != nil {
				b.Fatal(err)
			}
			grants = append(grants, m.Reconcile(now).Grants...)
		}
		for _, g := range grants {
			m.Answered(now, g.Slot, g.Allocation, "")
			m.Reconcile(now)
		}
		m.Declare("j1", 0, 0)
		for _, g := range grants {
			m.Freed(now, g.Slot, g.Allocation)
			m.Reconcile(now)
		}
		if n := len(m.Reconcile(now.Add(idleTimeout)).Release); n != workers {
			b.Fatalf("%d workers released", n)
		}
	}
}

// The time to grant must not grow with the workers that have free slots: a job asks for 40,000 slots
// of 10,000 idle workers one after the other, and each is granted by a Reconcile of its own.
func BenchmarkTenThousandIdleWorkersServe(b *testing.B) {
	for _, spread := range []bool{false, true} {
		b.Run(fmt.Sprintf("spread=%v", spread), func(b *testing.B) {
			for b.Loop() {
				now := time.Unix(1_000_000, 0)
				const workers = 10_000
				m := New(Config{SlotsPerWorker: 4, Least: workers, Redundant: 1, Spread: spread, IdleTimeout: idleTimeout}, sequence("a"))
				for i := range workers {
					id := ids.ResourceID(fmt.Sprintf("w%d", i))
					if err := m.Register(now, id, []msg.SlotStatus{{Index: 0}, {Index: 1}, {Index: 2}, {Index: 3}}); err != nil {
						b.Fatal(err)
					}
				}
				m.Reconcile(now)
				now = now.Add(time.Hour) // the floor keeps all
				granted := 0
				for slots := range 4 * workers {
					m.Declare("j1", slots+1, 0)
					for _, g := range m.Reconcile(now).Grants {
						m.Answered(now, g.Slot, g.Allocation, "")
						granted++
					}
				}
				if granted != 4*workers {
					b.Fatalf("%d slots granted", granted)
				}
			}
		})
	}
}
