package resourcetracker

import (
	"maps"
	"slices"

	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// state is the state of a NodeManager: its containers, and the last answer of the ResourceManager.
// It is pure.
type state struct {
	registration Registration // without containers and applications
	unhealthy    string
	responseID   int32
	registered   Registered // as of the last registration, with the newest keys
	containers   map[records.ContainerID]Container
}

func newState(r Registration) *state {
	s := &state{registration: r, containers: make(map[records.ContainerID]Container)}
	for _, c := range r.Containers {
		s.containers[c.ID] = c
	}
	s.registration.Containers, s.registration.Applications = nil, nil
	return s
}

// greeting returns the registration with the node's containers.
func (s *state) greeting() Registration {
	r := s.registration
	seen := make(map[records.ApplicationID]bool)
	for _, id := range s.ids() {
		r.Containers = append(r.Containers, s.containers[id])
		if app := id.Attempt.Application; !seen[app] {
			seen[app] = true
			r.Applications = append(r.Applications, app)
		}
	}
	return r
}

// welcomed processes the answer to a greeting.
func (s *state) welcomed(r Registered) {
	s.registered, s.responseID = r, 0
}

func (s *state) heartbeat() heartbeat {
	h := heartbeat{
		Node: s.registration.Node, ResponseID: s.responseID, Unhealthy: s.unhealthy,
		ContainerTokenKeyID: s.registered.ContainerTokenKey.ID, NMTokenKeyID: s.registered.NMTokenKey.ID,
	}
	for _, id := range s.ids() {
		h.Containers = append(h.Containers, s.containers[id].ContainerStatus)
	}
	return h
}

// answered processes the answer to a heartbeat. The next heartbeat reports the killed containers.
func (s *state) answered(r heartbeatResponse) {
	if r.Action != actionNormal {
		return // the answer has no other content
	}
	s.responseID = r.ResponseID
	if r.ContainerTokenKey != nil {
		s.registered.ContainerTokenKey = *r.ContainerTokenKey
	}
	if r.NMTokenKey != nil {
		s.registered.NMTokenKey = *r.NMTokenKey
	}
	for _, id := range r.Forget { // of the reported containers; containers that end below are not reported yet
		if s.containers[id].State == records.ContainerComplete {
			delete(s.containers, id)
		}
	}
	for _, id := range r.Stop {
		s.complete(id, records.ExitKilledByResourceManager, "Container killed by the ResourceManager")
	}
	for _, app := range r.Ended {
		for id := range s.containers {
			if id.Attempt.Application == app {
				s.complete(id, records.ExitKilledAfterAppCompletion, "Container killed because its application has ended")
			}
		}
	}
	for _, updated := range r.Updated {
		if c, has := s.containers[updated.ID]; has && updated.Version > c.Version {
			c.Capability, c.ExecutionType, c.Version = updated.Resource, updated.ExecutionType, updated.Version
			s.containers[updated.ID] = c
		}
	}
}

// complete ends a running container.
func (s *state) complete(id records.ContainerID, exit records.ExitStatus, diagnostics string) bool {
	c, has := s.containers[id]
	if !has || c.State == records.ContainerComplete {
		return false
	}
	c.State, c.ExitStatus, c.Diagnostics = records.ContainerComplete, exit, diagnostics
	s.containers[id] = c
	return true
}

func (s *state) ids() []records.ContainerID {
	return slices.SortedFunc(maps.Keys(s.containers), records.ContainerID.Compare)
}
