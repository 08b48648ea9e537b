package bobbin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strconv"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/client/minicluster"
	"github.com/bobbin-yarn/bobbin/client/progress"
	"github.com/bobbin-yarn/bobbin/dataflow"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// optionsVariable carries the options of `bobbin run -t local`, as a JSON object.
const optionsVariable = "BOBBIN_OPTIONS"

// runLocal runs the driver on a cluster in this process.
func runLocal(driver Driver) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the process at once
	options, err := localOptions(os.Getenv(optionsVariable))
	if err != nil {
		return fail(err)
	}
	files, err := openFiles(options)
	if err != nil {
		return fail(err)
	}
	executor := &local{options: options, files: files, say: progress.New(os.Stderr)}
	env := dataflow.NewEnv(dataflow.EnvOptions{
		Args: os.Args[1:], Config: options.Set(), FileSystem: files, Executor: executor,
	})
	err = errors.Join(call(ctx, driver, env), files.Close())
	var panicked *dataflow.PlanPanic
	switch {
	case err == nil: // also without a job: by hand, --help is enough
		return exitOK
	case ctx.Err() != nil:
		fmt.Fprintln(os.Stderr, "interrupted")
		return exitInterrupted
	case errors.As(err, &panicked):
		fmt.Fprintln(os.Stderr, panicked.Stack)
		return fail(err)
	default:
		return fail(err)
	}
}

// localOptions are the options of a local run: the parallelism is the number of
// processors where none is given.
func localOptions(text string) (config.Config, error) {
	values := map[string]string{config.ParallelismDefault.Name(): strconv.Itoa(runtime.GOMAXPROCS(0))}
	if text != "" {
		if err := json.Unmarshal([]byte(text), &values); err != nil {
			return config.Config{}, fmt.Errorf("read %s: %w", optionsVariable, err)
		}
	}
	return config.New(config.Layer{Source: optionsVariable, Values: values})
}

// local executes jobs in this process.
type local struct {
	options config.Config
	files   *dfs.FS
	say     *progress.Printer
}

// Execute runs one job on a cluster of its own.
func (l *local) Execute(ctx context.Context, x dataflow.Execution) (result dataflow.ExecutionResult, err error) {
	silent := logrus.New()
	silent.SetOutput(io.Discard)
	cluster, err := minicluster.Start(ctx, minicluster.Options{
		Config: l.options, Slots: x.Graph.Slots(), Program: ownProgram{}, FileSystem: l.files, Stdout: os.Stdout, Logger: silent,
	})
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, cluster.Close()) }()
	ended, err := cluster.Execute(ctx, &x.Graph, x.Collected, l.show)
	l.say.Finish()
	if err != nil {
		return result, fmt.Errorf("execute job %s: %w", x.Graph.Name, err)
	}
	if ended.Failure != nil {
		if ended.Failure.Stack != "" {
			fmt.Fprintln(os.Stderr, ended.Failure.Stack)
		}
		return result, fmt.Errorf("job %s is %s: %w", x.Graph.Name, ended.Status, ended.Failure)
	}
	return dataflow.ExecutionResult{JobID: string(ended.Job), Duration: ended.Duration, Counters: ended.Counters}, nil
}

// show shows how far a job is.
func (l *local) show(d msg.JobDetails) {
	done, all := 0, 0
	for _, v := range d.Vertices {
		all += v.Parallelism
		done += v.Tasks[msg.ExecutionFinished]
	}
	l.say.Moving("tasks", int64(done), int64(all), " done")
}
