package yarnfake

import (
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/pbconv"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/testing/rpctest"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// exception returns an exception of YARN.
func exception(name, format string, args ...any) error {
	return rpctest.Exception("org.apache.hadoop.yarn.exceptions."+name, fmt.Sprintf(format, args...))
}

// masterCall answers ApplicationMasterProtocol.
func (b *books) masterCall(now time.Time, call masterCall) (proto.Message, []effect, error) {
	a := b.attempt(call.attempt)
	if a == nil || !a.live() {
		return nil, nil, exception("ApplicationAttemptNotFoundException", "Application attempt %s doesn't exist in ApplicationMasterService cache.", call.attempt)
	}
	switch request := call.request.(type) {
	case *yarnpb.RegisterApplicationMasterRequestProto:
		message, err := b.register(now, a, request)
		return message, nil, err
	case *yarnpb.AllocateRequestProto:
		return b.allocateCall(now, a, call.keyID, request)
	case *yarnpb.FinishApplicationMasterRequestProto:
		return b.finish(now, a, request)
	default:
		return nil, nil, fmt.Errorf("no such request: %T", request)
	}
}

func (b *books) register(now time.Time, a *attempt, r *yarnpb.RegisterApplicationMasterRequestProto) (proto.Message, error) {
	again := a.app.context.GetUnmanagedAm() && a.app.context.GetKeepContainersAcrossApplicationAttempts()
	if a.registered && !again {
		return nil, exception("InvalidApplicationMasterRequestException", "Application Master is already registered : %s", a.app.id)
	}
	a.registered, a.responseID, a.last = true, 0, nil
	a.told = make(map[records.NodeID]bool)
	a.host, a.rpcPort, a.trackingURL = r.GetHost(), r.GetRpcPort(), r.GetTrackingUrl()
	a.state, a.app.state = records.AttemptRunning, records.ApplicationRunning
	response := &yarnpb.RegisterApplicationMasterResponseProto{
		MaximumCapability: pbconv.ResourceProto(b.settings.maximum),
		Queue:             proto.String(queuePath),
		SchedulerResourceTypes: []yarnpb.SchedulerResourceTypes{
			yarnpb.SchedulerResourceTypes_MEMORY, yarnpb.SchedulerResourceTypes_CPU,
		},
		Application_ACLs: a.app.context.GetAmContainerSpec().GetApplication_ACLs(),
	}
	if b.settings.clientTokens {
		response.ClientToAmTokenMasterKey = b.keys.client.secret
	}
	if a.app.context.GetKeepContainersAcrossApplicationAttempts() {
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

func (b *books) allocateCall(now time.Time, a *attempt, keyID int32, r *yarnpb.AllocateRequestProto) (proto.Message, []effect, error) {
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
	var effects []effect
	a.progress = min(max(r.GetProgress(), 0), 1)
	if r.TrackingUrl != nil {
		a.trackingURL = r.GetTrackingUrl()
	}
	for _, one := range r.GetAsk() {
		a.take(one, b.settings.normal(b.settings.asked(one.GetCapability())))
	}
	a.blacklist = append(a.blacklist, r.GetBlacklistRequest().GetBlacklistAdditions()...)
	a.blacklist = slices.DeleteFunc(a.blacklist, func(host string) bool {
		return slices.Contains(r.GetBlacklistRequest().GetBlacklistRemovals(), host)
	})
	for _, id := range pbconv.ContainerIDs(r.GetRelease()) {
		if c := b.container(id); c != nil {
			effects = append(effects, b.stop(now, c, records.ExitAborted, "Container released by application")...)
		}
	}
	a.responseID = (a.responseID + 1) & responseMask
	a.last = b.response(now, a, keyID)
	return a.last, effects, nil
}

// responseMask keeps response ids within their type.
const responseMask = 1<<31 - 1

// check refuses an invalid allocate as a whole, before any part of it takes effect.
func (b *books) check(a *attempt, r *yarnpb.AllocateRequestProto) error {
	for _, one := range r.GetAsk() {
		want := b.settings.asked(one.GetCapability())
		if want.MemoryMB < 0 || want.VCores < 0 || !want.Fits(b.settings.maximum) || one.GetNumContainers() < 0 {
			return exception("InvalidResourceRequestException",
				"Invalid resource request! Cannot allocate containers as requested resource is less than 0 or greater than maximum allowed allocation. Requested: %s, maximum: %s",
				want, b.settings.maximum)
		}
	}
	if slices.Contains(r.GetBlacklistRequest().GetBlacklistAdditions(), anyPlace) {
		return exception("InvalidResourceBlacklistRequestException", "Cannot add * to the blacklist!")
	}
	for _, id := range pbconv.ContainerIDs(r.GetRelease()) {
		if id.Attempt != a.id && !a.app.context.GetKeepContainersAcrossApplicationAttempts() {
			return exception("InvalidContainerReleaseException", "Cannot release container : %s not belonging to this application attempt : %s", id, a.id)
		}
	}
	return nil
}

// response returns what has happened since the last response.
func (b *books) response(now time.Time, a *attempt, keyID int32) *yarnpb.AllocateResponseProto {
	r := &yarnpb.AllocateResponseProto{
		ResponseId:                 proto.Int32(a.responseID),
		CompletedContainerStatuses: a.completed,
		Limit:                      pbconv.ResourceProto(b.headroom()),
		NumClusterNodes:            proto.Int32(b.active()),
		ApplicationPriority:        a.app.context.GetPriority(),
	}
	for _, c := range a.granted {
		if c.state == records.ContainerComplete {
			continue // lost before the response
		}
		r.AllocatedContainers = append(r.AllocatedContainers, b.containerProto(now, c))
		r.NmTokens = append(r.NmTokens, b.tokenFor(a, c.node)...)
	}
	for _, n := range a.changed {
		report := b.nodeReport(n)
		report.NodeUpdateType = yarnpb.NodeUpdateTypeProto_NODE_USABLE.Enum()
		if n.lost {
			report.NodeUpdateType = yarnpb.NodeUpdateTypeProto_NODE_UNUSABLE.Enum()
		}
		r.UpdatedNodes = append(r.UpdatedNodes, report)
	}
	if keyID != b.keys.amrm.id {
		r.AmRmToken = pbconv.TokenProto(b.keys.amrmToken(a.id))
	}
	a.granted, a.completed, a.changed = nil, nil, nil
	return r
}

// tokenFor returns the NM token of a node if the attempt does not have it yet.
func (b *books) tokenFor(a *attempt, n *node) []*yarnpb.NMTokenProto {
	if a.told[n.id] {
		return nil
	}
	a.told[n.id] = true
	return []*yarnpb.NMTokenProto{{
		NodeId: pbconv.NodeIDProto(n.id),
		Token:  pbconv.TokenProto(b.keys.nmToken(a.id, n.id, a.app.user)),
	}}
}

func (b *books) containerProto(now time.Time, c *container) *yarnpb.ContainerProto {
	return pbconv.ContainerProto(records.Container{
		ID: c.id, Node: c.node.id, NodeHTTPAddress: c.node.http(), Resource: c.resource, Priority: c.priority,
		Token:               b.keys.containerToken(c, b.started, now),
		AllocationRequestID: c.requestID,
	})
}

func (b *books) finish(now time.Time, a *attempt, r *yarnpb.FinishApplicationMasterRequestProto) (proto.Message, []effect, error) {
	if !a.registered {
		return nil, nil, exception("ApplicationMasterNotRegisteredException",
			"Application Master is trying to unregister before registering for: %s", a.app.id)
	}
	known := a.finishing || a.app.context.GetUnmanagedAm()
	if !a.finishing {
		a.finishing, a.state = true, records.AttemptFinishing
		a.diagnostics = r.GetDiagnostics()
		if r.GetTrackingUrl() != "" {
			a.trackingURL = r.GetTrackingUrl()
		}
		a.app.state, a.app.finished = records.ApplicationFinished, now
		a.app.final, a.app.diagnostics = finalOf(r), a.diagnostics
		a.progress = 1
	}
	var effects []effect
	if a.app.context.GetUnmanagedAm() {
		effects = b.conclude(now, a, records.AttemptFinished)
	}
	return &yarnpb.FinishApplicationMasterResponseProto{IsUnregistered: proto.Bool(known)}, effects, nil
}

func finalOf(r *yarnpb.FinishApplicationMasterRequestProto) records.FinalApplicationStatus {
	return pbconv.FinalApplicationStatus(r.FinalApplicationStatus)
}
