package books

import (
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// ResourceManager is the state of a ResourceManager. Only Step changes it. Make it with
// NewResourceManager.
type ResourceManager struct {
	settings Settings
	maximum  records.Resource // of a container; less than that of the settings if no node has as much
	keys     Keys
	oldAMRM  Key   // still valid after one roll-over; zero: there is none
	started  int64 // start of the ResourceManager in milliseconds since 1970: its identifier
	epoch    int64 // restarts with recovery so far
	lastApp  int32
	nodes    []*node        // in the order of their first registration
	apps     []*application // by age
	tokens   delegationTokens
}

// NewResourceManager starts a ResourceManager without nodes and applications.
func NewResourceManager(s Settings, k Keys, now time.Time) *ResourceManager {
	return &ResourceManager{settings: s, maximum: s.Maximum, keys: k, started: now.UnixMilli()}
}

// Step handles one event and returns the effects to perform, in order.
func (b *ResourceManager) Step(now time.Time, e Event) []Effect {
	switch e := e.(type) {
	case ClientCall:
		return b.clientCall(now, e)
	case MasterCall:
		return b.masterCall(now, e)
	case Registration:
		return b.registerNode(now, e)
	case NodeReport:
		return b.report(now, e)
	case ContainerTaken:
		if c := b.container(e.ID); c != nil {
			return b.stop(now, c, e.Exit, e.Reason)
		}
		return nil
	case NodeGone:
		return b.lose(now, e.Node)
	case Restarted:
		b.restart(now)
		return nil
	case StateLost:
		*b = ResourceManager{settings: b.settings, maximum: b.settings.Maximum, keys: e.Keys, started: b.next(now)}
		return nil
	case KeyRolled:
		b.oldAMRM, b.keys.AMRM = b.keys.AMRM, e.Key
		return nil
	case Tick:
		return b.tick(now)
	}
	return nil
}

// next returns the identifier of the next ResourceManager. Two never have the same one, although
// they may start within a millisecond: ids of applications and tokens of containers are told apart
// by it.
func (b *ResourceManager) next(now time.Time) int64 { return max(now.UnixMilli(), b.started+1) }

func (b *ResourceManager) node(id records.NodeID) *node {
	for _, n := range b.nodes {
		if n.id == id {
			return n
		}
	}
	return nil
}

func (b *ResourceManager) app(id records.ApplicationID) *application {
	for _, a := range b.apps {
		if a.id == id {
			return a
		}
	}
	return nil
}

func (b *ResourceManager) attempt(id records.ApplicationAttemptID) *attempt {
	if app := b.app(id.Application); app != nil && 0 < id.Attempt && int(id.Attempt) <= len(app.attempts) {
		return app.attempts[id.Attempt-1]
	}
	return nil
}

func (b *ResourceManager) container(id records.ContainerID) *container {
	app := b.app(id.Attempt.Application)
	if app == nil {
		return nil
	}
	i := slices.IndexFunc(app.containers, func(c *container) bool { return c.id == id })
	if i < 0 {
		return nil
	}
	return app.containers[i]
}
