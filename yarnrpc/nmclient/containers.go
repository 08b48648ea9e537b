package nmclient

import (
	"context"
	"fmt"
	"sync"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/pbconv"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// Stop ends a container (stopContainers): its process group gets SIGTERM, and SIGKILL
// a little later (yarn.nodemanager.sleep-delay-before-sigkill.ms, 250 ms). It returns
// when the NodeManager has taken the order. The container completes with
// ExitKilledByAppMaster. It is no error if the container has just ended.
func (c *Client) Stop(ctx context.Context, on records.NodeID, id records.ContainerID) error {
	if failed := c.stopOn(ctx, on, []records.ContainerID{id}); len(failed) > 0 {
		return fmt.Errorf("stop %s on %s: %w", id, on, failed[0].Err)
	}
	return nil
}

// StopAll ends containers on any number of nodes, with one call for each node. Each
// container is treated as by Stop; the error is Failures.
func (c *Client) StopAll(ctx context.Context, containers ...records.Container) error {
	return onNodes(c.parallel, containers, nodeOf, func(on records.NodeID, containers []records.Container) Failures {
		return c.stopOn(ctx, on, idsOf(containers))
	}).during("stop containers")
}

func (c *Client) stopOn(ctx context.Context, on records.NodeID, ids []records.ContainerID) Failures {
	const method = "stopContainers"
	request := &yarnpb.StopContainersRequestProto{ContainerId: pbconv.ContainerIDProtos(ids)}
	var response yarnpb.StopContainersResponseProto
	if err := c.call(ctx, on, method, request, &response); err != nil {
		return allOf(on, ids, err)
	}
	return undecidedOf(ids).refusals(method, on, response.GetFailedRequests())
}

// Statuses returns the statuses of containers on one node (getContainerStatuses). For
// containers that the NodeManager does not report, the error holds Failures, and the
// result has the others. A failure is ErrNotTold if the NodeManager gives no reason.
func (c *Client) Statuses(ctx context.Context, on records.NodeID, ids ...records.ContainerID) ([]records.ContainerStatus, error) {
	statuses, failed := c.statusesOn(ctx, on, ids)
	return statuses, failed.during("read container statuses")
}

// StatusesAll returns the statuses of containers on any number of nodes, with one
// call for each node. The order of the statuses is not defined; the error is
// Failures.
func (c *Client) StatusesAll(ctx context.Context, containers ...records.Container) ([]records.ContainerStatus, error) {
	var mu sync.Mutex // guards all
	var all []records.ContainerStatus
	failed := onNodes(c.parallel, containers, nodeOf, func(on records.NodeID, containers []records.Container) Failures {
		statuses, failed := c.statusesOn(ctx, on, idsOf(containers))
		mu.Lock()
		defer mu.Unlock()
		all = append(all, statuses...)
		return failed
	})
	return all, failed.during("read container statuses")
}

func (c *Client) statusesOn(ctx context.Context, on records.NodeID, ids []records.ContainerID) ([]records.ContainerStatus, Failures) {
	response, err := c.statuses(ctx, on, ids)
	if err != nil {
		return nil, allOf(on, ids, err)
	}
	open := undecidedOf(ids)
	failed := open.refusals(methodStatuses, on, response.GetFailedRequests())
	var statuses []records.ContainerStatus
	for _, status := range pbconv.ContainerStatuses(response.GetStatus()) {
		if open.decide(status.ID) {
			statuses = append(statuses, status)
		}
	}
	return statuses, append(failed, open.notTold(on, ids)...)
}

const methodStatuses = "getContainerStatuses"

func (c *Client) statuses(ctx context.Context, on records.NodeID, ids []records.ContainerID) (*yarnpb.GetContainerStatusesResponseProto, error) {
	request := &yarnpb.GetContainerStatusesRequestProto{ContainerId: pbconv.ContainerIDProtos(ids)}
	response := new(yarnpb.GetContainerStatusesResponseProto)
	return response, c.call(ctx, on, methodStatuses, request, response)
}

// Signal sends a signal to a container's processes (signalToContainer). It returns
// when the NodeManager has taken the order. The NodeManager does not report whether a
// process got the signal. An unknown container is no error.
func (c *Client) Signal(ctx context.Context, on records.NodeID, id records.ContainerID, signal records.ContainerSignal) error {
	command := pbconv.ContainerSignalProto(signal)
	if command == nil {
		return fmt.Errorf("signal %s on %s: yarn has no signal %q", id, on, signal)
	}
	request := &yarnpb.SignalContainerRequestProto{ContainerId: pbconv.ContainerIDProto(id), Command: command}
	if err := c.call(ctx, on, "signalToContainer", request, new(yarnpb.SignalContainerResponseProto)); err != nil {
		return fmt.Errorf("signal %s on %s: %w", id, on, err)
	}
	return nil
}

// Update tells a container's node the new size or execution type that the
// ResourceManager has granted (updateContainer). container is the updated one from an
// allocate response, with its new token. A container that was not started yet needs
// no Update: start it with the new token.
func (c *Client) Update(ctx context.Context, container records.Container) error {
	const method = "updateContainer"
	var response yarnpb.ContainerUpdateResponseProto
	request := new(yarnpb.ContainerUpdateRequestProto)
	if token := pbconv.TokenProto(container.Token); token != nil {
		request.UpdateContainerToken = append(request.UpdateContainerToken, token)
	}
	err := c.call(ctx, container.Node, method, request, &response)
	if err != nil {
		return fmt.Errorf("update %s on %s: %w", container.ID, container.Node, err)
	}
	if failed := undecidedOf([]records.ContainerID{container.ID}).refusals(method, container.Node, response.GetFailedRequests()); len(failed) > 0 {
		return fmt.Errorf("update %s on %s: %w", container.ID, container.Node, failed[0].Err)
	}
	return nil
}

func nodeOf(c records.Container) records.NodeID { return c.Node }

func idsOf(containers []records.Container) []records.ContainerID {
	ids := make([]records.ContainerID, len(containers))
	for i, c := range containers {
		ids[i] = c.ID
	}
	return ids
}
