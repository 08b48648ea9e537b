package cli

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
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// launcher starts a cluster on YARN, and tells what becomes of its application.
type launcher struct {
	cfg      config.Config
	cluster  *client.Cluster
	say      *progress.Printer
	timeline *client.Timeline
	outcome  *outcome
	wait     progress.Wait // since the application's state was seen first
	rounded  bool          // it has been told that its container is larger
}

func (l *launcher) uploading(name string, done, total int64) {
	l.say.Moving(name, "uploading "+name+": "+progress.Bytes(done, total))
}

// start starts a cluster and waits until its ApplicationMaster runs. After an error,
// Ctrl-C included, nothing is left behind.
func (l *launcher) start(ctx context.Context, d client.Deployment) (*client.Application, error) {
	d.Config, d.Timeline, d.Uploading = l.cfg, l.timeline, l.uploading
	if l.cfg.IsSet(config.HighAvailabilityClusterID) {
		l.say.Line("%s has no effect: there is no high availability yet", config.HighAvailabilityClusterID)
	}
	app, err := l.cluster.Deploy(ctx, d)
	if err != nil {
		l.say.Finish()
		return nil, err
	}
	l.outcome.Application, l.outcome.Job = app.ID.String(), string(app.Job)
	l.say.Line("submitted %s", app.ID)
	for _, advice := range app.Advice {
		l.say.Line("%s", advice)
	}
	report, err := app.AwaitRunning(ctx, func(report records.ApplicationReport) {
		l.state(report)
		l.size(app.RoundedUp(report))
	})
	if err != nil {
		if failed := app.Abandon(ctx); failed != nil {
			return nil, errors.Join(err, failed)
		}
		if errors.Is(err, ErrInterrupted) {
			l.say.Line("killed %s and removed what was staged for it", app.ID)
		}
		return nil, err
	}
	l.outcome.TrackingURL = report.TrackingURL
	return app, nil
}

// state prints a state of the application, once each, and what it waits for while
// YARN keeps it waiting.
func (l *launcher) state(report records.ApplicationReport) {
	if l.outcome.State == string(report.State) {
		l.outcome.FinalStatus = string(report.FinalStatus)
		if report.State == records.ApplicationAccepted && time.Since(l.wait.Since) > longWait {
			l.say.Waiting(&l.wait, fmt.Sprintf("%s waits for its container", report.ID), waitsFor(report.Diagnostics))
		}
		return
	}
	l.outcome.see(report)
	l.wait = progress.Wait{Since: time.Now()}
	line := fmt.Sprintf("%s is %s", report.ID, report.State)
	if report.State.Terminal() {
		line += fmt.Sprintf(" (%s)", report.FinalStatus)
	}
	if report.State == records.ApplicationRunning && report.TrackingURL != "" { // it shows something
		line += ", " + report.TrackingURL
	}
	l.say.Line("%s", line)
	l.timeline.Done(string(report.State))
}

// size prints how large YARN has made the ApplicationMaster's container, once, if it is larger
// than was asked for.
func (l *launcher) size(asked, given int64, larger bool) {
	if larger && !l.rounded {
		l.rounded = true
		l.say.Line("YARN rounds the ApplicationMaster's container up from %d MB to %d MB", asked, given)
	}
}

// longWait is how long nothing may happen before people wonder.
const longWait = 5 * time.Second

// waitsFor is the first of what YARN says of an application that waits: "[Sat Nov
// 21 …] Application is added to the scheduler … limit exceeded.  Details : …".
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
