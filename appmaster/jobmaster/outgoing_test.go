package jobmaster

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// TestABusyResourceManagerHearsTheLastWord would catch declarations of thousands of regions that
// pile up while the ResourceManager is busy, old requirements that come after newer ones, and the
// loss of the last declaration.
func TestABusyResourceManagerHearsTheLastWord(t *testing.T) {
	t.Parallel()
	said := []msg.Message{msg.RegisterJobMaster{Job: "j1"}}
	for slots := range 10_000 {
		said = append(said, declared(10_000-slots))
	}
	want := []msg.Message{msg.RegisterJobMaster{Job: "j1"}, declared(1)}
	if diff := cmp.Diff(want, heardLater(said)); diff != "" {
		t.Errorf("what the ResourceManager hears differs (-want +got):\n%s", diff)
	}
}

func declared(slots int) msg.Message {
	return msg.DeclareRequirements{Needs: []msg.SlotNeed{{Slots: slots}}}
}

// TestABlockedNodeIsHeardOfBeforeTheSlotsThatItLost would catch a job that gets slots on a node
// that it has set aside: its first block would come after its request for other slots, because
// another block followed.
func TestABlockedNodeIsHeardOfBeforeTheSlotsThatItLost(t *testing.T) {
	t.Parallel()
	sick := func(nodes ...string) msg.Message {
		m := msg.BlockNodes{Job: "j1"}
		for _, node := range nodes {
			m.Nodes = append(m.Nodes, msg.BlockedNode{Node: node})
		}
		return m
	}
	want := []msg.Message{sick("n1"), declared(4), sick("n1", "n2")}
	if diff := cmp.Diff(want, heardLater(want)); diff != "" {
		t.Errorf("what the ResourceManager hears differs (-want +got):\n%s", diff)
	}
	got := heardLater([]msg.Message{declared(3), sick("n1"), declared(4), sick()})
	want = []msg.Message{sick("n1"), declared(4), sick()}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what the ResourceManager hears differs (-want +got):\n%s", diff)
	}
}

// heardLater gives the messages that a ResourceManager receives after it was busy while they were
// sent.
func heardLater(said []msg.Message) (heard []msg.Message) {
	waiting := actor.NewOutbox[msg.Message](0, nil)
	for _, m := range said {
		waiting.Put(m, msg.Latest(m))
	}
	waiting.Close()
	waiting.Serve(context.Background(), func(m msg.Message) bool {
		heard = append(heard, m)
		return true
	})
	return heard
}
