package jobmaster

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// TestABusyResourceManagerHearsTheLastWord would catch a job of thousands of regions whose
// declarations pile up while the ResourceManager is busy, requirements that are older than those
// that it has heard, and a last word that is lost.
func TestABusyResourceManagerHearsTheLastWord(t *testing.T) {
	t.Parallel()
	waiting := actor.NewQueue[msg.Message](0)
	put := func(m msg.Message) { waiting.Put(m, msg.Latest(m)) }
	put(msg.RegisterJobMaster{Job: "j1"})
	for slots := range 10_000 {
		put(msg.BlockNodes{Nodes: make([]msg.BlockedNode, slots%3)})
		put(msg.DeclareRequirements{Slots: 10_000 - slots})
	}
	stop := make(chan struct{})
	close(stop)
	var got []msg.Message
	waiting.Deliver(stop, func(m msg.Message) bool {
		got = append(got, m)
		return true
	})
	want := []msg.Message{msg.RegisterJobMaster{Job: "j1"}, msg.BlockNodes{Nodes: []msg.BlockedNode{}}, msg.DeclareRequirements{Slots: 1}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what the ResourceManager hears differs (-want +got):\n%s", diff)
	}
}
