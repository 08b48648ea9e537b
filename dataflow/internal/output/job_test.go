package output_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/memfs"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/output"
)

const parts = 3

// job is a job as its masters know it: what is stored outlives them, and only the last one stores anything.
type job struct {
	f       *memfs.FS
	output  output.Output
	leader  int      // the epoch of the last master
	keeps   bool     // masters take over the tasks that have finished below earlier ones
	winners []string // stored before a commit gets leave; nil: nothing is stored
	result  bool     // that it has ended with a result is stored
	lost    bool     // that it has ended without one is stored
	masters []*master
}

// master runs a job as the real ones do. It learns that it was replaced only when it stores something, or from the output.
type master struct {
	*job
	output   output.Output
	state    state
	winners  []string  // that the master knows
	done     []string  // the attempt of each part that has ended
	attempts int       // of all tasks
	tasks    [][]*task // by part: all attempts
	opens    []*process
	commits  []*process
	discards []*process
	fault    error // with which the job has failed for good
}

type task struct {
	*process
	attempt string
}

type state string

const (
	opening    state = "opening"
	running    state = "running"
	committing state = "committing"
	discarding state = "discarding"
	over       state = "over"
)

// lead starts the next master. It reads what is stored.
func (j *job) lead() *master {
	j.leader++
	m := &master{
		job: j, output: j.output, winners: j.winners, state: opening, done: make([]string, parts), tasks: make([][]*task, parts),
	}
	m.output.Epoch = j.leader
	if j.result || j.lost {
		m.state = over
	}
	j.masters = append(j.masters, m)
	m.advance(asGiven)
	return m
}

// leads reports whether the master may store something.
func (m *master) leads() bool { return m.output.Epoch == m.leader }

// advance does what a master does between calls. It is called after each step of a process of the master's.
func (m *master) advance(order inOrder) {
	switch m.state {
	case opening:
		m.open(order)
	case running:
		m.runTasks(order)
	case committing:
		m.commit(order)
	case discarding:
		m.discard(order)
	case over:
	}
}

func last[T any](all []T) T { return all[len(all)-1] }

func (m *master) open(order inOrder) {
	switch {
	case len(m.opens) == 0:
	case !last(m.opens).ended:
		return
	case last(m.opens).err == nil && m.winners != nil:
		m.state = committing
		m.commit(order)
		return
	case last(m.opens).err == nil:
		m.state = running
		m.takeOver()
		m.runTasks(order)
		return
	case !errors.Is(last(m.opens).err, errLost):
		m.fail(last(m.opens).err, order)
		return
	}
	earlier := output.Dropped
	switch {
	case m.winners != nil:
		earlier = output.Recorded
	case m.keeps:
		earlier = output.Kept
	}
	m.opens = append(m.opens, begin(m.f, order, func(ctx context.Context, f filesystem.FileSystem) error {
		return m.output.Open(ctx, f, earlier)
	}))
}

// takeOver takes the tasks over that have finished below earlier masters, as their workers report them.
func (m *master) takeOver() {
	for _, earlier := range m.masters[:m.output.Epoch-1] {
		for part, attempts := range earlier.tasks {
			for _, t := range attempts {
				if m.keeps && m.done[part] == "" && len(m.tasks[part]) == 0 && t.ended && t.err == nil {
					m.done[part] = t.attempt
				}
			}
		}
	}
}

func (m *master) runTasks(order inOrder) {
	all := true
	for part := range m.tasks {
		if m.done[part] != "" {
			continue
		}
		if len(m.tasks[part]) == 0 || last(m.tasks[part]).ended && last(m.tasks[part]).err != nil {
			m.deploy(part, order)
		}
		if t := last(m.tasks[part]); t.ended && t.err == nil {
			m.done[part] = t.attempt
		}
		all = all && m.done[part] != ""
	}
	if !all {
		return
	}
	if !m.leads() {
		m.state = over
		return
	}
	m.winners, m.job.winners = m.done, m.done
	m.state = committing
	m.commit(order)
}

// deploy starts another attempt of a task, also while an earlier one runs.
func (m *master) deploy(part int, order inOrder) {
	m.attempts++
	attempt := fmt.Sprintf("e%d-v0-s%d-a%d", m.output.Epoch, part, m.attempts)
	m.tasks[part] = append(m.tasks[part], &task{attempt: attempt, process: begin(m.f, order, func(ctx context.Context, f filesystem.FileSystem) error {
		return write(ctx, f, m.output, attempt, part)
	})})
}

func (m *master) commit(order inOrder) {
	switch {
	case len(m.commits) == 0 || last(m.commits).ended && errors.Is(last(m.commits).err, errLost):
		m.deployCommit(order)
	case !last(m.commits).ended:
	case last(m.commits).err == nil:
		m.job.result = m.job.result || m.leads()
		m.state = over
	default:
		m.fail(last(m.commits).err, order)
	}
}

// deployCommit starts another attempt of the commit, also while an earlier one runs.
func (m *master) deployCommit(order inOrder) {
	attempt := fmt.Sprintf("e%d-v1-s0-a%d", m.output.Epoch, len(m.commits))
	winners := m.winners
	m.commits = append(m.commits, begin(m.f, order, func(ctx context.Context, f filesystem.FileSystem) error {
		return m.output.Commit(ctx, f, attempt, winners)
	}))
}

// fail ends the job without a result.
func (m *master) fail(err error, order inOrder) {
	m.state, m.fault = over, err
	if m.leads() {
		m.job.lost, m.state = true, discarding
		m.discard(order)
	}
}

func (m *master) discard(order inOrder) {
	switch {
	case len(m.discards) == 0 || last(m.discards).ended && errors.Is(last(m.discards).err, errLost):
		m.discards = append(m.discards, begin(m.f, order, m.output.Discard))
	case last(m.discards).ended:
		m.state = over
	}
}

// processes lists the processes that have not ended.
func (m *master) processes() []*process {
	all := slices.Concat(m.opens, m.commits, m.discards)
	for _, attempts := range m.tasks {
		for _, t := range attempts {
			all = append(all, t.process)
		}
	}
	return slices.DeleteFunc(all, func(p *process) bool { return p.ended })
}

// end lets the master and all its processes run undisturbed until the job has ended.
func (m *master) end(w *watch) {
	for m.state != over {
		for _, p := range m.processes() {
			p.step(proceed)
			w.check()
		}
		m.advance(asGiven)
	}
}

// rest gives the same command to the processes that still run, until none is left.
func (j *job) rest(how command, w *watch) {
	for _, m := range j.masters {
		for _, p := range m.processes() {
			for !p.step(how) {
				w.check()
			}
			w.check()
		}
	}
}

// kill ends all processes of the jobs.
func kill(jobs ...*job) {
	for _, j := range jobs {
		for _, m := range j.masters {
			for _, p := range m.processes() {
				p.finish(dieBefore)
			}
		}
	}
}

// write is an attempt of a task. The content of its part names the job, the attempt and the part.
func write(ctx context.Context, fsys filesystem.FileSystem, o output.Output, attempt string, index int) error {
	part, err := o.Create(ctx, fsys, attempt, index)
	if err != nil {
		return err
	}
	if _, err := io.WriteString(part, content(o.Job, attempt, index)); err != nil {
		part.Abort()
		return err
	}
	return part.Close()
}

func content(job, attempt string, part int) string {
	return fmt.Sprintf("%s %s %d", job, attempt, part)
}

// result is the output with the parts of these winners.
func result(job string, winners []string) map[string]string {
	files := map[string]string{"/out/_SUCCESS": job + "\n"}
	for i, winner := range winners {
		files[fmt.Sprintf("/out/part-%05d", i)] = content(job, winner, i)
	}
	return files
}

// visible gives the files of the output that readers see.
func visible(f *memfs.FS) map[string]string { return visibleOf(f.Files()) }

func visibleOf(all map[string]string) map[string]string {
	files := maps.Clone(all)
	maps.DeleteFunc(files, func(name, _ string) bool {
		return strings.HasPrefix(name, "/out/_temporary/") || strings.HasPrefix(name, "/out/_committing")
	})
	return files
}

// watch looks at an output all the time.
type watch struct {
	f        *memfs.FS
	old      map[string]string
	jobs     []*job
	replaced bool // a new result was complete at some time
	fatalf   func(string, ...any)
}

// check fails unless an output with a _SUCCESS holds one whole result: the old one, or that of a job with the winners that
// are stored. And it fails if old content is gone before a new result was complete.
func (w *watch) check() {
	all := w.f.Files()
	files := visibleOf(all)
	if signature, complete := files["/out/_SUCCESS"]; complete && !maps.Equal(files, w.old) {
		w.replaced = true
		whole := slices.ContainsFunc(w.jobs, func(j *job) bool { return signature == j.output.Job+"\n" && j.isWhole(files) == nil })
		if !whole {
			w.fatalf("_SUCCESS holds %q, and the output is not one whole result: %v", signature, files)
		}
	}
	if w.replaced {
		return
	}
	contents := slices.Collect(maps.Values(all))
	for name, content := range w.old {
		if content != "" && !slices.Contains(contents, content) {
			w.fatalf("%s is lost; there are %s", name, slices.Sorted(maps.Keys(all)))
		}
	}
}
