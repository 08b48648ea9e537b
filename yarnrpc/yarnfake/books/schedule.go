package books

import (
	"cmp"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/pbconv"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

const (
	anyPlace    = "*"
	defaultRack = "/default-rack"
)

// ask is an attempt's request under one key: a row of its table.
type ask struct {
	priority   records.Priority
	requestID  int64
	capability records.Resource
	places     map[string]place // by host, rack or anyPlace
	missed     int              // heartbeats without a container since hosts were named or served
}

// place is one resource name's share of an ask.
type place struct {
	count   int32
	relaxed bool
}

// take enters one request into the table. Its number replaces the previous one.
func (a *attempt) take(r *yarnpb.ResourceRequestProto, capability records.Resource) {
	row := a.row(pbconv.Priority(r.GetPriority()), r.GetAllocationRequestId())
	row.missed = 0
	if r.GetNumContainers() > 0 { // a request that cancels a place need not have the size
		row.capability = capability
	}
	row.places[r.GetResourceName()] = place{count: r.GetNumContainers(), relaxed: r.GetRelaxLocality()}
	if r.GetResourceName() == anyPlace && r.GetNumContainers() == 0 {
		a.asks = slices.DeleteFunc(a.asks, func(other *ask) bool { return other == row })
	}
}

// row returns the row of a key, and makes it if there is none.
func (a *attempt) row(priority records.Priority, id int64) *ask {
	i, found := slices.BinarySearchFunc(a.asks, ask{priority: priority, requestID: id}, func(x *ask, y ask) int {
		return cmp.Or(cmp.Compare(x.priority, y.priority), cmp.Compare(x.requestID, y.requestID))
	})
	if !found {
		a.asks = slices.Insert(a.asks, i, &ask{priority: priority, requestID: id, places: make(map[string]place)})
	}
	return a.asks[i]
}

// grants places containers on a node that has room: masters first, then asks. Both are
// ordered by the age of applications, asks also by their keys. An ask that names the node
// gets all its containers. An ask for the rack or for any place gets one container per
// heartbeat. If it names other hosts, it gets one only after each node could have served
// it once (CapacityScheduler's delay, at its smallest).
func (b *ResourceManager) grants(now time.Time, n *node) []Effect {
	effects := b.expire(now, n)
	elsewhere := 1 // containers for asks that do not name the node
	for _, app := range b.apps {
		a := app.attempt()
		if !a.live() {
			continue
		}
		if a.state == records.AttemptScheduled {
			effects = append(effects, b.placeMaster(now, a, n)...)
		}
		if !a.registered || a.finishing || slices.Contains(a.blacklist, n.id.Host) {
			continue
		}
		for _, row := range slices.Clone(a.asks) {
			elsewhere -= b.serve(now, a, row, n, elsewhere)
		}
		a.asks = slices.DeleteFunc(a.asks, func(row *ask) bool { return row.places[anyPlace].count <= 0 })
	}
	return effects
}

// serve grants containers of one row on a node. It returns how many of them were for the
// rack or any place.
func (b *ResourceManager) serve(now time.Time, a *attempt, row *ask, n *node, elsewhere int) int {
	for row.places[n.id.Host].count > 0 && row.places[anyPlace].count > 0 && n.fits(row.capability) {
		b.grant(now, a, row, n, n.id.Host, defaultRack, anyPlace)
	}
	if row.places[anyPlace].count <= 0 || elsewhere == 0 || !n.fits(row.capability) {
		return 0
	}
	if row.namesHosts() {
		if row.missed++; row.missed <= len(b.nodes) {
			return 0
		}
	}
	rack, anywhere := row.places[defaultRack], row.places[anyPlace]
	switch {
	case rack.count > 0 && rack.relaxed, rack.count > 0 && !row.namesHosts():
		b.grant(now, a, row, n, defaultRack, anyPlace)
	case anywhere.relaxed, !row.namesHosts() && rack.count == 0:
		b.grant(now, a, row, n, anyPlace)
	default:
		return 0
	}
	return 1
}

// namesHosts reports whether a row still has a count for a host.
func (r *ask) namesHosts() bool {
	for name, p := range r.places {
		if name != anyPlace && name != defaultRack && p.count > 0 {
			return true
		}
	}
	return false
}

func (n *node) fits(r records.Resource) bool { return n.used.Add(r).Fits(n.capability) }

// grant lowers a row's counts for places by one container.
func (b *ResourceManager) grant(now time.Time, a *attempt, row *ask, n *node, places ...string) {
	c := b.allocate(now, a, n, row.capability)
	c.priority, c.requestID = row.priority, row.requestID
	for _, name := range places {
		if p, is := row.places[name]; is && p.count > 0 {
			p.count--
			row.places[name] = p
			c.asked = append(c.asked, askedPlace{name, p.relaxed})
		}
	}
	row.missed = 0
	a.granted = append(a.granted, c)
}

// askAgain takes back a grant that no response has carried, because the container has ended. The master
// does not know that its ask was served, so the ask stands again
// (RMContainerImpl#ContainerRescheduledTransition).
func (a *attempt) askAgain(c *container) {
	i := slices.Index(a.granted, c)
	if i < 0 {
		return
	}
	a.granted = slices.Delete(a.granted, i, i+1)
	row := a.row(c.priority, c.requestID)
	row.capability = c.resource
	for _, name := range c.asked {
		p := row.places[name.name]
		p.count++
		p.relaxed = name.relaxed
		row.places[name.name] = p
	}
}

// askedPlace is a place whose count was lowered by a grant.
type askedPlace struct {
	name    string
	relaxed bool
}

// allocate reserves room on a node for a new container of an attempt.
func (b *ResourceManager) allocate(now time.Time, a *attempt, n *node, r records.Resource) *container {
	a.sequence++
	c := &container{
		id:  records.ContainerID{Attempt: a.id, ID: b.epoch<<40 | a.sequence},
		app: a.app, owner: a, node: n, resource: r,
		state: records.ContainerNew, exit: records.ExitUnknown, created: now,
	}
	c.occupy()
	a.app.containers = append(a.app.containers, c)
	return c
}

// placeMaster starts an attempt's ApplicationMaster on a node with room.
func (b *ResourceManager) placeMaster(now time.Time, a *attempt, n *node) []Effect {
	r := b.normal(b.settings.asked(a.app.context.Resource))
	if !n.fits(r) {
		return nil
	}
	c := b.allocate(now, a, n, r)
	c.master, c.state = true, records.ContainerRunning
	a.master, a.state, a.heard = c, records.AttemptLaunched, now
	if a.app.launched.IsZero() {
		a.app.launched = now
	}
	return []Effect{Launch{Node: n.id, Request: b.masterLaunch(now, a)}}
}

// expire takes back containers that were not started in time.
func (b *ResourceManager) expire(now time.Time, n *node) []Effect {
	var effects []Effect
	for _, app := range b.apps {
		for _, c := range slices.Clone(app.containers) {
			if c.node == n && c.state == records.ContainerNew && !c.master && now.Sub(c.created) > ContainerExpiry {
				effects = append(effects, b.end(now, c, records.ExitAborted, "Container expired since it was unused")...)
			}
		}
	}
	return effects
}
