package yarnclient

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/pause"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/pbconv"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// RejectedError is an application that YARN did not take: it ended before it had
// an attempt, whose ApplicationMaster could be started.
type RejectedError struct {
	ID          records.ApplicationID
	State       records.ApplicationState // FAILED or KILLED
	Diagnostics string                   // YARN's reason
}

// Error names the application and YARN's reason.
func (e *RejectedError) Error() string {
	return fmt.Sprintf("yarn rejected %s (%s): %s", e.ID, e.State, e.Diagnostics)
}

// Application is an application id that can be submitted under, and what the
// cluster offers to it.
type Application struct {
	ID records.ApplicationID
	// Maximum is the largest container of the cluster
	// (yarn.scheduler.maximum-allocation-mb and -vcores); a queue may have less.
	Maximum records.Resource
}

// NewApplication asks for an id (getNewApplication). An id that is never used costs nothing.
func (c *Client) NewApplication(ctx context.Context) (Application, error) {
	var response yarnpb.GetNewApplicationResponseProto
	if err := c.rpc.Call(ctx, "getNewApplication", &yarnpb.GetNewApplicationRequestProto{}, &response); err != nil {
		return Application{}, fmt.Errorf("get new application id: %w", err)
	}
	return Application{
		ID:      pbconv.ApplicationID(response.GetApplicationId()),
		Maximum: pbconv.Resource(response.GetMaximumCapability()),
	}, nil
}

// Submit hands an application to YARN (submitApplication) and waits until the
// scheduler has accepted it, or more: the report may say that it has ended, well
// or not. It may be repeated with the same context: YARN takes an id once. A
// ResourceManager that fails over before it has saved the application forgets it;
// it is then submitted again, as YarnClientImpl does.
//
// The error is a *RejectedError when YARN refused the application after taking
// it, a *yarnrpc.RemoteError when it refused at once (an unknown queue, a queue
// the user may not submit to, a label, too large an ApplicationMaster).
func (c *Client) Submit(ctx context.Context, application records.SubmissionContext) (records.ApplicationReport, error) {
	id := application.ID
	if place := application.Place; len(place.Hosts) > 0 && len(place.Racks) == 0 {
		// YARN would take it, and never start a strict one.
		return records.ApplicationReport{}, fmt.Errorf("submit %s: hosts %v without racks for the ApplicationMaster: name each one's, NodeReport.Rack, too", id, place.Hosts)
	}
	request := &yarnpb.SubmitApplicationRequestProto{ApplicationSubmissionContext: pbconv.SubmissionContextProto(application)}
	submit := true
	for {
		if submit {
			if err := c.rpc.Call(ctx, "submitApplication", request, &yarnpb.SubmitApplicationResponseProto{}); err != nil {
				return records.ApplicationReport{}, fmt.Errorf("submit %s: %w", id, err)
			}
		}
		report, err := c.ApplicationReport(ctx, id)
		submit = errors.Is(err, yarnrpc.ErrApplicationNotFound)
		if err != nil && !submit {
			return records.ApplicationReport{}, fmt.Errorf("submit %s: %w", id, err)
		}
		if !submit {
			switch report.State {
			case records.ApplicationFailed, records.ApplicationKilled:
				if report.Attempt.Attempt > 0 { // accepted, and over since
					return report, nil
				}
				return report, &RejectedError{ID: id, State: report.State, Diagnostics: report.Diagnostics}
			case records.ApplicationAccepted, records.ApplicationRunning, records.ApplicationFinished:
				return report, nil
			default: // on its way
			}
		}
		if err := pause.For(ctx, c.poll); err != nil {
			return report, fmt.Errorf("submit %s: %w", id, err)
		}
	}
}

// ApplicationReport tells how an application does (getApplicationReport);
// yarnrpc.ErrApplicationNotFound for one that the ResourceManager does not know,
// or has forgotten (yarn.resourcemanager.max-completed-applications).
func (c *Client) ApplicationReport(ctx context.Context, id records.ApplicationID) (records.ApplicationReport, error) {
	request := &yarnpb.GetApplicationReportRequestProto{ApplicationId: pbconv.ApplicationIDProto(id)}
	var response yarnpb.GetApplicationReportResponseProto
	if err := c.rpc.Call(ctx, "getApplicationReport", request, &response); err != nil {
		return records.ApplicationReport{}, fmt.Errorf("read report of %s: %w", id, err)
	}
	return pbconv.ApplicationReport(response.GetApplicationReport()), nil
}

// Kill ends an application (forceKillApplication) and waits until YARN says it has
// ended, which it does a moment early where the master is unmanaged; one that has
// ended already is no error. diagnostics is shown as the reason. The user must be the
// owner, or have the right to modify the application.
func (c *Client) Kill(ctx context.Context, id records.ApplicationID, diagnostics string) error {
	request := &yarnpb.KillApplicationRequestProto{ApplicationId: pbconv.ApplicationIDProto(id)}
	if diagnostics != "" {
		request.Diagnostics = proto.String(diagnostics)
	}
	for {
		var response yarnpb.KillApplicationResponseProto
		if err := c.rpc.Call(ctx, "forceKillApplication", request, &response); err != nil {
			return fmt.Errorf("kill %s: %w", id, err)
		}
		if response.GetIsKillCompleted() {
			return nil
		}
		if err := pause.For(ctx, c.poll); err != nil {
			return fmt.Errorf("kill %s: %w", id, err)
		}
	}
}
