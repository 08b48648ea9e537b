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
	"strings"
	"syscall"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/client/minicluster"
	"github.com/bobbin-yarn/bobbin/client/progress"
	"github.com/bobbin-yarn/bobbin/dataflow"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/control"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/taskrunner/taskhost"
)

// runLocal runs the driver on a cluster in this process. given is the text of its options. parent is told when
// jobs begin and end.
func runLocal(driver Driver, given string, parent *control.Speaker) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the process at once
	options, err := localOptions(given)
	if err != nil {
		return fail(err)
	}
	files, err := openFiles(options)
	if err != nil {
		return fail(err)
	}
	executor := &local{options: options, files: files, say: progress.New(os.Stderr), parent: parent}
	env := dataflow.NewEnv(dataflow.EnvOptions{
		Args: os.Args[1:], Config: options.Set(), FileSystem: files, Executor: executor, Listing: executor.say.Listing,
	})
	err = errors.Join(call(ctx, driver, env), files.Close())
	executor.say.Finish()
	switch {
	case err == nil: // also without a job, for example with --help
		return exitOK
	case ctx.Err() != nil:
		fmt.Fprintln(os.Stderr, "interrupted")
		return exitInterrupted
	default:
		code := fail(err)
		if stack := stackOf(err); stack != "" {
			fmt.Fprintln(os.Stderr, stack)
		}
		return code
	}
}

// stackOf is the stack of the user's code in an error, or "".
func stackOf(err error) string {
	if panicked, ok := errors.AsType[*dataflow.PlanPanic](err); ok {
		return strings.TrimSpace(panicked.Stack)
	}
	if failure, ok := errors.AsType[*msg.Failure](err); ok {
		return strings.TrimSpace(failure.Stack)
	}
	return ""
}

// localOptions are the options of a local run. The default parallelism is the number of processors.
func localOptions(text string) (config.Config, error) {
	values := map[string]string{config.ParallelismDefault.Name(): strconv.Itoa(runtime.GOMAXPROCS(0))}
	if text != "" {
		if err := json.Unmarshal([]byte(text), &values); err != nil {
			return config.Config{}, fmt.Errorf("read %s: %w", control.OptionsVariable, err)
		}
	}
	return config.New(config.Layer{Source: control.OptionsVariable, Values: values})
}

// local executes jobs in this process.
type local struct {
	options config.Config
	files   *dfs.FS
	say     *progress.Printer
	parent  *control.Speaker
}

// Execute runs one job on a cluster of its own.
func (l *local) Execute(ctx context.Context, x dataflow.Execution) (dataflow.ExecutionResult, error) {
	l.parent.JobBegins()
	defer l.parent.JobEnds()
	for _, warning := range x.Graph.Warnings() {
		l.say.Line("%s", warning)
	}
	silent := logrus.New()
	silent.SetOutput(io.Discard)
	workers, slots := minicluster.Sizes(l.options, x.Graph.Slots())
	watch := watcher{say: l.say, input: progress.Input(&x.Graph)}
	defer l.say.Finish()
	return minicluster.Run(ctx, minicluster.Options{
		Config: l.options, Workers: workers, Slots: slots, Program: taskhost.Registered{}, FileSystem: l.files,
		Stdout: l.say.Beside(os.Stdout), Logger: silent,
	}, x, watch.show)
}

// watcher shows the progress of one job.
type watcher struct {
	say      *progress.Printer
	input    int64 // bytes
	restarts int
}

func (w *watcher) show(d msg.JobDetails) {
	if d.Restarts > w.restarts && d.Root != nil {
		cause, _, _ := strings.Cut(d.Root.Failure.Message, "\n")
		w.say.Line("job restarts: %s", cause)
	}
	w.restarts = d.Restarts
	job := progress.Job{Input: w.input}
	for _, v := range d.Vertices {
		job.Tasks += v.Parallelism
		job.Finished += v.Tasks[msg.ExecutionFinished]
		if len(v.Inputs) == 0 {
			job.Read += v.Traffic.ReadBytes
		}
	}
	if job.Tasks > 0 {
		w.say.Moving("job", job.String())
	}
}
