package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/client/progress"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/program"
)

// Targets of run.
const (
	targetLocal       = "local"
	targetYARNPerJob  = "yarn-per-job"
	targetYARNSession = "yarn-session"
	targetApplication = "yarn-application"
)

// optionFlag is a flag that gives an option.
type optionFlag struct {
	name    string
	aliases []string
	usage   string
	key     config.Key
}

// deploymentFlags say what a cluster is like that a command starts.
func deploymentFlags() []optionFlag {
	return []optionFlag{
		{"jobManagerMemory", []string{"jm"}, "`SIZE` of the ApplicationMaster's container, in MB or with a unit", config.JobManagerProcessSize},
		{"taskManagerMemory", []string{"tm"}, "`SIZE` of a TaskExecutor's container, in MB or with a unit", config.TaskManagerProcessSize},
		{"slots", []string{"s"}, "`N` slots of each TaskExecutor", config.TaskSlots},
		{"name", []string{"nm"}, "`NAME` of the application", config.YarnApplicationName},
		{"queue", []string{"qu"}, "YARN `QUEUE`", config.YarnApplicationQueue},
	}
}

// targetFlags say where and how a program's jobs run.
func targetFlags() []optionFlag {
	return []optionFlag{
		{"target", []string{"t"}, "`TARGET` to run on: yarn-session, yarn-per-job, yarn-application, or local", config.ExecutionTarget},
		{"parallelism", []string{"p"}, "default parallelism `N` of jobs", config.ParallelismDefault},
	}
}

// flags are the flags as the command line has them; their texts name their options.
func flags(list ...optionFlag) []cli.Flag {
	all := make([]cli.Flag, len(list))
	for i, f := range list {
		all[i] = &cli.StringFlag{Name: f.name, Aliases: f.aliases, Usage: f.usage + " (" + f.key.Name() + ")"}
	}
	return all
}

// flagLayers are the options of those flags that are set.
func flagLayers(c *cli.Context, list ...optionFlag) []config.Layer {
	var layers []config.Layer
	for _, f := range list {
		if c.IsSet(f.name) {
			layers = append(layers, flagLayer(c, f.name, f.key))
		}
	}
	return layers
}

func flagLayer(c *cli.Context, name string, key config.Key) config.Layer {
	return config.Layer{Source: dashed(name), Values: map[string]string{key.Name(): flagText(c, name, key)}}
}

// switchLayer is an option that a flag without value gives.
func switchLayer(name string, key config.BoolKey, value bool) config.Layer {
	return config.Layer{Source: dashed(name), Values: map[string]string{key.Name(): strconv.FormatBool(value)}}
}

func runFlags() []cli.Flag {
	return slices.Concat(flags(targetFlags()...), []cli.Flag{
		&cli.BoolFlag{Name: "detached", Aliases: []string{"d"}, Usage: "return once the job runs"},
		&cli.BoolFlag{Name: "shutdownOnAttachedExit", Aliases: []string{"sae"}, Usage: "cancel the job when this command ends before it, however that ends (execution.shutdown-on-attached-exit)"},
	}, whichFlags(), flags(deploymentFlags()...), []cli.Flag{outputFlag()}, clusterFlags())
}

func runCommand(p Process) *cli.Command {
	return &cli.Command{
		Name:        "run",
		Usage:       "run a program's job",
		ArgsUsage:   "PROGRAM [program arguments]",
		Description: runDescription,
		Flags:       runFlags(),
		Action:      func(c *cli.Context) error { return run(c, p) },
	}
}

const runDescription = `Everything behind PROGRAM belongs to the program. Its standard input, output and
error are those of this command; with -o json its standard output goes to
standard error, as standard output then holds nothing but one JSON object.

With -t yarn-application the program runs in the cluster, and this command ends once
it does so there: see bobbin run-application --help.

With -t yarn-session jobs go to a session: the one that -id or -m names, or else
the one that bobbin session start has started last. Without -t, and with such a
session, they do so, too.

The exit code is 0 when every job has FINISHED, 130 after Ctrl-C, and otherwise 1.
Ctrl-C before the application runs kills it and removes what was staged for it;
after that it leaves the job running, or cancels it with -sae. A second Ctrl-C
ends this command at once.

  bobbin run -t yarn-per-job -p 4 ./wordcount --input hdfs:///text --output hdfs:///counts`

// outcome is what -o json prints.
type outcome struct {
	Application string           `json:"application,omitempty"`
	Job         string           `json:"job,omitempty"` // the last one, if there are several
	TrackingURL string           `json:"trackingUrl,omitempty"`
	State       string           `json:"state,omitempty"`       // YARN's
	FinalStatus string           `json:"finalStatus,omitempty"` // YARN's
	JobStatus   string           `json:"jobStatus,omitempty"`
	Duration    int64            `json:"durationMs,omitempty"` // of the job
	Counters    map[string]int64 `json:"counters,omitempty"`
	Jobs        []jobOutcome     `json:"jobs,omitempty"` // in the order of their execution
	Error       string           `json:"error,omitempty"`
	Steps       []client.Step    `json:"steps"`
}

// jobOutcome is one job of several.
type jobOutcome struct {
	Job       ids.JobID        `json:"job"`
	Name      string           `json:"name"`
	JobStatus string           `json:"jobStatus,omitempty"` // of one that was followed
	Duration  int64            `json:"durationMs,omitempty"`
	Counters  map[string]int64 `json:"counters,omitempty"`
}

// begin notes a job that has been submitted.
func (o *outcome) begin(job ids.JobID, name string) {
	o.Job, o.JobStatus, o.Duration, o.Counters = string(job), "", 0, nil
	o.Jobs = append(o.Jobs, jobOutcome{Job: job, Name: name})
}

// end notes how the last one ended.
func (o *outcome) end(ended msg.JobEnded) {
	o.JobStatus, o.Duration, o.Counters = string(ended.Status), ended.Duration.Milliseconds(), ended.Counters
	last := &o.Jobs[len(o.Jobs)-1]
	last.JobStatus, last.Duration, last.Counters = o.JobStatus, o.Duration, o.Counters
}

// run runs a program on the target that the options name.
func run(c *cli.Context, p Process) (err error) {
	asJSON, err := wantsJSON(c)
	if err != nil {
		return err
	}
	var told outcome
	timeline := client.NewTimeline(p.Start)
	if asJSON {
		out := p.Stdout
		p.Stdout = p.Stderr
		defer func() {
			if err != nil {
				told.Error = err.Error()
			}
			told.Steps = timeline.Steps()
			err = errors.Join(err, json.NewEncoder(out).Encode(told))
		}()
	}
	words := c.Args().Slice()
	if len(words) == 0 {
		return fmt.Errorf("%w: bobbin run needs a program: bobbin run -t %s ./program [arguments]", ErrUsage, targetYARNPerJob)
	}
	cfg, err := runOptions(c, p)
	if err != nil {
		return err
	}
	if cfg.String(config.ExecutionTarget) == targetLocal {
		err = runLocal(c.Context, p, cfg, words)
		timeline.Done("program ended")
		return err
	}
	l := launcher{cfg: cfg, say: progress.New(p.Stderr), timeline: timeline, outcome: &told}
	if cfg.String(config.ExecutionTarget) == targetApplication {
		return runApplication(c.Context, &l, p, words)
	}
	return runOnYARN(c, l, p, words)
}

// runOptions puts the flags of run over the options of -D and of the file, and decides
// where the program runs.
func runOptions(c *cli.Context, p Process) (config.Config, error) {
	layers, err := clusterLayers(c)
	if err != nil {
		return config.Config{}, err
	}
	layers = append(layers, flagLayers(c, slices.Concat(targetFlags(), deploymentFlags())...)...)
	if c.Bool("detached") {
		layers = append(layers, switchLayer("detached", config.ExecutionAttached, false))
	}
	if c.Bool("shutdownOnAttachedExit") {
		layers = append(layers, switchLayer("shutdownOnAttachedExit", config.ShutdownOnAttachedExit, true))
	}
	cfg, found, err := withSession(c, p, layers)
	if err != nil || cfg.IsSet(config.ExecutionTarget) || !cfg.IsSet(config.YarnApplicationID) && !c.IsSet(flagMaster) {
		return cfg, err
	}
	if found != "" {
		fmt.Fprintf(p.Stderr, "%s names %s: the program's jobs run there (-t %s runs them here)\n", found, cfg.String(config.YarnApplicationID), targetLocal)
	}
	return cfg.With(config.Layer{Source: cfg.Source(config.YarnApplicationID), Values: map[string]string{config.ExecutionTarget.Name(): targetYARNSession}})
}

// runOnYARN runs a program whose jobs run on a cluster.
func runOnYARN(c *cli.Context, l launcher, p Process, words []string) (err error) {
	ctx := c.Context
	if l.cluster, err = open(ctx, p, l.cfg); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.cluster.Close()) }()
	perJob := perJob{launcher: l, attached: l.cfg.Bool(config.ExecutionAttached)}
	inspected := make(chan error, 1)
	go func() { // ends by itself: reads one file
		var err error
		perJob.bobbin, err = client.Binary(p.Executable, l.cfg)
		inspected <- err
	}()
	perJob.program, err = program.Inspect(words[0], program.Native())
	if err = errors.Join(err, <-inspected); err != nil {
		return err
	}
	r := &runner{
		p: p, cfg: l.cfg, target: &perJob, attached: perJob.attached, say: l.say, timeline: l.timeline, outcome: l.outcome,
	}
	if l.cfg.String(config.ExecutionTarget) == targetYARNSession {
		s := session{cfg: l.cfg, cluster: l.cluster, program: perJob.program, attached: perJob.attached, say: l.say, timeline: l.timeline}
		if s.application, err = which(ctx, c, l.cluster, l.cfg); err != nil {
			return err
		}
		l.outcome.Application = s.application.String()
		defer s.open(ctx)()
		r.target = &s
	}
	return r.run(ctx, perJob.program, words[1:])
}

// flagText is a flag's value as its option takes it: a size without unit is in
// MB, as Flink's -jm and -tm have it.
func flagText(c *cli.Context, name string, key config.Key) string {
	text := c.String(name)
	if _, isSize := key.(config.MemoryKey); isSize {
		if _, err := strconv.ParseUint(strings.TrimSpace(text), 10, 64); err == nil {
			text += "m"
		}
	}
	return text
}
