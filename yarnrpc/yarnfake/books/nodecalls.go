package books

import (
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/pbconv"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

func (m *NodeManager) call(now time.Time, call NodeCall) []NodeEffect {
	request := nodeRequest(call.Method)
	if err := decode(call.Method, request, call.Request); err != nil {
		return []NodeEffect{answer(nil, err)}
	}
	var message proto.Message
	var effects []NodeEffect
	var err error
	switch r := request.(type) {
	case *yarnpb.StartContainersRequestProto:
		message, effects, err = m.startContainers(now, call.Application, r)
	case *yarnpb.StopContainersRequestProto:
		message, effects = m.stopContainers(call.Application, r)
	case *yarnpb.GetContainerStatusesRequestProto:
		message = m.containerStatuses(call.Application, r)
	case *yarnpb.SignalContainerRequestProto:
		message, effects = m.signal(call.Application, r)
	default:
		err = fmt.Errorf("no such request: %T", r)
	}
	return append(effects, answer(message, err))
}

// startContainers starts containers, each if judge allows it. A forged token refuses the whole
// call, but not the containers before it.
func (m *NodeManager) startContainers(now time.Time, app records.ApplicationID, r *yarnpb.StartContainersRequestProto) (proto.Message, []NodeEffect, error) {
	response := new(yarnpb.StartContainersResponseProto)
	var effects []NodeEffect
	for _, one := range r.GetStartContainerRequest() {
		id, err := m.verify(pbconv.Token(one.GetContainerToken()))
		if err != nil {
			return nil, effects, err
		}
		if refused := m.judge(now, app, id); refused != nil {
			response.FailedRequests = append(response.FailedRequests, refused)
			continue
		}
		effects = append(effects, m.run(id, pbconv.ContainerLaunchContext(one.GetContainerLaunchContext()))...)
		response.SucceededRequests = append(response.SucceededRequests, pbconv.ContainerIDProto(id.ID))
	}
	return response, effects, nil
}

// judge returns the reason why a container may not be started; nil: it may.
func (m *NodeManager) judge(now time.Time, app records.ApplicationID, id containerToken) *yarnpb.ContainerExceptionMapProto {
	switch {
	case id.node != m.id.String():
		return refusal(id.ID, "YarnException", "Container %s is for node %s", id.ID, id.node)
	case id.ID.Attempt.Application != app:
		return refusal(id.ID, "YarnException", "Unauthorized request to start container %s", id.ID)
	case id.rm != m.rm:
		return refusal(id.ID, "InvalidContainerException", "Container %s rejected as it is allocated by a previous RM", id.ID)
	case now.After(id.expires):
		return refusal(id.ID, "YarnException", "Unauthorized request to start container. This token is expired.")
	case m.find(id.ID) != nil: // also one of an earlier process: no id runs twice
		return refusal(id.ID, "YarnException", "Container %s already is running on this node !!", id.ID)
	default:
		return nil
	}
}

func (m *NodeManager) stopContainers(app records.ApplicationID, r *yarnpb.StopContainersRequestProto) (proto.Message, []NodeEffect) {
	response := new(yarnpb.StopContainersResponseProto)
	var effects []NodeEffect
	for _, id := range pbconv.ContainerIDs(r.GetContainerId()) {
		is := false
		if id.Attempt.Application == app && m.known(id) != nil {
			var some []NodeEffect
			is, some = m.kill(id, records.ExitKilledByAppMaster, "Container killed by the ApplicationMaster.")
			effects = append(effects, some...)
		}
		if is {
			response.SucceededRequests = append(response.SucceededRequests, pbconv.ContainerIDProto(id))
		} else {
			response.FailedRequests = append(response.FailedRequests, unknown(id))
		}
	}
	return response, effects
}

func (m *NodeManager) containerStatuses(app records.ApplicationID, r *yarnpb.GetContainerStatusesRequestProto) proto.Message {
	response := new(yarnpb.GetContainerStatusesResponseProto)
	for _, id := range pbconv.ContainerIDs(r.GetContainerId()) {
		c := m.known(id)
		if c == nil || id.Attempt.Application != app {
			response.FailedRequests = append(response.FailedRequests, unknown(id))
			continue
		}
		status := records.ContainerStatus{
			ID: id, State: c.state, SubState: records.ContainerSubRunning, ExitStatus: records.ExitUnknown, Capability: c.Resource,
		}
		if c.state == records.ContainerComplete {
			status.SubState, status.ExitStatus, status.Diagnostics = records.ContainerSubDone, c.exit, c.reason
		}
		response.Status = append(response.Status, pbconv.ContainerStatusProto(status))
	}
	return response
}

// signal sends a signal. YARN does not say whether there is such a container.
func (m *NodeManager) signal(app records.ApplicationID, r *yarnpb.SignalContainerRequestProto) (proto.Message, []NodeEffect) {
	id := pbconv.ContainerID(r.GetContainerId())
	var effects []NodeEffect
	if c := m.known(id); c != nil && c.state != records.ContainerComplete && id.Attempt.Application == app {
		effects = []NodeEffect{Signal{ID: id, Signal: pbconv.ContainerSignal(r.GetCommand().Enum())}}
	}
	return new(yarnpb.SignalContainerResponseProto), effects
}

func unknown(id records.ContainerID) *yarnpb.ContainerExceptionMapProto {
	return refusal(id, "YarnException", "Container %s is not handled by this NodeManager", id)
}

func refusal(id records.ContainerID, class, format string, args ...any) *yarnpb.ContainerExceptionMapProto {
	return &yarnpb.ContainerExceptionMapProto{
		ContainerId: pbconv.ContainerIDProto(id),
		Exception: &yarnpb.SerializedExceptionProto{
			Message:   proto.String(fmt.Sprintf(format, args...)),
			ClassName: proto.String("org.apache.hadoop.yarn.exceptions." + class),
		},
	}
}
