package yarnworkers

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/amrm"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// refusalTime is the time for which refused workers are not requested again, unless the nodes of
// YARN change before. YARN does not report every change: after a NodeManager was killed and returns
// before it counts as lost, it may have more resources, and ApplicationMasters do not learn of it
// (RMNodeImpl.ReconnectNodeTransition).
const refusalTime = 30 * time.Second

// refused tells whether the profile must not be requested now.
func (p *profile) refused() bool { return !p.refusedUntil.IsZero() }

// refuse stops a profile's requests for a while, and reports the reason.
func (c *core) refuse(p *profile, reason string) {
	if !p.refused() {
		c.events = append(c.events, resourcemanager.WorkersRefused{Spec: p.spec, Reason: reason})
	}
	p.refusedUntil, p.doubtful, p.standing = c.now.Add(refusalTime), true, time.Time{}
}

// admit ends a refusal: the workers are requested again, and YARN decides again.
func (c *core) admit(p *profile) {
	if p.refused() {
		p.refusedUntil = time.Time{}
		c.events = append(c.events, resourcemanager.RefusalEnded{Spec: p.spec})
	}
}

// taken handles that YARN accepts the requests of a profile.
func (c *core) taken(p *profile) {
	if p.doubtful && !p.refused() {
		p.doubtful = false
		c.events = append(c.events, resourcemanager.OrdersTaken{Spec: p.spec})
	}
}

// stand handles an answer of YARN: YARN holds the requests that it has not refused. If YARN refuses
// at once, such an answer means that it accepts them. Otherwise YARN accepts them when it has held
// them for refusalTime. The distinction matters because a waiting job must not lose room to idle
// workers that cannot serve it.
func (c *core) stand(r amrm.Response) {
	for _, p := range c.profiles {
		switch {
		case p.asked == 0 || p.refused():
			p.standing = time.Time{}
			continue
		case p.standing.IsZero() || r.Resynced: // a ResourceManager that has restarted decides again
			p.standing = c.now
		}
		if c.refusesAtOnce() || c.now.Sub(p.standing) >= refusalTime {
			c.taken(p)
		}
	}
}

// refusesAtOnce tells whether the answer to requests shows that YARN accepts them. With constraints
// and opportunistic containers YARN refuses later, or gives too little (see tooSmall); then a
// container or the passing of time shows it.
func (c *core) refusesAtOnce() bool {
	return c.place.Constraint == nil && c.place.ExecutionType != records.ExecutionOpportunistic
}

// expireRefusals ends the refusals whose time has passed.
func (c *core) expireRefusals() {
	for _, p := range c.profiles {
		if !c.now.Before(p.refusedUntil) {
			c.admit(p)
		}
	}
}

// reconsider ends all refusals if an answer shows a reason for YARN to decide otherwise: changed
// nodes, or a restarted ResourceManager.
func (c *core) reconsider(r amrm.Response) {
	if len(r.UpdatedNodes) == 0 && !r.Resynced {
		return
	}
	for _, p := range c.profiles {
		c.admit(p)
	}
}

// refuseUnknown refuses workers with an external resource for which no option names YARN's type.
func (c *core) refuseUnknown() {
	for _, p := range c.profiles {
		if p.missing() == 0 || p.refused() {
			continue
		}
		if name := c.place.Unknown(p.spec.External); name != "" {
			c.refuse(p, fmt.Sprintf("no option says what external resource %q is in YARN; add it to %s, and set %s%s.yarn.config-key and .amount",
				name, config.ExternalResources, config.ExternalResource, name))
		}
	}
}

// asksRefused handles that YARN has refused a whole allocate because of its requests. YARN has used
// no part of it. The next allocate withdraws the requests, so YARN accepts it.
//
// YARN does not say which of several profiles it refuses. Then they go on trial: the next allocates
// request one of them after the other.
func (c *core) asksRefused(err error) {
	suspects := c.suspects()
	if len(suspects) > 1 {
		for _, p := range suspects {
			if !slices.Contains(c.trial, p) {
				c.trial = append(c.trial, p)
			}
		}
		return
	}
	for _, p := range suspects {
		c.trial = slices.DeleteFunc(c.trial, func(other *profile) bool { return other == p })
		c.refuse(p, fmt.Sprintf("YARN refuses workers of %s in queue %s: %v; %s",
			inWords(c.capability(p)), c.queue, err, c.remedy(p, err)))
	}
}

// suspects lists the profiles that YARN may have refused: those whose requests it has not looked at
// before. After a restart of YARN's ResourceManager, all requests are new to it.
func (c *core) suspects() []*profile {
	var unseen, all []*profile
	for _, p := range c.profiles {
		if p.asked == 0 {
			continue
		}
		all = append(all, p)
		if p.sent {
			unseen = append(unseen, p)
		}
	}
	if len(unseen) > 0 {
		return unseen
	}
	return all
}

// requestsTaken handles that YARN has looked at all requests that were sent, and has refused none at
// once.
func (c *core) requestsTaken() {
	for _, p := range c.profiles {
		p.sent = false
	}
	if len(c.trial) > 0 && c.trial[0].asked > 0 {
		c.trial = c.trial[1:]
	}
}

// skipTrials ends the trial of profiles that need no workers any more, or are refused for another
// reason.
func (c *core) skipTrials() {
	c.trial = slices.DeleteFunc(c.trial, func(p *profile) bool { return p.missing() == 0 || p.refused() })
}

// isRefusalOfAsks tells whether YARN has refused the requests themselves. YARN has no separate
// exception for constraints that are switched off (DisabledPlacementProcessor#allocate), or that
// its scheduler does not support.
func (c *core) isRefusalOfAsks(err error) bool {
	return errors.Is(err, yarnrpc.ErrInvalidResourceRequest) ||
		c.place.Constraint != nil && isException(err, "org.apache.hadoop.yarn.exceptions.YarnException")
}

// remedy says what a user can do about refused requests.
func (c *core) remedy(p *profile, err error) string {
	switch {
	case isException(err, "org.apache.hadoop.yarn.exceptions.InvalidLabelResourceRequestException"):
		return fmt.Sprintf("change %s", config.YarnWorkerNodeLabel)
	case !errors.Is(err, yarnrpc.ErrInvalidResourceRequest):
		return fmt.Sprintf("change %s", config.YarnWorkerPlacement)
	default:
		return p.smaller()
	}
}

// smaller says how a user makes the workers smaller.
func (p *profile) smaller() string {
	text := "lower " + p.spec.Memory.SizedBy()
	if p.spec.Profile.IsDefault() {
		text += ", yarn.containers.vcores or external-resource.*.amount"
	}
	return text
}

// tooSmall tells whether YARN has given less memory than requested. It does this for requests with
// constraints and for opportunistic containers, where it refuses other requests
// (CapacityScheduler#normalizeSchedulingRequests). YARN would kill the worker in such a container.
// Cores do not matter: under DefaultResourceCalculator each container has one.
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
