package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/client/progress"
	"github.com/bobbin-yarn/bobbin/internal/config"
)

// Targets of run.
const (
	targetLocal      = "local"
	targetYARNPerJob = "yarn-per-job"
)

func runFlags() []cli.Flag {
	return append([]cli.Flag{
		&cli.StringFlag{Name: "target", Aliases: []string{"t"}, Usage: "`TARGET` to run on: yarn-per-job, or local (execution.target)"},
		&cli.StringFlag{Name: "parallelism", Aliases: []string{"p"}, Usage: "default parallelism `N` of the job (parallelism.default)"},
		&cli.BoolFlag{Name: "detached", Aliases: []string{"d"}, Usage: "return once the job runs"},
		&cli.StringFlag{Name: "jobManagerMemory", Aliases: []string{"jm"}, Usage: "`SIZE` of the ApplicationMaster's container, in MB or with a unit (jobmanager.memory.process.size)"},
		&cli.StringFlag{Name: "taskManagerMemory", Aliases: []string{"tm"}, Usage: "`SIZE` of a TaskExecutor's container, in MB or with a unit (taskmanager.memory.process.size)"},
		&cli.StringFlag{Name: "slots", Aliases: []string{"s"}, Usage: "`N` slots of each TaskExecutor (taskmanager.numberOfTaskSlots)"},
		&cli.StringFlag{Name: "name", Aliases: []string{"nm"}, Usage: "`NAME` of the application (yarn.application.name)"},
		&cli.StringFlag{Name: "queue", Aliases: []string{"qu"}, Usage: "YARN `QUEUE` (yarn.application.queue)"},
		outputFlag(),
	}, clusterFlags()...)
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

The exit code is 0 when the job has FINISHED, 130 after Ctrl-C, and otherwise 1.
Ctrl-C before the application runs kills it and removes what was staged for it;
after that it leaves the job running. A second Ctrl-C ends this command at once.`

// outcome is what -o json prints.
type outcome struct {
	Application string           `json:"application,omitempty"`
	Job         string           `json:"job,omitempty"`
	TrackingURL string           `json:"trackingUrl,omitempty"`
	State       string           `json:"state,omitempty"`       // YARN's
	FinalStatus string           `json:"finalStatus,omitempty"` // YARN's
	JobStatus   string           `json:"jobStatus,omitempty"`
	Duration    int64            `json:"durationMs,omitempty"` // of the job
	Counters    map[string]int64 `json:"counters,omitempty"`
	Error       string           `json:"error,omitempty"`
	Steps       []client.Step    `json:"steps"`
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
	return runPerJob(c.Context, &perJob{
		p: p, cfg: cfg, attached: cfg.Bool(config.ExecutionAttached),
		say: progress.New(p.Stderr), timeline: timeline, outcome: &told,
	}, words)
}

// runOptions puts the flags of run over the options of -D and of the file.
func runOptions(c *cli.Context, p Process) (config.Config, error) {
	layers, err := clusterLayers(c)
	if err != nil {
		return config.Config{}, err
	}
	for _, flag := range []struct {
		name string
		key  config.Key
	}{
		{"target", config.ExecutionTarget},
		{"parallelism", config.ParallelismDefault},
		{"jobManagerMemory", config.JobManagerProcessSize},
		{"taskManagerMemory", config.TaskManagerProcessSize},
		{"slots", config.TaskSlots},
		{"name", config.YarnApplicationName},
		{"queue", config.YarnApplicationQueue},
	} {
		if !c.IsSet(flag.name) {
			continue
		}
		layers = append(layers, config.Layer{
			Source: dashed(flag.name),
			Values: map[string]string{flag.key.Name(): flagText(c, flag.name, flag.key)},
		})
	}
	if c.Bool("detached") {
		layers = append(layers, config.Layer{Source: "--detached", Values: map[string]string{config.ExecutionAttached.Name(): "false"}})
	}
	return options(p, layers...)
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
