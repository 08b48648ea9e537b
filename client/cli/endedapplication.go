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
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// statusOf is the command status. If the application waits for its ApplicationMaster, or has ended, it prints
// YARN's report.
func statusOf(ctx context.Context, c *call) error {
	err := withCluster(ctx, c, status)
	idle, is := errors.AsType[*client.NotRunningError](err)
	if !is {
		return err
	}
	tellOutdated(c.Err, err)
	if c.json {
		return c.encode(reportJSON(idle.Report))
	}
	return writeReport(c.Out, idle.Report)
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
	return run.Printed{Err: errors.Join(err, writeReport(c.Err, idle.Report))}
}

// tellOutdated prints which file names an application that does not run.
func tellOutdated(out io.Writer, err error) {
	if hint := run.Outdated(err); hint != "" {
		fmt.Fprintln(out, hint)
	}
}

// writeReport prints YARN's report of an application without an ApplicationMaster.
func writeReport(out io.Writer, report records.ApplicationReport) error {
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
