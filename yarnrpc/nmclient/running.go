package nmclient

import (
	"context"
	"fmt"
	"maps"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/pbconv"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// The calls below need a container that runs, is guaranteed, and is not being
// reinitialized. For others, a NodeManager throws an exception that is ErrYarn and names
// the container's state. All calls return when the NodeManager has taken the order.
// Statuses, LocalizationStatuses and the container's completion show the result.

// Localize copies files into a running container's working directory (localize). The
// keys of resources are the names of the links. LocalizationStatuses reports when the
// files are there. A failed file does not end the container. But the NodeManager's
// localizer ends with the first failure, so other files of the same call may stay
// pending for ever. Make a separate call for each independent file, one after the
// other.
func (c *Client) Localize(ctx context.Context, on records.NodeID, id records.ContainerID, resources map[string]records.LocalResource) error {
	return c.change(ctx, on, id, "localize into", "localize", &yarnpb.ResourceLocalizationRequestProto{
		ContainerId:    pbconv.ContainerIDProto(id),
		LocalResources: pbconv.LocalResourceProtos(resources),
	}, new(yarnpb.ResourceLocalizationResponseProto))
}

// LocalizationStatuses returns the states of the files of containers on one node: files
// of their launch contexts and of Localize (getLocalizationStatuses). For containers
// that the NodeManager does not report, the error holds Failures, and the result has
// the others. Each failure is ErrNotTold, because NodeManagers leave the reason out of
// this answer.
func (c *Client) LocalizationStatuses(ctx context.Context, on records.NodeID, ids ...records.ContainerID) (map[records.ContainerID][]records.LocalizationStatus, error) {
	const method, verb = "getLocalizationStatuses", "read localization statuses"
	request := &yarnpb.GetLocalizationStatusesRequestProto{ContainerId: pbconv.ContainerIDProtos(ids)}
	var response yarnpb.GetLocalizationStatusesResponseProto
	if err := c.call(ctx, on, method, request, &response); err != nil {
		return nil, allOf(on, ids, err).during(verb)
	}
	open := undecidedOf(ids)
	failed := open.refusals(method, on, response.GetFailedRequests())
	statuses := pbconv.LocalizationStatuses(response.GetCntnLocalizationStatuses())
	maps.DeleteFunc(statuses, func(id records.ContainerID, _ []records.LocalizationStatus) bool { return !open.decide(id) })
	return statuses, append(failed, open.notTold(on, ids)...).during(verb)
}

// Commitment says until when a Reinitialize can be rolled back.
type Commitment bool

const (
	// CommitAtOnce discards the old launch context when the new process starts.
	CommitAtOnce Commitment = true
	// CommitLater keeps the old launch context until Commit. Until then, Rollback
	// returns to it, and so does the NodeManager if the new process fails.
	CommitLater Commitment = false
)

// Reinitialize ends a container's process and starts it again with another launch
// context (reInitializeContainer). The container keeps its id, size, working directory
// and logs. The NodeManager adds the files of the new context.
func (c *Client) Reinitialize(ctx context.Context, on records.NodeID, id records.ContainerID, launch records.ContainerLaunchContext, commit Commitment) error {
	return c.change(ctx, on, id, "reinitialize", "reInitializeContainer", &yarnpb.ReInitializeContainerRequestProto{
		ContainerId:            pbconv.ContainerIDProto(id),
		ContainerLaunchContext: pbconv.ContainerLaunchContextProto(launch),
		AutoCommit:             proto.Bool(bool(commit)),
	}, new(yarnpb.ReInitializeContainerResponseProto))
}

// Restart ends a container's process and starts it again with its current launch context
// (restartContainer). It cannot be rolled back.
func (c *Client) Restart(ctx context.Context, on records.NodeID, id records.ContainerID) error {
	return c.change(ctx, on, id, "restart", "restartContainer", pbconv.ContainerIDProto(id), new(yarnpb.RestartContainerResponseProto))
}

// Rollback ends a container's process and starts it again with the launch context from
// before the last Reinitialize (rollbackLastReInitialization). That Reinitialize must
// have used CommitLater and must not have been committed.
func (c *Client) Rollback(ctx context.Context, on records.NodeID, id records.ContainerID) error {
	return c.change(ctx, on, id, "roll back", "rollbackLastReInitialization", pbconv.ContainerIDProto(id), new(yarnpb.RollbackResponseProto))
}

// Commit discards the launch context from before the last Reinitialize
// (commitLastReInitialization). That Reinitialize must have used CommitLater and must
// not have been rolled back. The process keeps running.
func (c *Client) Commit(ctx context.Context, on records.NodeID, id records.ContainerID) error {
	return c.change(ctx, on, id, "commit", "commitLastReInitialization", pbconv.ContainerIDProto(id), new(yarnpb.CommitResponseProto))
}

func (c *Client) change(ctx context.Context, on records.NodeID, id records.ContainerID, verb, method string, request, response proto.Message) error {
	if err := c.call(ctx, on, method, request, response); err != nil {
		return fmt.Errorf("%s %s on %s: %w", verb, id, on, err)
	}
	return nil
}
