package actor_test

import (
	"slices"
	"testing"

	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

type gateway struct {
	sent   []msg.Message
	closed string
}

func (g *gateway) Send(m msg.Message) bool {
	g.sent = append(g.sent, m)
	return true
}

func (g *gateway) Close(cause string) { g.closed = cause }

// TestConnectionsAreKeptApart would catch a message that goes over another peer's connection or
// over a replaced one, and a connection that outlives its role.
func TestConnectionsAreKeptApart(t *testing.T) {
	var connections actor.Connections
	loop := newLoop()
	var said, lost []actor.Peer
	connect := func(resource ids.ResourceID) (*actor.Connection, *gateway) {
		g := new(gateway)
		return actor.Connect(loop, &connections, resource, g,
			func(from actor.Peer, _ msg.Message) event { said = append(said, from); return event{} },
			func(from actor.Peer, _ string) event { lost = append(lost, from); return event{} },
		), g
	}
	first, g1 := connect("worker")
	second, g2 := connect("worker") // the same process, over another connection
	if err := second.Receive(t.Context(), msg.Heartbeat{}); err != nil {
		t.Fatal(err)
	}
	if err := first.Closed(t.Context(), "reset"); err != nil {
		t.Fatal(err)
	}
	connections.Send(1, msg.Heartbeat{})
	connections.Send(2, msg.Heartbeat{})
	connections.Close(1, "too late")
	if len(g1.sent) != 0 || g1.closed != "" || len(g2.sent) != 1 || g2.closed != "" {
		t.Errorf("a lost connection got %v, %q; the other one %v, %q", g1.sent, g1.closed, g2.sent, g2.closed)
	}
	if want := []actor.Peer{{Connection: 2, Resource: "worker"}}; !slices.Equal(said, want) {
		t.Errorf("messages are from %v, want %v", said, want)
	}
	if want := []actor.Peer{{Connection: 1, Resource: "worker"}}; !slices.Equal(lost, want) {
		t.Errorf("lost are %v, want %v", lost, want)
	}
	connections.CloseAll("job has ended")
	if _, g3 := connect("late"); g2.closed != "job has ended" || g3.closed != "job has ended" {
		t.Errorf("after the end the connections' causes are %q and %q", g2.closed, g3.closed)
	}
}

// TestFencesAdmitTheirOwnGrant would catch an accepted message from another leader's time, and a
// refused registration.
func TestFencesAdmitTheirOwnGrant(t *testing.T) {
	var fence actor.Fence
	if !fence.Admits("other", msg.Heartbeat{}) || fence.Token() != "" {
		t.Error("a fence without a token keeps something out")
	}
	fence.SetToken("own")
	for _, c := range []struct {
		token string
		m     msg.Message
		want  bool
	}{
		{"own", msg.Heartbeat{}, true},
		{"other", msg.Heartbeat{}, false},
		{"", msg.Heartbeat{}, false},
		{"", msg.RegisterTaskExecutor{}, true},
		{"other", msg.RegisterTaskExecutor{}, false},
		{"", msg.RegisterAtJobMaster{}, true},
		{"other", msg.RegisterAtJobMaster{}, false},
		{"other", msg.Disconnect{}, true},
		{"", msg.Disconnect{}, true},
	} {
		if got := fence.Admits(c.token, c.m); got != c.want {
			t.Errorf("a %s with token %q: admitted is %t", msg.Kind(c.m), c.token, got)
		}
	}
}
