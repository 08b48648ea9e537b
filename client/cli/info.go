package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/bobbin-yarn/bobbin/client/run"
	"github.com/bobbin-yarn/bobbin/client/terminal"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
)

func infoCommand(bind binder) *cli.Command {
	return &cli.Command{
		Name:      "info",
		Usage:     "print the plan of a job, without running the job",
		ArgsUsage: "PROGRAM [program arguments] | JOB",
		Description: `The command starts the program, and ends the program when it executes its first job. The
program's output goes to standard error. With the id of a job instead of a program, the
command prints the plan of that job.

With -t yarn-per-job or yarn-application the command also prints how the memory of the
containers is divided.

If the slot sharing groups of a job have resources, the command also prints these. It does
not know those of a job that runs.

With -o json the plan has the form of the REST path /jobs/JOB/plan. The plan is null if the
program executes no job, for example with --help. Sizes of memory are in bytes.

  bobbin info -p 4 ./wordcount --input hdfs:///text --output hdfs:///counts
  bobbin info -t yarn-per-job -tm 4g -s 4 ./wordcount --input hdfs:///text --output hdfs:///counts
  bobbin info -id application_1700000000000_0001 5f0c4a1e6b7d4c3f8a9b0c1d2e3f4a5b`,
		Flags:  slices.Concat(flags(infoFlags()...), []cli.Flag{outputFlag()}, meantFlags(), clusterFlags()),
		Action: bind(info),
	}
}

// infoFlags are the flags of run, beside those of meantFlags, that change what the command prints.
func infoFlags() []optionFlag {
	list := []optionFlag{parallelismFlag()}
	for _, f := range deploymentFlags() {
		switch f.key {
		case config.JobManagerProcessSize, config.TaskManagerProcessSize, config.TaskSlots:
			list = append(list, f)
		}
	}
	return list
}

func info(ctx context.Context, c *call) error {
	words := c.line.Args().Slice()
	if noProgram(words) {
		return fmt.Errorf("%w: bobbin info needs a program: bobbin info ./program [arguments]", ErrUsage)
	}
	if len(words) == 1 && isJob(words[0]) {
		return infoOfJob(ctx, c, ids.JobID(words[0]))
	}
	cfg, err := c.optionsWith(append(infoFlags(), targetFlag())...)
	if err != nil {
		return err
	}
	c.describe(cfg, newCluster(cfg))
	containers, err := checkBeforePlan(cfg)
	if err != nil {
		return err
	}
	var divided *clusterMemory
	if containers != nil {
		m, err := memoryOf(cfg, *containers)
		if err != nil {
			return err
		}
		divided = &m
	}
	graph, err := run.Plan(ctx, c.request(cfg, nil, words...))
	switch {
	case err != nil:
		return err
	case graph != nil:
		return c.printPlan(restapi.PlanOf(graph), amountsOf(graph), divided)
	case c.json:
		return c.encode(map[string]any{"plan": nil})
	}
	return nil
}

// infoOfJob prints the plan of a job of a cluster.
func infoOfJob(ctx context.Context, c *call, job ids.JobID) (err error) {
	master, done, err := c.reach(ctx)
	if err != nil {
		return err
	}
	defer done(&err)
	plan, err := master.Plan(ctx, job)
	if err != nil {
		return master.explain(ctx, err)
	}
	return c.printPlan(plan, nil, nil)
}

// printPlan prints a plan, the resources of its slot sharing groups, and how the memory of its cluster is
// divided, as far as these are known.
func (c *call) printPlan(plan restapi.JobPlan, amounts []groupAmounts, divided *clusterMemory) error {
	if !c.json {
		text := picture(plan, terminal.Columns(c.Out))
		if terminal.Is(c.Out) {
			text = visibleLines(text)
		}
		if _, err := io.WriteString(c.Out, text); err != nil {
			return err
		}
		if err := writeAmounts(c.Out, amounts); err != nil || divided == nil {
			return err
		}
		return divided.write(c.Out)
	}
	encoder := json.NewEncoder(c.Out)
	encoder.SetEscapeHTML(false) // names have arrows in them
	answer := map[string]any{"plan": plan}
	if amounts != nil {
		answer["groups"] = amounts
	}
	if divided != nil {
		answer["memory"] = divided
	}
	return encoder.Encode(answer)
}

// visibleLines replaces control characters in names, but keeps line ends. A line end may also come from a name,
// which is harmless.
func visibleLines(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		body, ended := strings.CutSuffix(line, "\n")
		b.WriteString(terminal.Visible(body))
		if ended {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// picture draws a plan from its sources to its sinks: a line for each vertex, and between two neighbors how
// records pass from one to the other. Other inputs of a vertex follow its name. Lines below the name say why an input is
// blocking, and what the planner has chosen. If columns is not 0, picture breaks lines between words.
func picture(plan restapi.JobPlan, columns int) string {
	number := make(map[string]int, len(plan.Nodes))
	for i, node := range plan.Nodes {
		number[node.ID] = i + 1
	}
	width := len(fmt.Sprint(len(plan.Nodes)))
	var b strings.Builder
	line := func(indent int, text string) {
		fmt.Fprintf(&b, "%*s%s\n", indent, "", terminal.Hang(text, indent, indent, columns))
	}
	line(0, plan.Name)
	for i, node := range plan.Nodes {
		var beside, notes []string
		for _, in := range node.Inputs {
			if number[in.ID] == i {
				line(width+1, "│ "+shipped(in))
			}
		}
		if slices.ContainsFunc(node.Inputs, func(in restapi.PlanInput) bool { return number[in.ID] == i }) {
			line(width+1, "▼")
		}
		for _, in := range node.Inputs {
			from := fmt.Sprintf("%s from %d", shipped(in), number[in.ID])
			if number[in.ID] != i {
				beside = append(beside, from)
			}
			if in.Why != "" {
				notes = append(notes, from+": "+in.Why)
			}
		}
		text := fmt.Sprintf("%s, parallelism %d", node.Description, node.Parallelism)
		if node.SlotSharingGroup != "" {
			text += ", slot sharing group " + node.SlotSharingGroup
		}
		if beside != nil {
			text += ", reads " + strings.Join(beside, ", ")
		}
		fmt.Fprintf(&b, "%*d %s\n", width, i+1, terminal.Hang(text, width+1, width+1, columns))
		for _, note := range append(notes, node.Notes...) {
			line(width+3, note)
		}
	}
	return b.String()
}

// shipped says how records pass an edge: "hash", or "blocking hash".
func shipped(in restapi.PlanInput) string {
	strategy := strings.ToLower(in.ShipStrategy)
	if in.Exchange == restapi.BlockingExchange {
		return "blocking " + strategy
	}
	return strategy
}
