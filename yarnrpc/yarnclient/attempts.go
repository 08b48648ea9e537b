package yarnclient

import (
	"context"
	"fmt"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/pbconv"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// Attempt returns the state of an attempt (getApplicationAttemptReport). The
// error is yarnrpc.ErrApplicationAttemptNotFound if the attempt never existed.
func (c *Client) Attempt(ctx context.Context, id records.ApplicationAttemptID) (records.AttemptReport, error) {
	request := &yarnpb.GetApplicationAttemptReportRequestProto{ApplicationAttemptId: pbconv.ApplicationAttemptIDProto(id)}
	var response yarnpb.GetApplicationAttemptReportResponseProto
	if err := c.rpc.Call(ctx, "getApplicationAttemptReport", request, &response); err != nil {
		return records.AttemptReport{}, fmt.Errorf("read report of %s: %w", id, err)
	}
	return pbconv.AttemptReport(response.GetApplicationAttemptReport()), nil
}

// Attempts lists the attempts of an application (getApplicationAttempts).
func (c *Client) Attempts(ctx context.Context, id records.ApplicationID) ([]records.AttemptReport, error) {
	request := &yarnpb.GetApplicationAttemptsRequestProto{ApplicationId: pbconv.ApplicationIDProto(id)}
	var response yarnpb.GetApplicationAttemptsResponseProto
	if err := c.rpc.Call(ctx, "getApplicationAttempts", request, &response); err != nil {
		return nil, fmt.Errorf("list attempts of %s: %w", id, err)
	}
	return pbconv.AttemptReports(response.GetApplicationAttempts()), nil
}

// FailAttempt makes an attempt fail (failApplicationAttempt). YARN then starts
// the next attempt or, if none is left, ends the application. FailAttempt does
// not wait for that. If the application has ended, the call has no effect and
// returns no error. The user must have the right to modify the application.
//
// The Client does not repeat the call if the first try may have been executed.
func (c *Client) FailAttempt(ctx context.Context, id records.ApplicationAttemptID) error {
	request := &yarnpb.FailApplicationAttemptRequestProto{ApplicationAttemptId: pbconv.ApplicationAttemptIDProto(id)}
	if err := c.rpc.Call(ctx, "failApplicationAttempt", request, &yarnpb.FailApplicationAttemptResponseProto{}); err != nil {
		return fmt.Errorf("fail %s: %w", id, err)
	}
	return nil
}

// Container returns the state of a container (getContainerReport). The
// ResourceManager forgets a container soon after its end; then the error is
// yarnrpc.ErrContainerNotFound.
func (c *Client) Container(ctx context.Context, id records.ContainerID) (records.ContainerReport, error) {
	request := &yarnpb.GetContainerReportRequestProto{ContainerId: pbconv.ContainerIDProto(id)}
	var response yarnpb.GetContainerReportResponseProto
	if err := c.rpc.Call(ctx, "getContainerReport", request, &response); err != nil {
		return records.ContainerReport{}, fmt.Errorf("read report of %s: %w", id, err)
	}
	return pbconv.ContainerReport(response.GetContainerReport()), nil
}

// Containers lists the containers of an attempt that the ResourceManager still
// remembers (getContainers): mostly running ones.
func (c *Client) Containers(ctx context.Context, id records.ApplicationAttemptID) ([]records.ContainerReport, error) {
	request := &yarnpb.GetContainersRequestProto{ApplicationAttemptId: pbconv.ApplicationAttemptIDProto(id)}
	var response yarnpb.GetContainersResponseProto
	if err := c.rpc.Call(ctx, "getContainers", request, &response); err != nil {
		return nil, fmt.Errorf("list containers of %s: %w", id, err)
	}
	reports := make([]records.ContainerReport, 0, len(response.GetContainers()))
	for _, p := range response.GetContainers() {
		reports = append(reports, pbconv.ContainerReport(p))
	}
	return reports, nil
}

// SignalContainer makes a NodeManager send a signal to the processes of a
// container (signalToContainer). The NodeManager gets the order with its next
// heartbeat; YARN does not report whether it has sent the signal. It is an error
// if the container has ended. The user must have the right to modify the
// application.
//
// The Client does not repeat the call if the first try may have been executed.
func (c *Client) SignalContainer(ctx context.Context, id records.ContainerID, signal records.ContainerSignal) error {
	command := pbconv.ContainerSignalProto(signal)
	if command == nil {
		return fmt.Errorf("signal %s: yarn has no signal %q", id, signal)
	}
	request := &yarnpb.SignalContainerRequestProto{ContainerId: pbconv.ContainerIDProto(id), Command: command}
	if err := c.rpc.Call(ctx, "signalToContainer", request, &yarnpb.SignalContainerResponseProto{}); err != nil {
		return fmt.Errorf("signal %s: %w", id, err)
	}
	return nil
}
