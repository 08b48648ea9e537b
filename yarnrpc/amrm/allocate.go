package amrm

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/pause"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/pbconv"
)

// maxResyncs bounds the repairs within one Allocate.
const maxResyncs = 3

// Allocate is the heartbeat. It sends the changes since the last call and returns new
// containers and other news from YARN. Call it at least every
// yarn.am.liveness-monitor.expiry-interval-ms (15 min by default). YARN answers asks
// after NodeManagers have reported, so containers come with later calls. progress is 0
// to 1.
//
// It tries for as long as Options.Policy allows. An error loses nothing: call Allocate
// again. Two kinds of errors are different:
//   - ErrAttemptGone: the process must end without changing anything;
//   - yarnrpc.ErrInvalidResourceRequest, yarnrpc.ErrInvalidBlacklistRequest: YARN
//     refuses the same request again until the caller changes it.
func (c *Client) Allocate(ctx context.Context, progress float32) (Response, error) {
	var err error
	for range maxResyncs {
		var response Response
		if response, err = c.allocate(ctx, progress); err == nil {
			return response, nil
		}
		again, repairError := c.repair(ctx, err)
		if repairError != nil {
			err = repairError
		}
		if !again || repairError != nil {
			break
		}
	}
	return Response{}, fmt.Errorf("allocate for %s: %w", c.attempt, err)
}

func (c *Client) allocate(ctx context.Context, progress float32) (Response, error) {
	request := c.core.next(pause.Now(ctx), progress)
	var response yarnpb.AllocateResponseProto
	if err := c.call(ctx, "allocate", allocateProto(request), &response); err != nil {
		c.core.failed(fateOf(err))
		return Response{}, err
	}
	r := responseOf(&response)
	r.Allocated, r.Surplus = c.core.answered(answer{
		responseID: response.GetResponseId(),
		allocated:  r.Allocated,
		completed:  r.Completed,
		updated:    r.Updated,
		refused:    r.UpdateErrors,
		rejected:   r.Rejected,
	})
	maps.Copy(c.nmTokens, r.NMTokens)
	if token := pbconv.Token(response.GetAmRmToken()); token != nil {
		// Only connections made from now on use the new token. YARN sends the token again
		// until it sees such a connection.
		c.log.InfoContext(ctx, "AMRM token was rolled over", "attempt", c.attempt)
		c.token.Store(token)
		c.rpc.Reset()
	}
	if c.resynced != nil {
		r.Resynced = true
		r.PreviousContainers = append(r.PreviousContainers, c.resynced.PreviousContainers...)
		for node, token := range c.resynced.NMTokens {
			if _, newer := r.NMTokens[node]; !newer {
				r.NMTokens[node] = token
			}
		}
		c.resynced = nil
	}
	return r, nil
}

// fateOf returns what an error of an allocate means for its request. The allocate itself
// throws YARN's own exceptions. Other errors happen before the allocate runs: a standby,
// an overloaded server, a failed authentication. If YARN refuses a request, it has not
// applied earlier tries either.
func fateOf(err error) failure {
	switch {
	case errors.Is(err, yarnrpc.ErrYarn):
		return failureRefused
	case yarnrpc.MaybeSent(err):
		return failureLost
	default:
		return failureUnsent
	}
}

// repair handles an error of allocate that says that the ResourceManager's state differs from
// the client's. It reports whether to call allocate again at once.
func (c *Client) repair(ctx context.Context, err error) (again bool, repairError error) {
	switch {
	case errors.Is(err, yarnrpc.ErrApplicationMasterNotRegistered):
		if c.registration == nil {
			return false, nil
		}
		c.log.WarnContext(ctx, "yarn has forgotten the registration: registering again", "attempt", c.attempt)
		c.core.forgotten()
		c.resynced = &Registration{} // it stays empty if the answer is lost
		registration, err := c.register(ctx)
		if err != nil {
			return false, err
		}
		c.resynced = &registration
		return true, nil
	case errors.Is(err, yarnrpc.ErrInvalidApplicationMasterRequest):
		id, ok := expectedResponseID(err)
		if ok {
			c.log.WarnContext(ctx, "response ids differ: continuing with yarn's", "attempt", c.attempt, "response_id", id)
			c.core.expect(id)
		}
		return ok, nil
	case errors.Is(err, yarnrpc.ErrInvalidContainerRelease):
		c.core.dropForeignReleases(c.attempt)
		return false, nil
	default:
		return false, nil
	}
}

// expectedResponseID finds the response id that the ResourceManager expects. Only the
// text of the refusal has it (AMRMClientUtils#assembleInvalidResponseIdExceptionMessage).
func expectedResponseID(err error) (int32, bool) {
	var remote *yarnrpc.RemoteError
	if !errors.As(err, &remote) {
		return 0, false
	}
	_, rest, ok := strings.Cut(remote.Message, "expect responseId to be ")
	if !ok {
		return 0, false
	}
	digits, _, _ := strings.Cut(rest, ",")
	digits, _, _ = strings.Cut(digits, " ")
	id, err := strconv.ParseInt(digits, 10, 32)
	return int32(id), err == nil && id >= 0
}
