package resourcemanager

import (
	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/rolerpc"
)

// Target is the name of the streams that Accept takes.
const Target = "resourcemanager"

// Accept takes a TaskExecutor's stream, as rolerpc.Accept does, under the fencing token of this
// grant of leadership.
func (r *ResourceManager) Accept(s *rolerpc.Stream) (rolerpc.Handler, error) {
	s.SetToken(string(r.token))
	s.SetShare(r.mostSlots)
	return rolerpc.HandlerOf(r.Connect(s.Peer().Resource, s), msg.TaskExecutorToResourceManager), nil
}

// Connect adds a connection of the TaskExecutor that has authenticated as resource. The connection
// compares fencing tokens: messages for another grant of leadership do not reach the core. Accept
// calls Connect for streams.
func (r *ResourceManager) Connect(resource ids.ResourceID, gateway actor.Gateway) *actor.Connection {
	return actor.Connect(r.loop, &r.connections, resource, gateway,
		func(from actor.Peer, m msg.Message) event { return taskExecutorSaid{From: from, Message: m} },
		func(from actor.Peer, cause string) event { return taskExecutorDisconnected{From: from, Cause: cause} },
	)
}
