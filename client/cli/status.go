package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/client/run"
	"github.com/bobbin-yarn/bobbin/client/terminal"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

func statusCommand(bind binder) *cli.Command {
	return &cli.Command{
		Name:  "status",
		Usage: "print the workers, slots and jobs of an application",
		Description: "Prints the numbers of workers, slots and jobs, each job that waits for slots, and each job\n" +
			"that runs in waves. Of up to 12 jobs it prints the vertices that wait for inputs. For a\n" +
			"session the command also prints the programs that were started by REST, with their ids.\n\n" +
			"For an application that has not started yet, or has ended, the command prints YARN's\n" +
			"report: state, times and diagnostics. If YARN has started several ApplicationMasters, one\n" +
			"after the other, it lists them, with the reason why each has ended.\n\n" +
			"With -w the command prints the status again when it changes, until the application has\n" +
			"ended. A terminal shows only the newest one.\n\n" +
			"  bobbin status\n  bobbin status -w -id application_1700000000000_0001",
		Flags: slices.Concat([]cli.Flag{
			&cli.BoolFlag{Name: flagWatch, Aliases: []string{"w"}, Usage: "print the status again and again, until the application has ended"},
		}, meantFlags(), []cli.Flag{outputFlag()}, clusterFlags()),
		Action: bind(statusOf),
	}
}

func status(ctx context.Context, c *call, master *reached) error {
	o, err := master.Overview(ctx)
	if err != nil {
		return err
	}
	programs, err := master.Drivers(ctx)
	if err != nil {
		return err
	}
	jobs, err := master.Jobs(ctx)
	if err != nil {
		return err
	}
	jobs = chosen(jobs, []section{sectionRunning, sectionScheduled})
	inputs, err := inputsWaitOf(ctx, master, jobs)
	if err != nil {
		return err
	}
	blocked, err := master.Blocklist(ctx)
	if err != nil {
		return err
	}
	supply, err := supplyOf(ctx, master)
	if err != nil {
		return err
	}
	report, err := master.Report(ctx)
	switch {
	case errors.Is(err, run.ErrYARNAway):
		fmt.Fprintln(c.Err, "YARN does not answer: the output lacks its report of the application")
	case err != nil && !errors.Is(err, run.ErrNoYARN):
		return err
	}
	attempts := c.attempts(ctx, master.Site)
	if c.json {
		told := map[string]any{
			"application": master.Application(), "version": o.Version, "taskManagers": o.Workers, "slots": o.Slots, "slotsFree": o.FreeSlots,
			"jobsRunning": o.Running, "jobsFinished": o.Finished, "jobsCanceled": o.Canceled, "jobsFailed": o.Failed,
			"drivers": driversOf(programs), "containersRequested": supply.Requested, "containersStarting": supply.Starting, "waiting": waitingOf(supply),
			"waitingForInputs": inputs, "taskManagersSpare": supply.Spares, "taskManagersOfFloor": supply.Floor,
		}
		if err == nil {
			maps.Copy(told, reportJSON(report))
			told["attempts"] = attemptsOf(attempts)
		}
		told["blockedNodes"], told["notes"] = blockedOf(blocked), notesOf(jobs)
		return c.encode(told)
	}
	facts := terminal.Facts{{"application", master.String()}}
	if err == nil {
		facts = terminal.Facts{
			{"application", fmt.Sprintf("%s (%s)", master, report.Name)},
			{"state", fmt.Sprintf("%s since %s, in queue %s", report.State, report.Started.Local().Format(time.DateTime), report.Queue)},
		}
	}
	facts = append(facts, attemptFacts(attempts)...)
	facts = append(facts, terminal.Facts{
		{"TaskExecutors", fmt.Sprint(o.Workers)},
		{"slots", fmt.Sprintf("%d, %d of them free", o.Slots, o.FreeSlots)},
		{"jobs", fmt.Sprintf("%d running, %d finished, %d canceled, %d failed", o.Running, o.Finished, o.Canceled, o.Failed)},
	}...)
	facts = append(facts, keptOf(supply)...)
	facts = append(append(facts, waitsOf(supply)...), inputFacts(inputs)...)
	for _, j := range jobs {
		if j.Note != "" {
			facts = append(facts, [2]string{"note", noteOf(j)})
		}
	}
	for _, d := range programs {
		facts = append(facts, [2]string{"program", fmt.Sprintf("%s (%s) since %s, %d MB, jobs submitted: %d", d.Name, d.ID, d.Started.Local().Format(time.DateTime), d.MemoryMB, d.Jobs)})
	}
	facts = append(facts, blockedFacts(blocked)...)
	if err == nil {
		facts = append(facts, [2]string{"web page", report.TrackingURL})
	}
	return facts.Write(c.Out)
}

// note says how a job runs, if users would not expect it, for -o json.
type note struct {
	Job  ids.JobID `json:"job"`
	Note string    `json:"note"`
}

func notesOf(jobs []client.JobOverview) []note {
	notes := []note{}
	for _, j := range jobs {
		if j.Note != "" {
			notes = append(notes, note{j.ID, j.Note})
		}
	}
	return notes
}

// runningDriver is a program beside the ApplicationMaster, for -o json.
type runningDriver struct {
	ID       string `json:"driver"`
	Name     string `json:"name"`
	Started  int64  `json:"started"` // ms since 1970
	MemoryMB int    `json:"memoryMB"`
	Jobs     int    `json:"jobs"` // submitted by the program
}

func driversOf(programs []client.Driver) []runningDriver {
	drivers := make([]runningDriver, len(programs))
	for i, d := range programs {
		drivers[i] = runningDriver{d.ID, d.Name, d.Started.UnixMilli(), d.MemoryMB, d.Jobs}
	}
	return drivers
}

// blockedFacts are the nodes that jobs have set aside, for people. Only the first line of a cause is shown: the
// next lines may quote the output of a task host.
func blockedFacts(nodes []msg.BlockedNode) (facts terminal.Facts) {
	for _, n := range nodes {
		why, _, _ := strings.Cut(n.Cause, "\n")
		facts = append(facts, [2]string{"set aside", fmt.Sprintf("node %s until %s: %s", n.Node, n.Until.Local().Format(time.DateTime), why)})
	}
	return facts
}

// blockedNode is a node that jobs have set aside, for -o json.
type blockedNode struct {
	Node  string `json:"node"`
	Cause string `json:"cause"`
	Until int64  `json:"until"` // ms since 1970
}

func blockedOf(nodes []msg.BlockedNode) []blockedNode {
	blocked := make([]blockedNode, len(nodes))
	for i, n := range nodes {
		blocked[i] = blockedNode{n.Node, n.Cause, n.Until.UnixMilli()}
	}
	return blocked
}
