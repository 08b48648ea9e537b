package cli

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// Targets of run.
const (
	targetLocal      = "local"
	targetYARNPerJob = "yarn-per-job"
)

func runFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "target", Aliases: []string{"t"}, Usage: "`TARGET` to run on: yarn-per-job, or local (execution.target)"},
		&cli.IntFlag{Name: "parallelism", Aliases: []string{"p"}, Usage: "default parallelism `N` of the job (parallelism.default)"},
		&cli.BoolFlag{Name: "detached", Aliases: []string{"d"}, Usage: "return once the job runs"},
		&cli.StringFlag{Name: "jobManagerMemory", Aliases: []string{"jm"}, Usage: "`SIZE` of the ApplicationMaster's container, in MB or with a unit (jobmanager.memory.process.size)"},
		&cli.StringFlag{Name: "taskManagerMemory", Aliases: []string{"tm"}, Usage: "`SIZE` of a TaskExecutor's container, in MB or with a unit (taskmanager.memory.process.size)"},
		&cli.IntFlag{Name: "slots", Aliases: []string{"s"}, Usage: "`N` slots of each TaskExecutor (taskmanager.numberOfTaskSlots)"},
		&cli.StringFlag{Name: "name", Aliases: []string{"nm"}, Usage: "`NAME` of the application (yarn.application.name)"},
		&cli.StringFlag{Name: "queue", Aliases: []string{"qu"}, Usage: "YARN `QUEUE` (yarn.application.queue)"},
		definitionFlag(),
		outputFlag(),
	}
}

func runCommand(p Process) *cli.Command {
	return &cli.Command{
		Name:            "run",
		Usage:           "run a program's job",
		ArgsUsage:       "PROGRAM [program arguments]",
		Description:     "Everything behind PROGRAM belongs to the program.",
		Flags:           runFlags(),
		HideHelpCommand: true,
		Action: func(c *cli.Context) error {
			if c.Args().Len() == 0 {
				return fmt.Errorf("%w: bobbin run needs a program: bobbin run -t yarn-per-job ./program [arguments]", ErrUsage)
			}
			cfg, err := runOptions(c, p)
			if err != nil {
				return err
			}
			switch target := cfg.String(config.ExecutionTarget); target {
			case targetLocal:
				return runLocal(c.Context, p, cfg, c.Args().Slice())
			case targetYARNPerJob:
				return runPerJob(c, p, cfg)
			case "":
				return fmt.Errorf("%w: name a target: -t %s, or -t %s", ErrUsage, targetYARNPerJob, targetLocal)
			default:
				return fmt.Errorf("%w: target %q: choose %s or %s", ErrUsage, target, targetYARNPerJob, targetLocal)
			}
		},
	}
}

// runOptions puts the flags of run over the options of -D and of the file.
func runOptions(c *cli.Context, p Process) (config.Config, error) {
	defined, err := definitions(c.StringSlice("D"))
	if err != nil {
		return config.Config{}, err
	}
	layers := []config.Layer{defined}
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
	text := fmt.Sprint(c.Value(name))
	if _, isSize := key.(config.MemoryKey); isSize {
		if _, err := strconv.ParseUint(strings.TrimSpace(text), 10, 64); err == nil {
			text += "m"
		}
	}
	return text
}
