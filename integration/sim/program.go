package sim

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/bobbin-yarn/bobbin/dataflow"
	"github.com/bobbin-yarn/bobbin/dataflow/codec"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/dataflow/operator"
	"github.com/bobbin-yarn/bobbin/integration/sim/dfsmodel"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/sched"
	"github.com/bobbin-yarn/bobbin/taskrunner/taskhost"
)

// job is a job that a client submits: sources read splits, which takes time, and send a record for each
// to sinks, which count and write. All but the sources is code of production. A job has one or two such
// parts, which exchange no data. A job without parts has only sources, which exchange no data either.
// In a diamond, models of tasks pass the records on between sources and sinks; see relay.
type job struct {
	id                     ids.JobID
	at                     time.Duration // of its submission
	parts                  int
	sources, sinks, splits int                            // of each part
	groups                 bool                           // of slots: see args.Groups
	diamond                bool                           // see args.Diamond
	kinds                  func(*jobgraph.JobGraph) error // decides which edges are blocking; nil: none are
	most                   time.Duration                  // to read a split
	compiled               *dataflow.Compiled
	graph                  jobgraph.JobGraph // with splits
	canceled               bool              // by its user
	accepted               bool              // by its session
	failed                 bool              // because it may not restart
	cached                 bool              // it has the cached file
	stubborn               bool              // its sources ignore that they are cancelled while they read
}

// drawJobs draws the jobs of a schedule, in the order of their submission.
func drawJobs(w *World) []*job {
	s := w.schedule
	shape, parts := w.stream("jobs"), w.stream("parts")
	jobs := make([]*job, s.Jobs)
	var at time.Duration
	for i := range jobs {
		jobs[i] = &job{
			id: ids.JobID(fmt.Sprint("job", i+1)), at: at, groups: s.Groups, stubborn: s.Stubborn,
			parts: 1, sources: 1 + shape.IntN(mostTasks), sinks: 1 + shape.IntN(3), splits: shape.IntN(12), most: 3 * time.Second,
		}
		switch parts.IntN(8) {
		case 0:
			jobs[i].parts = 0
		case 1, 2:
			jobs[i].parts = 2
		}
		if s.Tasks > 0 {
			jobs[i].sources, jobs[i].sinks = min(jobs[i].sources, s.Tasks), min(jobs[i].sinks, s.Tasks)
		}
		if shape.IntN(4) == 0 {
			jobs[i].most = time.Minute
		}
		at += between(shape, 0, 30*time.Second)
	}
	drawFiles(w.stream("files"), s.Mode, jobs)
	drawEdges(w, jobs)
	return jobs
}

// mostJobs and mostTasks bound the jobs of a schedule and the tasks of a vertex.
const mostJobs, mostTasks = 4, 4

// readCounter counts the splits that sources have read.
const readCounter = "read"

// args are the arguments of the plan function.
type args struct {
	Job            ids.JobID // by which a task host finds its job
	Outputs        []string  // one for each part
	Sources, Sinks int
	Groups         bool // sources and sinks are in slot sharing groups of their own
	Diamond        bool // sinks read the sources on two ways, of which one has a further exchange
}

// countNames is the plan of all jobs: it counts names, each of which comes once.
var countNames = dataflow.Job("count-names", func(p *dataflow.Plan, a args) error { //nolint:gochecknoglobals // as programs have it
	read, count := []dataflow.Option{dataflow.Parallelism(a.Sources)}, []dataflow.Option{dataflow.Parallelism(a.Sinks)}
	if a.Groups {
		read = append(read, dataflow.InGroup(dataflow.SlotSharingGroup("read", dataflow.Resources{CPU: 0.5, TaskHeap: 100 << 20})))
		count = append(count, dataflow.InGroup(dataflow.SlotSharingGroup("count", dataflow.Resources{CPU: 1, TaskHeap: 600 << 20, Managed: 100 << 20})))
	}
	if len(a.Outputs) == 0 {
		names := dataflow.ReadTextWith(p, []string{"hdfs://sim/in"}, read...)
		dataflow.Print(names, func(dst, name []byte) []byte { return append(dst, name...) }, dataflow.Parallelism(a.Sources))
	}
	for _, output := range a.Outputs {
		names := dataflow.ReadTextWith(p, []string{"hdfs://sim/in"}, read...)
		if a.Diamond {
			names = dataflow.Union(names, dataflow.Rebalance(names, dataflow.Parallelism(a.Sinks)))
		}
		counts := dataflow.Count(dataflow.KeyBy(names, dataflow.Identity[[]byte]), count...)
		dataflow.WriteText(counts, output, func(dst []byte, kv dataflow.KV[[]byte, int64]) []byte {
			return strconv.AppendInt(append(append(dst, kv.Key...), '='), kv.Value, 10)
		}, dataflow.Parallelism(a.Sinks))
	}
	return nil
})

// outputs are the directories of the job's outputs.
func (j *job) outputs() []string {
	var all []string
	for i := range j.parts {
		all = append(all, fmt.Sprintf("/out/%s-%d", j.id, i+1))
	}
	return all
}

// onHDFS makes URIs of paths.
func onHDFS(paths []string) []string {
	uris := slices.Clone(paths)
	for i := range uris {
		uris[i] = "hdfs://" + dfsmodel.Authority + uris[i]
	}
	return uris
}

// plan plans the job, as its driver does.
func (j *job) plan() error {
	encoded, err := json.Marshal(args{Job: j.id, Outputs: onHDFS(j.outputs()), Sources: j.sources, Sinks: j.sinks, Groups: j.groups, Diamond: j.diamond})
	if err != nil {
		return fmt.Errorf("encode arguments of %s: %w", j.id, err)
	}
	if j.compiled, err = dataflow.Compile(countNames.Name(), encoded, dataflow.PlanOptions{}); err != nil {
		return fmt.Errorf("plan %s: %w", j.id, err)
	}
	if j.kinds != nil {
		if err := j.kinds(&j.compiled.Graph); err != nil {
			return fmt.Errorf("plan %s: %w", j.id, err)
		}
	}
	j.graph = j.compiled.Graph
	j.graph.Vertices = slices.Clone(j.graph.Vertices)
	part := 0
	for i := range j.graph.Vertices {
		if v := &j.graph.Vertices[i]; v.Source {
			for split := range j.splits {
				v.Splits = append(v.Splits, jobgraph.Split{
					Base: "hdfs://sim/in/", Parts: []jobgraph.Part{{Name: fmt.Sprint("name", split), Length: 1, FileLength: 1}},
				})
			}
		} else if j.writes(i) {
			v.Outputs = onHDFS(j.outputs()[part : part+1])
			part++
		}
	}
	return nil
}

// writes reports whether a vertex writes an output. The next one commits it.
func (j *job) writes(v int) bool {
	return v+1 < len(j.graph.Vertices) && j.graph.Vertices[v+1].Commit
}

// program is the user's program in a task host.
type program struct{ host *host }

// errNoJob says that a host was told of a job that nobody has submitted.
var errNoJob = errors.New("no such job")

// Compile implements taskhost.Program.
func (p program) Compile(_ string, encoded []byte, _ int, _ map[string]string) (taskhost.Compiled, error) {
	for _, j := range p.host.w.jobs {
		if bytes.Equal(encoded, j.graph.Args) {
			pace := p.host.w.stream("pace of " + string(p.host.id))
			tasks := slices.Clone(j.compiled.Tasks)
			for i, t := range tasks {
				switch v := j.graph.Vertices[i]; {
				case v.Source:
					t = source{j, p.host, pace}
				case !v.Commit && !j.writes(i):
					t = relay{}
				}
				tasks[i] = shown{t, p.host, j}
			}
			return taskhost.Compiled{Graph: j.compiled.Graph, Tasks: tasks}, nil
		}
	}
	return taskhost.Compiled{}, fmt.Errorf("compile %s: %w", encoded, errNoJob)
}

// shown shows each run of a task to the rules.
type shown struct {
	operator.Task
	host *host
	job  *job
}

// Run implements operator.Task.
func (s shown) Run(ctx context.Context, t operator.Subtask) error {
	e, is := ids.ParseExecutionAttemptID(t.Attempt())
	if !is {
		return fmt.Errorf("%q is no id of an attempt", t.Attempt())
	}
	if e.Attempt > 0 {
		s.host.w.facts[Reruns]++
	}
	s.host.w.watch.begin(s.host, ids.JobID(t.Job()), e)
	s.host.tasks[e] = ctx.Err
	defer delete(s.host.tasks, e)
	if s.job.cached {
		if err := s.host.checkFile(t); err != nil {
			return err
		}
	}
	return s.Task.Run(ctx, t)
}

// source is the task of the vertex that reads.
type source struct {
	*job
	host *host
	pace *rand.Rand
}

func (s source) Run(ctx context.Context, t operator.Subtask) error {
	for {
		split, err := operator.NextSplit(ctx, t)
		if errors.Is(err, io.EOF) {
			return s.close(ctx)
		}
		if err != nil {
			return err
		}
		err = sched.Sleep(ctx, between(s.pace, time.Millisecond, s.most))
		if err == nil {
			err = s.host.crawl(ctx)
		}
		if err != nil {
			if s.stubborn {
				sched.First(context.WithoutCancel(ctx))
			}
			return err
		}
		if _, err := t.FileSystem().Stat(ctx, root); err != nil { // the real source opens the file of the split
			return err
		}
		t.Metrics(0).Counter(readCounter).Add(1)
		if t.Outputs() == 0 {
			continue
		}
		if err := s.emit(ctx, t, split.Parts[0].Name); err != nil {
			return err
		}
	}
}

// emit sends a name with the count 1 to the sink of this name, as the combiner of the real source does.
func (s source) emit(ctx context.Context, t operator.Subtask, name string) error {
	counts, err := codec.For[dataflow.KV[[]byte, int64]]()
	if err != nil {
		return err
	}
	record, err := counts.Append(nil, dataflow.KV[[]byte, int64]{Key: []byte(name), Value: 1})
	if err != nil {
		return err
	}
	way := t.Output(int(name[len(name)-1]) % t.Outputs())
	return way.Emit(ctx, len(name)%way.Channels(), record)
}

// relay is a task between sources and sinks. It passes on what it reads.
type relay struct{}

func (relay) Run(ctx context.Context, t operator.Subtask) error {
	out := t.Output(0)
	for in := range t.Inputs() {
		for {
			record, err := operator.NextRecord(ctx, t, in)
			if errors.Is(err, io.EOF) {
				break
			}
			if err == nil {
				err = out.Emit(ctx, len(record)%out.Channels(), record)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}
