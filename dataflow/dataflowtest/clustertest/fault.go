package clustertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/bobbin-yarn/bobbin/client/minicluster"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/dataflow/operator"
	"github.com/bobbin-yarn/bobbin/taskrunner/taskhost"
)

// ErrNotReached says that a job ended before a fault had happened.
var ErrNotReached = errors.New("the job ended before it happened")

// Fault is a failure at an operator of the job. Make it with KillWorker or SlowTask. Use dataflow.Named to name
// an operator.
type Fault struct {
	operator string
	only     bool // a subtask
	subtask  int
	after    int
	kill     bool
	delay    time.Duration
}

// KillWorker kills the worker that is about to process an element in the operator with this name. All tasks of the
// worker end. It happens once, with the operator's first element.
func KillWorker(operator string) Fault { return Fault{operator: operator, kill: true} }

// SlowTask delays each element before the operator with this name processes it. This also delays the operators that
// run in the same goroutine, and with it those that wait for their elements.
func SlowTask(operator string, delay time.Duration) Fault {
	return Fault{operator: operator, delay: delay}
}

// Subtask restricts a fault to one subtask of the operator, numbered from 0. Use it only behind a KeyBy: the
// subtasks of a source divide its input anew in each run, and one of them may get none.
func (f Fault) Subtask(index int) Fault {
	f.only, f.subtask = true, index
	return f
}

// After lets a fault happen only after n elements, counted over all subtasks and attempts, or over the attempts of
// the fault's subtask.
func (f Fault) After(n int) Fault {
	f.after = n
	return f
}

func (f Fault) String() string {
	text := fmt.Sprintf("SlowTask(%q, %s)", f.operator, f.delay)
	if f.kill {
		text = fmt.Sprintf("KillWorker(%q)", f.operator)
	}
	if f.only {
		text += fmt.Sprintf(".Subtask(%d)", f.subtask)
	}
	if f.after > 0 {
		text += fmt.Sprintf(".After(%d)", f.after)
	}
	return text
}

// armed is a fault of a running job.
type armed struct {
	Fault
	elements atomic.Int64 // that have come so far
	happened atomic.Bool
}

type faults []*armed

// arm checks that each fault has one place in the job.
func arm(given []Fault, g *jobgraph.JobGraph) (faults, error) {
	var all faults
	for _, f := range given {
		if err := f.check(g); err != nil {
			return nil, fmt.Errorf("fault %s of job %s: %w", f, g.Name, err)
		}
		all = append(all, &armed{Fault: f})
	}
	return all, nil
}

func (f Fault) check(g *jobgraph.JobGraph) error {
	var names []string
	found := 0
	for _, v := range g.Vertices {
		for _, name := range v.Operators {
			names = append(names, name)
			if name != f.operator {
				continue
			}
			if found++; f.only && (f.subtask < 0 || f.subtask >= v.Parallelism) {
				return fmt.Errorf("subtask %d does not exist: the operator has %d subtasks, numbered from 0", f.subtask, v.Parallelism)
			}
		}
	}
	switch {
	case found == 0:
		return fmt.Errorf("no operator has this name; the operators are %s", strings.Join(names, ", "))
	case found > 1:
		return fmt.Errorf("%d operators have this name: use dataflow.Named", found)
	case f.after < 0:
		return errors.New("the number of elements is negative")
	}
	return nil
}

// missed names the faults that have not happened.
func (f faults) missed() (errs []error) {
	for _, a := range f {
		if !a.happened.Load() {
			errs = append(errs, fmt.Errorf("fault %s: %w", a.Fault, ErrNotReached))
		}
	}
	return errs
}

// program is the program of one worker.
type program struct {
	worker *minicluster.Worker
	faults faults
}

// Compile implements taskhost.Program.
func (p program) Compile(job string, args []byte, parallelism int, config map[string]string) (taskhost.Compiled, error) {
	compiled, err := taskhost.Registered{}.Compile(job, args, parallelism, config)
	compiled.Tasks = slices.Clone(compiled.Tasks)
	for i, code := range compiled.Tasks {
		compiled.Tasks[i] = task{code, p}
	}
	return compiled, err
}

// task is the code of a vertex, with its faults.
type task struct {
	operator.Task
	program program
}

// Run implements operator.Task.
func (t task) Run(ctx context.Context, s operator.Subtask) error {
	return t.Task.Run(ctx, subtask{s, t.program})
}

// subtask implements operator.Observer.
type subtask struct {
	operator.Subtask
	program program
}

// Observe implements operator.Observer.
func (s subtask) Observe(ctx context.Context, name string) func() error {
	here := slices.DeleteFunc(slices.Clone(s.program.faults), func(a *armed) bool {
		return a.operator != name || a.only && a.subtask != s.Index()
	})
	return func() error {
		for _, a := range here {
			if a.elements.Add(1) > int64(a.after) {
				a.strike(ctx, s.program.worker)
			}
		}
		if s.program.worker.Killed() {
			<-ctx.Done() // a dead process does nothing
		}
		return context.Cause(ctx)
	}
}

// strike lets a fault happen.
func (a *armed) strike(ctx context.Context, worker *minicluster.Worker) {
	switch {
	case worker.Killed(): // the fault happens to a living one
	case !a.kill:
		a.happened.Store(true)
		delayed := time.NewTimer(a.delay)
		defer delayed.Stop()
		select {
		case <-delayed.C:
		case <-ctx.Done():
		}
	case !a.happened.Swap(true):
		worker.Kill()
	}
}
