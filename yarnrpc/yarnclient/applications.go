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

// RejectedError says that YARN rejected an application: it ended before it had an attempt,
// so no ApplicationMaster could start.
type RejectedError struct {
	ID          records.ApplicationID
	State       records.ApplicationState // FAILED or KILLED
	Diagnostics string                   // YARN's reason
}

// Error names the application and YARN's reason.
func (e *RejectedError) Error() string {
	return fmt.Sprintf("yarn rejected %s (%s): %s", e.ID, e.State, e.Diagnostics)
}

// Application is a new application id and the cluster's largest container.
type Application struct {
	ID records.ApplicationID
	// Maximum is the largest container of the cluster (yarn.scheduler.maximum-allocation-mb
	// and -vcores). A queue may have a lower limit.
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

// Submit submits an application to YARN (submitApplication) and waits until the scheduler
// has accepted it. By then the application may already run or have ended, and the report
// says so. Submit may be repeated with the same context, because YARN accepts an id only
// once. If the ResourceManager fails over before it has saved the application, Submit
// submits it again, as YarnClientImpl does.
//
// The error is a *RejectedError if YARN first took the application and then rejected it, for
// example for an unknown queue. It is a *yarnrpc.RemoteError if YARN refused it at once, for
// example for a queue to which the user may not submit, a node label that the queue may not
// use, or an ApplicationMaster that is too large.
func (c *Client) Submit(ctx context.Context, application records.SubmissionContext) (records.ApplicationReport, error) {
	id := application.ID
	if place := application.Place; len(place.Hosts) > 0 && len(place.Racks) == 0 {
		// YARN would accept it and, if it is strict, never start it.
		return records.ApplicationReport{}, fmt.Errorf("submit %s: the ApplicationMaster's place has hosts %v but no racks: add the rack of each host (NodeReport.Rack)", id, place.Hosts)
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
				if report.Attempt.Attempt > 0 { // it was accepted and has ended since
					return report, nil
				}
				return report, &RejectedError{ID: id, State: report.State, Diagnostics: report.Diagnostics}
			case records.ApplicationAccepted, records.ApplicationRunning, records.ApplicationFinished:
				return report, nil
			default: // not accepted yet
			}
		}
		if err := pause.For(ctx, c.poll); err != nil {
			return report, fmt.Errorf("submit %s: %w", id, err)
		}
	}
}

// ApplicationReport returns the state of an application (getApplicationReport). The error is
// yarnrpc.ErrApplicationNotFound if the ResourceManager does not know the application or has
// forgotten it (yarn.resourcemanager.max-completed-applications).
func (c *Client) ApplicationReport(ctx context.Context, id records.ApplicationID) (records.ApplicationReport, error) {
	request := &yarnpb.GetApplicationReportRequestProto{ApplicationId: pbconv.ApplicationIDProto(id)}
	var response yarnpb.GetApplicationReportResponseProto
	if err := c.rpc.Call(ctx, "getApplicationReport", request, &response); err != nil {
		return records.ApplicationReport{}, fmt.Errorf("read report of %s: %w", id, err)
	}
	return pbconv.ApplicationReport(response.GetApplicationReport()), nil
}

// Kill ends an application (forceKillApplication) and waits until YARN reports its end. For
// an unmanaged master, YARN reports the end a moment early. It is no error if the
// application has ended already. YARN shows diagnostics as the reason. The user must be the
// owner or have the right to modify the application.
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
