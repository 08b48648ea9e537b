package books

import (
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/pbconv"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

func (b *ResourceManager) masterCall(now time.Time, call MasterCall) []Effect {
	request := masterRequest(call.Method)
	if err := decode(call.Method, request, call.Request); err != nil {
		return []Effect{answer(nil, err)}
	}
	a := b.attempt(call.Attempt)
	if r, is := request.(*yarnpb.FinishApplicationMasterRequestProto); is {
		message, effects, err := b.finish(now, call, r)
		return append(effects, answer(message, err))
	}
	if a == nil || !a.live() {
		return []Effect{answer(nil, gone(call))}
	}
	switch r := request.(type) {
	case *yarnpb.RegisterApplicationMasterRequestProto:
		message, err := b.register(now, a, r)
		return []Effect{answer(message, err)}
	case *yarnpb.AllocateRequestProto:
		response, effects, err := b.allocateCall(now, a, call.KeyID, r)
		if err != nil {
			return append(effects, answer(nil, err))
		}
		return append(effects, Answer{Response: slices.Clone(response)})
	default:
		return []Effect{answer(nil, fmt.Errorf("no such request: %T", request))}
	}
}

// gone returns what a master is told whose attempt has ended. Only allocate has an exception of its own
// for that (ApplicationMasterService#throwApplicationDoesNotExistInCacheException).
func gone(call MasterCall) error {
	if call.Method == "allocate" {
		return exception("ApplicationAttemptNotFoundException", "Application attempt %s doesn't exist in ApplicationMasterService cache.", call.Attempt)
	}
	return exception("InvalidApplicationMasterRequestException", "Application doesn't exist in cache %s", call.Attempt)
}

func (b *ResourceManager) register(now time.Time, a *attempt, r *yarnpb.RegisterApplicationMasterRequestProto) (proto.Message, error) {
	again := a.app.context.Unmanaged && a.app.context.KeepContainers
	if a.registered && !again {
		return nil, exception("InvalidApplicationMasterRequestException", "Application Master is already registered : %s", a.app.id)
	}
	a.registered, a.responseID, a.last, a.heard = true, 0, nil, now
	a.told = make(map[records.NodeID]bool)
	a.host, a.rpcPort, a.trackingURL = r.GetHost(), r.GetRpcPort(), r.GetTrackingUrl()
	a.state, a.app.state = records.AttemptRunning, records.ApplicationRunning
	response := &yarnpb.RegisterApplicationMasterResponseProto{
		MaximumCapability: pbconv.ResourceProto(b.maximum),
		Queue:             proto.String(queuePath),
		SchedulerResourceTypes: []yarnpb.SchedulerResourceTypes{
			yarnpb.SchedulerResourceTypes_MEMORY, yarnpb.SchedulerResourceTypes_CPU,
		},
		Application_ACLs: pbconv.ContainerLaunchContextProto(a.app.context.Container).GetApplication_ACLs(),
	}
	if b.settings.ClientTokens {
		response.ClientToAmTokenMasterKey = b.keys.Client.Secret
	}
	if a.app.context.KeepContainers {
		a.recovered = nil
		for _, c := range a.app.containers {
			if c.master || c.state != records.ContainerRunning {
				continue
			}
			response.ContainersFromPreviousAttempts = append(response.ContainersFromPreviousAttempts, b.containerProto(now, c))
			response.NmTokensFromPreviousAttempts = append(response.NmTokensFromPreviousAttempts, b.tokenFor(a, c.node)...)
		}
	}
	return response, nil
}

// allocateCall answers a heartbeat of a master with the encoded response.
func (b *ResourceManager) allocateCall(now time.Time, a *attempt, keyID int32, r *yarnpb.AllocateRequestProto) ([]byte, []Effect, error) {
	a.heard = now
	if !a.registered {
		return nil, nil, exception("ApplicationMasterNotRegisteredException",
			"AM is not registered for known application attempt: %s or RM had restarted after AM registered. AM should re-register.", a.id)
	}
	switch id := r.GetResponseId(); {
	case a.last != nil && id == (a.responseID-1)&responseMask:
		return a.last, nil, nil
	case id != a.responseID:
		return nil, nil, exception("InvalidApplicationMasterRequestException",
			"Invalid responseId in AllocateRequest from application attempt: %s, expect responseId to be %d, but get %d", a.id, a.responseID, id)
	}
	if err := b.check(a, r); err != nil {
		return nil, nil, err
	}
	effects := a.confirm()
	a.progress = min(max(r.GetProgress(), 0), 1)
	if r.TrackingUrl != nil {
		a.trackingURL = r.GetTrackingUrl()
	}
	if !a.finishing { // YARN ignores the asks of a master that has unregistered
		effects = append(effects, b.obey(now, a, r)...)
	}
	a.responseID = (a.responseID + 1) & responseMask
	response, err := (proto.MarshalOptions{Deterministic: true}).Marshal(b.response(now, a, keyID))
	a.last = response
	return response, effects, err
}

// obey does what a request says about asks, hosts and containers.
func (b *ResourceManager) obey(now time.Time, a *attempt, r *yarnpb.AllocateRequestProto) []Effect {
	for _, one := range r.GetAsk() {
		a.take(one, b.normal(b.settings.asked(pbconv.Resource(one.GetCapability()))))
	}
	a.blacklist = append(a.blacklist, r.GetBlacklistRequest().GetBlacklistAdditions()...)
	a.blacklist = slices.DeleteFunc(a.blacklist, func(host string) bool {
		return slices.Contains(r.GetBlacklistRequest().GetBlacklistRemovals(), host)
	})
	var effects []Effect
	for _, id := range pbconv.ContainerIDs(r.GetRelease()) {
		if c := b.container(id); c != nil {
			effects = append(effects, b.stop(now, c, records.ExitAborted, "Container released by application")...)
		} else {
			a.release = append(a.release, id)
		}
	}
	return effects
}

// responseMask keeps response ids within their type.
const responseMask = 1<<31 - 1

// check refuses an invalid allocate as a whole, before any part of it takes effect.
func (b *ResourceManager) check(a *attempt, r *yarnpb.AllocateRequestProto) error {
	for _, one := range r.GetAsk() {
		want := b.settings.asked(pbconv.Resource(one.GetCapability()))
		if want.MemoryMB < 0 || want.VCores < 0 || !want.Fits(b.maximum) || one.GetNumContainers() < 0 {
			return exception("InvalidResourceRequestException",
				"Invalid resource request! Cannot allocate containers as requested resource is less than 0 or greater than maximum allowed allocation. Requested: %s, maximum: %s",
				want, b.maximum)
		}
	}
	if slices.Contains(r.GetBlacklistRequest().GetBlacklistAdditions(), anyPlace) {
		return exception("InvalidResourceBlacklistRequestException", "Cannot add * to the blacklist!")
	}
	for _, id := range pbconv.ContainerIDs(r.GetRelease()) {
		if id.Attempt != a.id && !a.app.context.KeepContainers {
			return exception("InvalidContainerReleaseException", "Cannot release container : %s not belonging to this application attempt : %s", id, a.id)
		}
	}
	return nil
}

// confirm lets nodes forget the containers of the last response, which the master has now
// received.
func (a *attempt) confirm() []Effect {
	var effects []Effect
	for _, c := range a.sent {
		effects = append(effects, c.forget())
	}
	a.sent = nil
	return effects
}

// forget lets the node of an ended container forget it.
func (c *container) forget() Effect {
	c.known = true
	return Forget{Node: c.node.id, ID: c.id}
}

// response returns what has happened since the last response.
func (b *ResourceManager) response(now time.Time, a *attempt, keyID int32) *yarnpb.AllocateResponseProto {
	r := &yarnpb.AllocateResponseProto{
		ResponseId:      proto.Int32(a.responseID),
		Limit:           pbconv.ResourceProto(b.headroom()),
		NumClusterNodes: proto.Int32(b.active()),
	}
	if a.app.context.Priority != nil {
		r.ApplicationPriority = pbconv.PriorityProto(a.app.priority())
	}
	for _, c := range a.completed {
		r.CompletedContainerStatuses = append(r.CompletedContainerStatuses, pbconv.ContainerStatusProto(records.ContainerStatus{
			ID: c.id, State: records.ContainerComplete, ExitStatus: c.exit, Diagnostics: c.diagnostics, Capability: c.resource,
		}))
	}
	tell := func(among []*container) (told []*yarnpb.ContainerProto) {
		for _, c := range among {
			if c.state == records.ContainerComplete {
				continue // lost before the response
			}
			told = append(told, b.containerProto(now, c))
			r.NmTokens = append(r.NmTokens, b.tokenFor(a, c.node)...)
		}
		return told
	}
	r.AllocatedContainers = tell(a.granted)
	r.ContainersFromPreviousAttempts = tell(a.recovered)
	for _, n := range a.app.changed {
		report := b.nodeReport(n)
		report.NodeUpdateType = yarnpb.NodeUpdateTypeProto_NODE_USABLE.Enum()
		if n.lost {
			report.NodeUpdateType = yarnpb.NodeUpdateTypeProto_NODE_UNUSABLE.Enum()
		}
		r.UpdatedNodes = append(r.UpdatedNodes, report)
	}
	if keyID != b.keys.AMRM.ID {
		r.AmRmToken = pbconv.TokenProto(b.keys.amrmToken(a.id))
	}
	a.sent = a.completed
	a.granted, a.recovered, a.completed, a.app.changed = nil, nil, nil, nil
	return r
}

// tokenFor returns the NM token of a node if the attempt does not have it yet.
func (b *ResourceManager) tokenFor(a *attempt, n *node) []*yarnpb.NMTokenProto {
	if a.told[n.id] {
		return nil
	}
	a.told[n.id] = true
	return []*yarnpb.NMTokenProto{{
		NodeId: pbconv.NodeIDProto(n.id),
		Token:  pbconv.TokenProto(b.keys.nmToken(a.id, n.id, a.app.user)),
	}}
}

func (b *ResourceManager) containerProto(now time.Time, c *container) *yarnpb.ContainerProto {
	return pbconv.ContainerProto(records.Container{
		ID: c.id, Node: c.node.id, NodeHTTPAddress: c.node.http(), Resource: c.resource, Priority: c.priority,
		Token:               b.keys.containerToken(c, b.started, now),
		AllocationRequestID: c.requestID,
	})
}
