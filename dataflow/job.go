package dataflow

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// ErrUnknownJob says that a program has no job of this name.
var ErrUnknownJob = errors.New("job is not registered in this program")

// JobDef is a registered job whose arguments are of type A.
type JobDef[A any] struct {
	name string
	plan func(*Plan, A) error
}

// Job registers a plan function under a name. Keep the result in a package
// variable of the program, so that every process of the job knows it. The
// arguments are sent as JSON. Job panics if the name is registered already.
func Job[A any](name string, plan func(p *Plan, args A) error) *JobDef[A] {
	j := &JobDef[A]{name: name, plan: plan}
	jobs.add(name, j)
	return j
}

// Name returns the name under which the job is registered.
func (j *JobDef[A]) Name() string { return j.name }

// encode returns the arguments as JSON.
func (j *JobDef[A]) encode(args any) ([]byte, error) {
	typed, ok := args.(A)
	if !ok {
		return nil, fmt.Errorf("job %s takes arguments of type %T, got %T", j.name, *new(A), args)
	}
	encoded, err := json.Marshal(typed)
	if err != nil {
		return nil, fmt.Errorf("encode arguments of job %s: %w", j.name, err)
	}
	return encoded, nil
}

// draw runs the plan function.
func (j *JobDef[A]) draw(p *Plan, encoded []byte) error {
	var args A
	if err := json.Unmarshal(encoded, &args); err != nil {
		return fmt.Errorf("decode arguments of job %s: %w", j.name, err)
	}
	if err := j.plan(p, args); err != nil {
		return fmt.Errorf("plan job %s: %w", j.name, err)
	}
	return nil
}

// Executable is a job that Env.Execute takes: a *JobDef.
type Executable interface {
	Name() string
	encode(args any) ([]byte, error)
	draw(p *Plan, args []byte) error
}

// registry holds the jobs of the program. Package variables add them before main
// begins.
type registry struct {
	mu   sync.Mutex // guards jobs
	jobs map[string]Executable
}

// jobs is the program's registry. A task host finds a job there by the name that
// the driver sent.
var jobs = registry{jobs: map[string]Executable{}}

func (r *registry) add(name string, job Executable) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if name == "" {
		panic("dataflow: a job needs a name")
	}
	if _, ok := r.jobs[name]; ok {
		panic(fmt.Sprintf("dataflow: two jobs are registered as %q; rename one of them", name))
	}
	r.jobs[name] = job
}

func (r *registry) find(name string) (Executable, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if job, ok := r.jobs[name]; ok {
		return job, nil
	}
	known := slices.Sorted(maps.Keys(r.jobs))
	return nil, fmt.Errorf("job %q: %w; registered jobs: %s", name, ErrUnknownJob, strings.Join(known, ", "))
}
