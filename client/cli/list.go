package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/client/terminal"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

func listCommand(bind binder) *cli.Command {
	return &cli.Command{
		Name:  "list",
		Usage: "list the jobs of an application",
		Description: "Prints a line for each job that runs or waits for slots: its start, id, name and state.\n" +
			"The headings and lines have the form of Flink's command. Use -o json in scripts.\n\n" +
			"  bobbin list\n  bobbin list -a -id application_1700000000000_0001",
		Flags: slices.Concat([]cli.Flag{
			&cli.BoolFlag{Name: "running", Aliases: []string{"r"}, Usage: "list only running jobs"},
			&cli.BoolFlag{Name: "scheduled", Aliases: []string{"s"}, Usage: "list only jobs that wait for slots"},
			&cli.BoolFlag{Name: "all", Aliases: []string{"a"}, Usage: "also list jobs that have ended"},
		}, meantFlags(), []cli.Flag{outputFlag()}, clusterFlags()),
		Action: bind(listOf),
	}
}

func list(ctx context.Context, c *call, master *reached) error {
	jobs, err := master.Jobs(ctx)
	if err != nil {
		return err
	}
	supply, err := supplyOf(ctx, master)
	if err != nil {
		return err
	}
	asked := sectionsOf(c.line)
	jobs = chosen(jobs, asked)
	if c.json {
		return c.encode(jobsJSON(jobs, supply))
	}
	for _, s := range asked {
		if err := s.write(c.Out, jobs); err != nil {
			return err
		}
	}
	for _, j := range jobs { // on standard error, because scripts read the list
		if j.Note != "" {
			fmt.Fprintln(c.Err, noteOf(j))
		}
	}
	for _, d := range supply.Jobs {
		if d.Waits() {
			fmt.Fprintln(c.Err, waitOf(supply, d))
		}
	}
	return nil
}

// noteOf says how a job runs, if users would not expect it.
func noteOf(j client.JobOverview) string { return fmt.Sprintf("job %s: %s", j.ID, j.Note) }

// section is a part of a list, in Flink's order.
type section int

const (
	sectionRunning section = iota
	sectionScheduled
	sectionEnded
)

// sectionsOf are the sections that a command line asks for, as in Flink.
func sectionsOf(c *cli.Context) []section {
	switch running, scheduled := c.Bool("running"), c.Bool("scheduled"); {
	case c.Bool("all"):
		return []section{sectionRunning, sectionScheduled, sectionEnded}
	case running == scheduled:
		return []section{sectionRunning, sectionScheduled}
	case running:
		return []section{sectionRunning}
	}
	return []section{sectionScheduled}
}

// write writes the jobs of a section in the form of Flink's command: below a heading and above a line. Without
// jobs it writes a sentence.
func (s section) write(out io.Writer, jobs []client.JobOverview) error {
	table := terminal.Table{
		Columns: []terminal.Column{{Title: "started"}, {Title: "job"}, {Title: "name", Long: true}, {Title: "state"}},
		Line:    "%s : %s : %s (%s)", // Flink's
	}
	some := false
	for _, j := range jobs {
		if sectionOf(j.Status) == s {
			table.Add(j.Start.Local().Format(time.DateTime), j.ID, j.Name, j.Status)
			some = true
		}
	}
	heading, none := "", ""
	switch s {
	case sectionRunning:
		heading, none = " Running/Restarting Jobs ", "No running jobs."
	case sectionScheduled:
		heading, none = " Scheduled/Initializing Jobs ", "No scheduled jobs."
	case sectionEnded:
		heading, none = " Terminated Jobs ", "No terminated jobs."
	}
	if !some {
		_, err := fmt.Fprintln(out, none)
		return err
	}
	if _, err := fmt.Fprintln(out, rule(heading)); err != nil {
		return err
	}
	if err := table.Write(out); err != nil {
		return err
	}
	_, err := fmt.Fprintln(out, rule(""))
	return err
}

// rule is a horizontal line with a heading in the middle.
func rule(heading string) string {
	const width = 62
	left := (width - len(heading)) / 2
	return strings.Repeat("-", left) + heading + strings.Repeat("-", width-left-len(heading))
}

func sectionOf(status msg.JobStatus) section {
	switch {
	case status.GloballyTerminal():
		return sectionEnded
	case status == msg.JobCreated || status == msg.JobInitializing:
		return sectionScheduled
	}
	return sectionRunning
}

// chosen are the jobs of the sections that a list shows, sorted by section, then by state, then by start.
func chosen(jobs []client.JobOverview, asked []section) []client.JobOverview {
	kept := slices.DeleteFunc(slices.Clone(jobs), func(j client.JobOverview) bool { return !slices.Contains(asked, sectionOf(j.Status)) })
	slices.SortFunc(kept, func(a, b client.JobOverview) int {
		return cmp.Or(cmp.Compare(sectionOf(a.Status), sectionOf(b.Status)), cmp.Compare(a.Status, b.Status), a.Start.Compare(b.Start), cmp.Compare(a.ID, b.ID))
	})
	return kept
}

func jobsJSON(jobs []client.JobOverview, supply msg.SlotSupply) map[string]any {
	type job struct {
		ID       ids.JobID     `json:"job"`
		Name     string        `json:"name"`
		Status   msg.JobStatus `json:"jobStatus"`
		Started  int64         `json:"started"` // ms since 1970
		Ended    int64         `json:"ended"`   // -1 while the job runs
		Tasks    int           `json:"tasks"`
		Running  int           `json:"tasksRunning"`
		Finished int           `json:"tasksFinished"`
		Note     string        `json:"note,omitempty"` // "it runs in waves …"
	}
	list := make([]job, len(jobs))
	for i, j := range jobs {
		list[i] = job{j.ID, j.Name, j.Status, j.Start.UnixMilli(), -1, j.Tasks, j.Running, j.Finished, j.Note}
		if !j.End.IsZero() {
			list[i].Ended = j.End.UnixMilli()
		}
	}
	return map[string]any{"jobs": list, "waiting": waitingOf(supply)}
}
