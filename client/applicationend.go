package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// ErrApplicationEnded says that an application ended although it should run. The text contains YARN's
// diagnostics.
var ErrApplicationEnded = errors.New("application has ended")

// Await polls YARN's report until done returns true, and returns that report. It calls seen with every report.
func (app *Application) Await(ctx context.Context, seen func(records.ApplicationReport), done func(records.ApplicationReport) bool) (records.ApplicationReport, error) {
	return app.await(ctx, pollInterval, seen, done)
}

// AwaitEnd waits until YARN reports the end of an application whose job has ended. It calls seen with every report.
func (app *Application) AwaitEnd(ctx context.Context, seen func(records.ApplicationReport)) (records.ApplicationReport, error) {
	return app.await(ctx, endPoll, seen, hasEnded)
}

func hasEnded(r records.ApplicationReport) bool { return r.State.Terminal() }

// await is Await with the time between the first two requests.
func (app *Application) await(ctx context.Context, first time.Duration, seen func(records.ApplicationReport), done func(records.ApplicationReport) bool) (records.ApplicationReport, error) {
	began, least := time.Now(), max(first, app.c.poll)
	next := time.NewTimer(least)
	defer next.Stop()
	for {
		report, err := app.c.YARN.ApplicationReport(ctx, app.ID)
		if err != nil {
			if cause := context.Cause(ctx); cause != nil {
				err = cause
			}
			return report, err
		}
		seen(report)
		if done(report) {
			return report, nil
		}
		next.Reset(UntilNextLook(time.Since(began), least, mostPoll))
		select {
		case <-next.C:
		case <-ctx.Done():
			return report, context.Cause(ctx)
		}
	}
}

// AwaitRunning waits until the ApplicationMaster has registered, or the application has ended. If it has ended
// without success, the error is ErrApplicationEnded.
func (app *Application) AwaitRunning(ctx context.Context, seen func(records.ApplicationReport)) (records.ApplicationReport, error) {
	report, err := app.Await(ctx, seen, func(r records.ApplicationReport) bool {
		return r.State == records.ApplicationRunning || r.State.Terminal()
	})
	return report, succeeded(report, err)
}

// AwaitServing is AwaitRunning until the ApplicationMaster has also published its address. YARN knows an
// ApplicationMaster before it leads.
func (app *Application) AwaitServing(ctx context.Context, seen func(records.ApplicationReport)) (records.ApplicationReport, error) {
	report, err := app.Await(ctx, seen, func(r records.ApplicationReport) bool {
		return r.State.Terminal() || r.State == records.ApplicationRunning && app.serves(ctx, r)
	})
	return report, succeeded(report, err)
}

// serves tells whether the ApplicationMaster of a report has published its address. If that cannot be found out, it may
// have.
func (app *Application) serves(ctx context.Context, report records.ApplicationReport) bool {
	access, err := app.Access(ctx)
	return !errors.Is(err, ErrReplacing) && (err != nil || access.Attempt >= report.Attempt.Attempt)
}

// succeeded is the error for an application that has ended without success while its client waited for it.
func succeeded(report records.ApplicationReport, err error) error {
	if err == nil && report.State.Terminal() && report.FinalStatus != records.FinalSucceeded {
		return Ended(report)
	}
	return err
}

// AwaitEnd waits until YARN reports the end of an application, with any final status.
func (c *Cluster) AwaitEnd(ctx context.Context, id records.ApplicationID) (records.ApplicationReport, error) {
	return c.AwaitEndOf(ctx, id, 0)
}

// AwaitEndOf is AwaitEnd, and also returns when YARN reports that a later attempt than this one runs; 0: no attempt is
// later.
func (c *Cluster) AwaitEndOf(ctx context.Context, id records.ApplicationID, attempt int32) (records.ApplicationReport, error) {
	app := Application{ID: id, c: c}
	return app.Await(ctx, func(records.ApplicationReport) {}, func(r records.ApplicationReport) bool {
		return hasEnded(r) || attempt > 0 && r.State == records.ApplicationRunning && r.Attempt.Attempt > attempt
	})
}

// Ended is the error for an application that did not succeed. Its text is the last output of the
// ApplicationMaster, or else YARN's diagnostics.
func Ended(report records.ApplicationReport) error {
	text := cmp.Or(Diagnosis(report), "YARN gives no reason")
	if _, found := lastWords(report.Diagnostics); found {
		text += "\nMore: bobbin logs " + report.ID.String()
	}
	return fmt.Errorf("%w: %s is %s (%s): %s", ErrApplicationEnded, report.ID, report.State, report.FinalStatus, text)
}

// Diagnosis explains the state of an application by the last output of its ApplicationMaster, or else by YARN's
// diagnostics; "" if there are none. It may have several lines.
func Diagnosis(report records.ApplicationReport) string {
	if words, found := lastWords(report.Diagnostics); found {
		return words
	}
	return strings.TrimSpace(report.Diagnostics)
}

// Report is YARN's report of an application. If YARN does not know the application, the error is
// yarnrpc.ErrApplicationNotFound, in words for people.
func (c *Cluster) Report(ctx context.Context, id records.ApplicationID) (records.ApplicationReport, error) {
	report, err := c.YARN.ApplicationReport(ctx, id)
	if errors.Is(err, yarnrpc.ErrApplicationNotFound) {
		err = unknownError{id}
	}
	return report, err
}

// unknownError is yarnrpc.ErrApplicationNotFound in few words.
type unknownError struct{ id records.ApplicationID }

func (e unknownError) Unwrap() error { return yarnrpc.ErrApplicationNotFound }
func (e unknownError) Error() string {
	return e.id.String() + " is not known to YARN: bobbin applications --all lists the known applications"
}

// Access reads how the owner reaches the ApplicationMaster. While none has published its address since the last one
// was replaced, or since the application was submitted, the error is ErrReplacing.
func (app *Application) Access(ctx context.Context) (access launch.Access, err error) {
	if app.stored != "" {
		access, err = leadersAccess(ctx, app.c.Files, app.stored)
	} else {
		access, err = unprotectedAccess(ctx, app.c.Files, app.dir)
	}
	if err != nil {
		return access, fmt.Errorf("reach %s: %w", app.ID, err)
	}
	return access, nil
}

// lastWords extracts from YARN's diagnostics what an ApplicationMaster that ended by itself last wrote to its
// standard error. The diagnostics contain the end of that file twice, between texts of the NodeManager
// (ContainerLaunch#handleContainerExitWithFailure). ok is false if they do not contain it: YARN ended the
// ApplicationMaster, or never started it.
func lastWords(diagnostics string) (words string, ok bool) {
	_, rest, found := strings.Cut(diagnostics, "bytes of "+masterStderr+" :\n")
	if !found {
		return "", false
	}
	words, _, _ = strings.Cut(rest, "\n\n[") // the time that the next entry begins with
	words = strings.TrimSpace(words)
	return words, words != ""
}
