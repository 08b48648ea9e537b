package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/client/progress"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// witness records the states of an application.
type witness struct {
	*Journal
	wait    progress.Wait // since the application entered its state
	rounded bool          // the user was told that the container is larger
}

// deploy starts a cluster on YARN and waits until its ApplicationMaster runs. After an error,
// Ctrl-C included, nothing is left behind. The exception is an application that YARN has accepted, if YARN then
// no longer answers: the application continues.
func (w *witness) deploy(ctx context.Context, on *client.Cluster, d client.Deployment) (*client.Application, error) {
	d.Done, d.Uploading, d.Began = w.done, w.uploading, w.start
	if d.Config.IsSet(config.HighAvailabilityClusterID) {
		w.Line("%s has no effect: the application's id names its data", config.HighAvailabilityClusterID)
	}
	app, err := on.Deploy(ctx, d)
	if err != nil {
		w.Finish()
		return nil, err
	}
	w.Outcome.Application, w.Outcome.Job = app.ID.String(), string(app.Job)
	w.Line("submitted %s", app.ID)
	for _, advice := range app.Advice {
		w.Line("%s", advice)
	}
	await := app.AwaitServing
	if d.Mode == launch.PerJob { // whoever follows the job waits for the address
		await = app.AwaitRunning
	}
	report, err := await(ctx, func(report records.ApplicationReport) {
		w.state(report)
		w.size(app.RoundedUp(report))
	})
	if client.Unheard(err) {
		return nil, fmt.Errorf("%w. %s is submitted and may run. Its state: bobbin status -id %s. To end it: bobbin kill %s", err, app.ID, app.ID, app.ID)
	}
	if err != nil {
		if failed := app.Abandon(ctx); failed != nil {
			return nil, errors.Join(err, failed)
		}
		if errors.Is(err, ErrInterrupted) {
			w.Line("killed %s and removed its staged files", app.ID)
		}
		return nil, err
	}
	w.Outcome.TrackingURL = report.TrackingURL
	return app, nil
}

// state prints each new state of the application, and what the application waits for while YARN keeps it
// waiting.
func (w *witness) state(report records.ApplicationReport) {
	if w.Outcome.State == string(report.State) {
		w.Outcome.FinalStatus = string(report.FinalStatus)
		if report.State == records.ApplicationAccepted && time.Since(w.wait.Since) > longWait {
			w.Waiting(&w.wait, fmt.Sprintf("%s waits for its container", report.ID), waitsFor(report.Diagnostics))
		}
		return
	}
	w.Outcome.see(report)
	w.wait = progress.Wait{Since: time.Now()}
	line := fmt.Sprintf("%s is %s", report.ID, report.State)
	if report.State.Terminal() {
		line += fmt.Sprintf(" (%s)", report.FinalStatus)
	}
	if report.State == records.ApplicationRunning && report.TrackingURL != "" { // the page exists
		line += ", " + report.TrackingURL
	}
	w.Line("%s", line)
	w.done(string(report.State))
}

// size prints once how large YARN has made the ApplicationMaster's container, if it is larger than requested.
func (w *witness) size(asked, given int64, larger bool) {
	if larger && !w.rounded {
		w.rounded = true
		w.Line("YARN rounds the ApplicationMaster's container up from %d MB to %d MB", asked, given)
	}
}

// longWait is how long nothing may happen before the command explains the wait.
const longWait = 5 * time.Second

// waitsFor is the first part of YARN's diagnostics of a waiting application: "[Sat Nov 21 …] Application is
// added to the scheduler … limit exceeded. Details : …".
func waitsFor(diagnostics string) string {
	text := strings.TrimSpace(diagnostics)
	if _, rest, dated := strings.Cut(text, "] "); dated && strings.HasPrefix(text, "[") {
		text = rest
	}
	for _, end := range []string{"\n", "  ", " Details :"} {
		text, _, _ = strings.Cut(text, end)
	}
	return cmp.Or(text, "YARN gives no reason")
}
