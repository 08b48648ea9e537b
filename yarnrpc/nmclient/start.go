package nmclient

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds/identifier"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/pause"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/pbconv"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// Launch is a container and the launch context to start in it.
type Launch struct {
	Container records.Container
	Context   records.ContainerLaunchContext
}

// startPause is the wait before a start is repeated because its answer was lost.
const startPause = time.Second

// Start starts a container (startContainers). It returns nil when the NodeManager has
// taken the container. Localization and the process may still fail; then the container
// completes. If a start may have been executed, Start queries the container's status
// before it tries again. The context and the policy bound the tries. If the outcome is
// still unknown, yarnrpc.MaybeSent reports true.
//
// Otherwise the error is ErrTokenExpired, ErrNoToken, or a *yarnrpc.RemoteError if the
// NodeManager refused. After any error, release the container.
func (c *Client) Start(ctx context.Context, container records.Container, launch records.ContainerLaunchContext) error {
	failed := c.startOn(ctx, container.Node, []Launch{{Container: container, Context: launch}})
	if len(failed) > 0 {
		return fmt.Errorf("start %s on %s: %w", container.ID, container.Node, failed[0].Err)
	}
	return nil
}

// StartAll starts containers on any number of nodes, with one call for each node. Each
// container is treated as by Start; the error is Failures. If a NodeManager refuses the
// whole call because of one container, StartAll still starts the others.
func (c *Client) StartAll(ctx context.Context, launches ...Launch) error {
	return onNodes(c.parallel, launches,
		func(l Launch) records.NodeID { return l.Container.Node },
		func(on records.NodeID, launches []Launch) Failures { return c.startOn(ctx, on, launches) },
	).during("start containers")
}

// startOn starts containers on one node. It tries until the outcome of each is known, or
// the time is over.
func (c *Client) startOn(ctx context.Context, on records.NodeID, pending []Launch) Failures {
	var lost error // of the last try that may have started some without reporting it
	for {
		failed, err := c.startContainers(ctx, on, pending)
		whole := len(pending) > 1 && answered(err)
		switch {
		case yarnrpc.MaybeSent(err):
			lost = err
		case whole: // the call stopped at a bad container, perhaps after good ones
			lost = &yarnrpc.CallError{Address: on.String(), Method: "startContainers", MaybeSent: true, Err: err}
		}
		if lost == nil || len(failed) == 0 {
			return explain(ctx, failed, pending)
		}
		// The lost try may have started them, even between the last query and the refusal
		// of this try.
		failed, lookup := c.unknown(ctx, on, failed)
		if lookup != nil {
			return allOf(on, failed.containers(), fmt.Errorf("%w; then query its status: %w", lost, lookup))
		}
		pending = among(pending, failed)
		switch {
		case whole:
			return c.startEach(ctx, on, pending)
		case len(failed) == 0, !yarnrpc.MaybeSent(err):
			return explain(ctx, failed, pending)
		}
		if err := pause.For(ctx, startPause); err != nil {
			return allOf(on, failed.containers(), fmt.Errorf("%w, after: %w", err, lost))
		}
	}
}

// startEach makes one call for each container.
func (c *Client) startEach(ctx context.Context, on records.NodeID, launches []Launch) Failures {
	var failed Failures
	for i := range launches {
		failed = append(failed, c.startOn(ctx, on, launches[i:i+1])...)
	}
	return failed
}

// startContainers makes one try. If the call fails, each container fails with the same
// error.
func (c *Client) startContainers(ctx context.Context, on records.NodeID, launches []Launch) (Failures, error) {
	const method = "startContainers"
	request := new(yarnpb.StartContainersRequestProto)
	ids := make([]records.ContainerID, len(launches))
	for i, l := range launches {
		ids[i] = l.Container.ID
		request.StartContainerRequest = append(request.StartContainerRequest, &yarnpb.StartContainerRequestProto{
			ContainerLaunchContext: pbconv.ContainerLaunchContextProto(l.Context),
			ContainerToken:         pbconv.TokenProto(l.Container.Token),
		})
	}
	var response yarnpb.StartContainersResponseProto
	if err := c.call(ctx, on, method, request, &response); err != nil {
		return allOf(on, ids, err), err
	}
	return undecidedOf(ids).refusals(method, on, response.GetFailedRequests()), nil
}

// unknown returns the failures of containers that the NodeManager does not know. If the
// query fails, it returns all.
func (c *Client) unknown(ctx context.Context, on records.NodeID, failed Failures) (Failures, error) {
	response, err := c.statuses(ctx, on, failed.containers())
	if err != nil {
		return failed, err
	}
	known := make(map[records.ContainerID]bool)
	for _, status := range response.GetStatus() {
		known[pbconv.ContainerID(status.GetContainerId())] = true
	}
	return slices.DeleteFunc(failed, func(f *ContainerError) bool { return known[f.Container] }), nil
}

// answered reports whether the NodeManager has begun to execute a call, perhaps in part,
// instead of refusing the connection.
func answered(err error) bool {
	remote, is := errors.AsType[*yarnrpc.RemoteError](err)
	return is && remote.Method != ""
}

// explain adds the likely reason to refusals, because the NodeManager gives it only as
// text.
func explain(ctx context.Context, failed Failures, launches []Launch) Failures {
	for _, f := range failed {
		for _, l := range launches {
			if l.Container.ID == f.Container && expired(ctx, l.Container) {
				f.Err = fmt.Errorf("%w: %w", ErrTokenExpired, f.Err)
			}
		}
	}
	return failed
}

func expired(ctx context.Context, container records.Container) bool {
	if container.Token == nil {
		return false
	}
	id, err := identifier.DecodeContainer(container.Token)
	return err == nil && !id.Expires.IsZero() && pause.Now(ctx).After(id.Expires)
}

// among returns the launches of the containers that failed.
func among(launches []Launch, failed Failures) []Launch {
	var some []Launch
	for _, l := range launches {
		if failed.Of(l.Container.ID) != nil {
			some = append(some, l)
		}
	}
	return some
}
