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

// The calls below are for containers that run, are guaranteed, and are not being
// reinitialized already. A NodeManager refuses the others with an exception that is
// ErrYarn and tells the container's state. All return when the order was taken;
// what comes of it shows in Statuses, LocalizationStatuses, and the container's
// completion.

// Localize brings files into a running container's working directory (localize), by
// the names of their links. LocalizationStatuses tells when they are there. A file
// that cannot be had does not end the container, but others of the same call may then
// stay pending for ever: the NodeManager's localizer ends with the first failure. Files
// that matter by themselves go into calls of their own, one after the other.
func (c *Client) Localize(ctx context.Context, on records.NodeID, id records.ContainerID, resources map[string]records.LocalResource) error {
	return c.change(ctx, on, id, "localize into", "localize", &yarnpb.ResourceLocalizationRequestProto{
		ContainerId:    pbconv.ContainerIDProto(id),
		LocalResources: pbconv.LocalResourceProtos(resources),
	}, new(yarnpb.ResourceLocalizationResponseProto))
}

// LocalizationStatuses tells of the files of containers on one node, those of their
// launch contexts and those of Localize (getLocalizationStatuses). Containers that the
// NodeManager cannot tell of are Failures in the error, with what it knows of the
// others: ErrNotTold, as NodeManagers leave their reasons out of this answer.
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

// Commitment says when a Reinitialize can no longer be taken back.
type Commitment bool

const (
	// CommitAtOnce gives up the old launch context when the new process is started.
	CommitAtOnce Commitment = true
	// CommitLater keeps it until Commit; until then Rollback goes back to it, and so
	// does the NodeManager where the new process fails.
	CommitLater Commitment = false
)

// Reinitialize ends a container's process and starts it anew with another launch
// context (reInitializeContainer): its id, its size, its working directory and its
// logs stay, files that the new context names are added.
func (c *Client) Reinitialize(ctx context.Context, on records.NodeID, id records.ContainerID, launch records.ContainerLaunchContext, commit Commitment) error {
	return c.change(ctx, on, id, "reinitialize", "reInitializeContainer", &yarnpb.ReInitializeContainerRequestProto{
		ContainerId:            pbconv.ContainerIDProto(id),
		ContainerLaunchContext: pbconv.ContainerLaunchContextProto(launch),
		AutoCommit:             proto.Bool(bool(commit)),
	}, new(yarnpb.ReInitializeContainerResponseProto))
}

// Restart ends a container's process and starts it anew with the launch context that
// it has (restartContainer). There is no way back.
func (c *Client) Restart(ctx context.Context, on records.NodeID, id records.ContainerID) error {
	return c.change(ctx, on, id, "restart", "restartContainer", pbconv.ContainerIDProto(id), new(yarnpb.RestartContainerResponseProto))
}

// Rollback ends a container's process and starts it anew with the launch context from
// before the last Reinitialize (rollbackLastReInitialization), which must have been
// with CommitLater and not committed.
func (c *Client) Rollback(ctx context.Context, on records.NodeID, id records.ContainerID) error {
	return c.change(ctx, on, id, "roll back", "rollbackLastReInitialization", pbconv.ContainerIDProto(id), new(yarnpb.RollbackResponseProto))
}

// Commit gives up the launch context from before the last Reinitialize
// (commitLastReInitialization), which must have been with CommitLater and not rolled
// back. The process stays as it is.
func (c *Client) Commit(ctx context.Context, on records.NodeID, id records.ContainerID) error {
	return c.change(ctx, on, id, "commit", "commitLastReInitialization", pbconv.ContainerIDProto(id), new(yarnpb.CommitResponseProto))
}

func (c *Client) change(ctx context.Context, on records.NodeID, id records.ContainerID, verb, method string, request, response proto.Message) error {
	if err := c.call(ctx, on, method, request, response); err != nil {
		return fmt.Errorf("%s %s on %s: %w", verb, id, on, err)
	}
	return nil
}
