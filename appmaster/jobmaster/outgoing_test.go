package jobmaster

import (
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// TestABusyResourceManagerHearsTheLastWord would catch a job of thousands of regions that ends
// because its declarations find no room, requirements that are older than those that the
// ResourceManager has heard, and a last word that is lost.
func TestABusyResourceManagerHearsTheLastWord(t *testing.T) {
	t.Parallel()
	o := newOutgoing()
	o.put(msg.RegisterJobMaster{Job: "j1"})
	for slots := range 10_000 {
		o.put(msg.DeclareRequirements{Slots: 10_000 - slots})
	}
	if waiting := len(o.queue); waiting != 2 {
		t.Errorf("%d messages wait, want one of each kind", waiting)
	}
	o.close()
	var got []msg.Message
	for m, more := o.next(); more; m, more = o.next() {
		got = append(got, m)
	}
	want := []msg.Message{msg.RegisterJobMaster{Job: "j1"}, msg.DeclareRequirements{Slots: 1}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what the ResourceManager hears differs (-want +got):\n%s", diff)
	}

	o = newOutgoing()
	var taking sync.WaitGroup
	taking.Go(func() {
		last := 10_001
		for m, more := o.next(); more; m, more = o.next() {
			slots := m.(msg.DeclareRequirements).Slots
			if slots >= last {
				t.Errorf("%d slots are declared after %d", slots, last)
			}
			last = slots
		}
		if last != 0 {
			t.Errorf("the last word is %d slots, want 0", last)
		}
	})
	for slots := range 10_001 {
		o.put(msg.DeclareRequirements{Slots: 10_000 - slots})
	}
	o.close()
	taking.Wait()
}
