package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/client/run"
	"github.com/bobbin-yarn/bobbin/client/terminal"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// statusOf is the command status. If the application waits for its ApplicationMaster, or has ended, it prints
// YARN's report. If the ApplicationMaster is being replaced, it also returns an error.
func statusOf(ctx context.Context, c *call) (err error) {
	if err := noArguments(c.line); err != nil {
		return err
	}
	again := c.line.Bool(flagWatch)
	if again && c.json {
		return fmt.Errorf("%w: -w prints text again and again: leave out -o json", ErrUsage)
	}
	site, cfg, done, err := c.find(ctx)
	if err != nil {
		return err
	}
	defer done(&err)
	if again {
		return c.watchStatus(ctx, site, cfg)
	}
	_, err = c.statusAt(ctx, site, cfg)
	return err
}

// statusAt prints the status once. over says that the application has ended.
func (c *call) statusAt(ctx context.Context, site run.Site, cfg config.Config) (over bool, err error) {
	master, err := site.Reach(ctx)
	if err == nil {
		defer master.Close()
		to := &reached{master, site, cfg}
		err = to.explain(ctx, status(ctx, c, to))
	}
	report, idle := idleReport(err)
	if !idle {
		return false, err
	}
	if errors.Is(err, client.ErrReplacing) {
		return false, errors.Join(err, c.printReport(ctx, site, report, err))
	}
	tellOutdated(c.Err, err)
	return report.State.Terminal(), c.printReport(ctx, site, report, nil)
}

// idleReport is YARN's report in the error about an application without an ApplicationMaster.
func idleReport(err error) (report records.ApplicationReport, is bool) {
	if idle, is := errors.AsType[*client.NotRunningError](err); is {
		return idle.Report, true
	}
	if replacing, is := errors.AsType[*client.ReplacingError](err); is {
		return replacing.Report, true
	}
	return report, false
}

// printReport prints YARN's report of an application without an ApplicationMaster. why is part of the JSON.
func (c *call) printReport(ctx context.Context, site run.Site, report records.ApplicationReport, why error) error {
	attempts := c.attempts(ctx, site)
	if !c.json {
		return writeReport(c.Out, report, attempts)
	}
	told := reportJSON(report)
	told["attempts"] = attemptsOf(attempts)
	if why != nil {
		told["error"] = why.Error()
	}
	return c.encode(told)
}

// listOf is the command list. The jobs of an ended application are not known: listOf prints YARN's report and
// returns an error.
func listOf(ctx context.Context, c *call) error {
	err := withCluster(ctx, c, list)
	idle, is := errors.AsType[*client.NotRunningError](err)
	if !is || !idle.Report.State.Terminal() {
		return err
	}
	tellOutdated(c.Err, err)
	if c.json {
		told := reportJSON(idle.Report)
		told["jobs"], told["error"] = []any{}, err.Error()
		return errors.Join(err, c.encode(told))
	}
	fmt.Fprintf(c.Err, "%s has ended, and the list of its jobs is gone:\n", idle.Report.ID)
	return run.Printed{Err: errors.Join(err, writeReport(c.Err, idle.Report, nil))}
}

// tellOutdated prints which file names an application that does not run.
func tellOutdated(out io.Writer, err error) {
	if hint := run.Outdated(err); hint != "" {
		fmt.Fprintln(out, hint)
	}
}

// writeReport prints YARN's report of an application without an ApplicationMaster.
func writeReport(out io.Writer, report records.ApplicationReport, attempts []records.AttemptReport) error {
	state := fmt.Sprintf("%s, in queue %s", report.State, report.Queue)
	if report.State.Terminal() {
		state = fmt.Sprintf("%s (%s), in queue %s", report.State, report.FinalStatus, report.Queue)
	}
	facts := terminal.Facts{
		{"application", fmt.Sprintf("%s (%s)", report.ID, report.Name)},
		{"state", state},
		{"started", report.Started.Local().Format(time.DateTime)},
	}
	if !report.Finished.IsZero() {
		took := report.Finished.Sub(report.Started).Round(time.Millisecond)
		facts = append(facts, [2]string{"ended", fmt.Sprintf("%s, after %s", report.Finished.Local().Format(time.DateTime), took)})
	}
	facts = append(facts, attemptFacts(attempts)...)
	name := "diagnostics"
	if text := client.Diagnosis(report); text != "" {
		for line := range strings.SplitSeq(text, "\n") {
			facts, name = append(facts, [2]string{name, line}), ""
		}
	}
	return append(facts, [2]string{"logs", "bobbin logs " + report.ID.String()}).Write(out)
}

// reportJSON is YARN's report of an application for -o json. Times are in ms since 1970.
func reportJSON(report records.ApplicationReport) map[string]any {
	told := map[string]any{
		"application": report.ID.String(), "name": report.Name, "state": report.State, "queue": report.Queue, "user": report.User,
		"started": report.Started.UnixMilli(), "trackingUrl": report.TrackingURL,
	}
	if report.State.Terminal() {
		maps.Copy(told, map[string]any{
			"finalStatus": report.FinalStatus, "diagnostics": report.Diagnostics, "finished": report.Finished.UnixMilli(),
		})
	}
	return told
}
