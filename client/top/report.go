package top

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/client/live"
	"github.com/bobbin-yarn/bobbin/client/run"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// reportInterval is the time between two questions to YARN.
const reportInterval = 5 * time.Second

// report asks YARN once. wait is the time until the next question.
func report(ctx context.Context, site Site, tell func(Event)) (wait time.Duration) {
	told, err := site.Report(ctx)
	switch {
	case errors.Is(err, run.ErrYARNAway):
		tell(Unheard{})
	case err != nil: // there is no YARN on this machine, or it has forgotten the application
	case told.State.Terminal(): // even if its ApplicationMaster still answers
		tell(over(told))
	default:
		tell(Reported{At: time.Now(), Report: Report{Name: told.Name, Queue: told.Queue, State: string(told.State), Started: told.Started, Attempt: told.Attempt.Attempt}})
	}
	return reportInterval
}

// over is the event of an application that has ended.
func over(r records.ApplicationReport) Over {
	words := fmt.Sprintf("%s at %s after %s", r.FinalStatus, r.Finished.Local().Format(time.TimeOnly), live.Lasting(r.Finished.Sub(r.Started)))
	if why := client.Diagnosis(r); why != "" {
		words += ": " + why
	}
	return Over{State: string(r.State), Words: words}
}

// missedFirst is missed after a look that was the first one at an ApplicationMaster: waiting helps a user as little who may not
// look as one who has mistyped the application.
func missedFirst(first bool, err error) Event {
	refused, is := errors.AsType[*client.StatusError](err)
	if first && (errors.Is(err, yarnrpc.ErrApplicationNotFound) || is && (refused.Status == http.StatusUnauthorized || refused.Status == http.StatusForbidden)) {
		return Refused{err}
	}
	return missed(err)
}

// missed is the event of a look that failed.
func missed(err error) Event {
	if errors.Is(err, client.ErrEnding) { // YARN still says RUNNING
		return Missed{Words: "the application is ending"}
	}
	if gone, is := errors.AsType[*client.NotRunningError](err); is {
		if gone.Report.State.Terminal() {
			return over(gone.Report)
		}
		return Missed{Words: fmt.Sprintf("%s: it waits for its ApplicationMaster", gone.Report.State)}
	}
	if replacing, is := errors.AsType[*client.ReplacingError](err); is {
		return Missed{Words: fmt.Sprintf("YARN says %s, attempt %d", replacing.Report.State, replacing.Report.Attempt.Attempt), Replacing: true}
	}
	if errors.Is(err, client.ErrReplacing) {
		return Missed{Words: "the next one does not lead yet", Replacing: true}
	}
	return Missed{Words: err.Error()}
}
