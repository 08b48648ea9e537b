package yarnworkers

import (
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager"
	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// roomPatience is how long YARN may hold a request for which its queue has room, until the core says that no node has. YARN
// needs a heartbeat of a NodeManager, which is one second by default, or some more if it waits for the named hosts.
const roomPatience = 5 * time.Second

// tellRoom reports what is known of the room for missing workers, if that has changed.
func (c *core) tellRoom() {
	for _, p := range c.profiles {
		if room := c.roomFor(p); room != p.room {
			p.room = room
			c.events = append(c.events, resourcemanager.RoomChanged{Spec: p.spec, Room: room})
		}
	}
}

// roomFor says what keeps YARN from giving a container to a profile, by its last answer. A refusal has its own reason. Until
// YARN has answered the request, the last answer counts.
func (c *core) roomFor(p *profile) msg.Room {
	if p.missing() == 0 || p.refused() {
		return msg.Room{}
	}
	room := msg.Room{Queue: c.queue, Label: c.place.NodeLabel}
	switch size := c.counted(c.capability(p)); {
	case !c.now.Before(c.confirmedUntil()):
		room.Reason, room.Silent = msg.YARNSilent, c.current
		return room
	case p.standing.IsZero():
		return p.room
	default:
		room.Reason = c.obstacle(size, actor.Latest(p.standing, p.given))
	}
	if room.Reason == "" {
		return msg.Room{}
	}
	if room.Reason == msg.QueueFull || room.Reason == msg.NoNodeFree { // otherwise each answer would be news
		room.Left = msg.ContainerSize{MemoryMB: int(max(c.headroom.MemoryMB, 0)), VCores: max(c.headroom.VCores, 0)}
	}
	return room
}

// obstacle says what keeps YARN from giving a container of this size, although it has had the request and has given no container since
// then; "" if nothing is known.
func (c *core) obstacle(size records.Resource, since time.Time) msg.WaitReason {
	switch why := c.nodesFor(size); {
	case why != "":
		return why
	case !size.Fits(c.headroom):
		return msg.QueueFull
	case c.now.Sub(since) >= roomPatience:
		return msg.NoNodeFree
	}
	return ""
}

// counted is what YARN's scheduler looks at: with DefaultResourceCalculator not at cores.
func (c *core) counted(size records.Resource) records.Resource {
	if !c.countsCores {
		size.VCores = 0
	}
	return size
}

// nodesFor says why no node could have a container of this size, even if it had no other one; "" if some node could, or if
// the nodes are not known.
func (c *core) nodesFor(size records.Resource) msg.WaitReason {
	if !c.nodesListed {
		return ""
	}
	fit := false
	//bobbin:anyorder any node counts
	for id, n := range c.nodes {
		if !size.Fits(n.total) {
			continue
		}
		if !slices.Contains(c.avoid, id.Host) {
			return ""
		}
		fit = true
	}
	switch {
	case fit:
		return msg.NodesAvoided
	case len(c.nodes) > 0:
		return msg.NoNodeLargeEnough
	case c.place.NodeLabel == "":
		return msg.NoNode
	}
	return msg.NoNodeWithLabel
}
