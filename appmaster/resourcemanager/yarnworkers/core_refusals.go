package yarnworkers

import (
	"errors"
	"fmt"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/amrm"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// refusalTime is how long workers that YARN has refused are not asked for again, unless
// its nodes change before. YARN does not tell of every change: a NodeManager that was
// killed, and is back before it counts as lost, may be larger than it was without a word
// to ApplicationMasters (RMNodeImpl.ReconnectNodeTransition).
const refusalTime = 30 * time.Second

// refused tells whether YARN is not to be asked for workers of the profile now.
func (p *profile) refused() bool { return !p.refusedUntil.IsZero() }

// refuse keeps a profile's asks back for a while, and says why.
func (c *core) refuse(p *profile, reason string) {
	if !p.refused() {
		c.events = append(c.events, resourcemanager.WorkersRefused{Reason: reason})
	}
	p.refusedUntil, p.doubtful, p.standing = c.now.Add(refusalTime), true, time.Time{}
}

// admit ends a refusal: YARN is asked again, and decides anew.
func (c *core) admit(p *profile) {
	if p.refused() {
		p.refusedUntil = time.Time{}
		c.events = append(c.events, resourcemanager.RefusalEnded{})
	}
}

// taken takes in that YARN does not refuse what it is asked for.
func (c *core) taken(p *profile) {
	if p.doubtful && !p.refused() {
		p.doubtful = false
		c.events = append(c.events, resourcemanager.OrdersTaken{})
	}
}

// stand takes in an answer of YARN: it holds the asks that it has not refused. Where it refuses
// at once it has taken them by that, and elsewhere once it has held them for as long as a refusal
// counts: a job that waits for room must not keep room for idle workers that do not serve it.
func (c *core) stand(r amrm.Response) {
	for _, p := range c.profiles {
		switch {
		case p.asked == 0 || p.refused():
			p.standing = time.Time{}
			continue
		case p.standing.IsZero() || r.Resynced: // a ResourceManager that has restarted decides anew
			p.standing = c.now
		}
		if c.refusesAtOnce() || c.now.Sub(p.standing) >= refusalTime {
			c.taken(p)
		}
	}
}

// refusesAtOnce tells whether an answer to asks says that YARN takes them. Where it refuses
// later, or gives too little in place of that (see tooSmall), a worker says so, or time does.
func (c *core) refusesAtOnce() bool {
	return c.place.Constraint == nil && c.place.ExecutionType != records.ExecutionOpportunistic
}

// expireRefusals ends those whose time is over.
func (c *core) expireRefusals() {
	for _, p := range c.profiles {
		if !c.now.Before(p.refusedUntil) {
			c.admit(p)
		}
	}
}

// reconsider ends all refusals where an answer tells of something that may have changed
// YARN's mind: its nodes, or a ResourceManager that has restarted.
func (c *core) reconsider(r amrm.Response) {
	if len(r.UpdatedNodes) == 0 && !r.Resynced {
		return
	}
	for _, p := range c.profiles {
		c.admit(p)
	}
}

// asksRefused takes in that YARN has refused a whole allocate for its asks. It has taken
// in nothing of it; the next one takes the asks back, and is refused no more.
func (c *core) asksRefused(err error) {
	for _, p := range c.profiles {
		if p.asked > 0 {
			c.refuse(p, fmt.Sprintf("YARN refuses workers of %s in queue %s: %v; %s",
				inWords(c.capability(p)), c.queue, err, c.remedy(err)))
		}
	}
}

// isRefusalOfAsks tells whether YARN has looked at what was asked for and does not give
// it. That YARN is not configured to know constraints (DisabledPlacementProcessor#allocate),
// or not under this scheduler, has no exception of its own.
func (c *core) isRefusalOfAsks(err error) bool {
	return errors.Is(err, yarnrpc.ErrInvalidResourceRequest) ||
		c.place.Constraint != nil && isException(err, "org.apache.hadoop.yarn.exceptions.YarnException")
}

// remedy says what a user can do about refused asks.
func (c *core) remedy(err error) string {
	switch {
	case isException(err, "org.apache.hadoop.yarn.exceptions.InvalidLabelResourceRequestException"):
		return fmt.Sprintf("change %s", config.YarnWorkerNodeLabel)
	case !errors.Is(err, yarnrpc.ErrInvalidResourceRequest):
		return fmt.Sprintf("change %s", config.YarnWorkerPlacement)
	default:
		return smallerWorkers
	}
}

const smallerWorkers = "lower taskmanager.memory.process.size, yarn.containers.vcores or external-resource.*.amount"

// tooSmall tells whether YARN has given less memory than was asked for, as it does under
// constraints and to opportunistic containers where it refuses others
// (CapacityScheduler#normalizeSchedulingRequests). The worker would be killed in it. Cores
// are no matter: under DefaultResourceCalculator each container has one.
func (c *core) tooSmall(p *profile, given records.Resource) bool {
	return given.MemoryMB < c.capability(p).MemoryMB
}

func isException(err error, class string) bool {
	remote, is := errors.AsType[*yarnrpc.RemoteError](err)
	return is && remote.Class == class
}

func inWords(r records.Resource) string {
	text := fmt.Sprintf("%d MB and %d vcores", r.MemoryMB, r.VCores)
	if !r.Others.IsZero() {
		text += " and " + r.Others.String()
	}
	return text
}
