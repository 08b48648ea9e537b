package dataflow

import (
	"errors"
	"fmt"
	"maps"
	"runtime"
	"strconv"
	"strings"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/dataflow/operator"
)

// ErrNotDeterministic says that a plan function gave two different plans for the
// same arguments.
var ErrNotDeterministic = errors.New("the plan function gives a different plan each time it runs: " +
	"it must depend only on its arguments (no clock, no random numbers, no order of a map)")

// PlanPanic is the panic of a plan function, as an error.
type PlanPanic struct {
	Job   string
	Value any
	Stack string // the user's frames: for each one its function, and its place on an indented line
}

func (e *PlanPanic) Error() string {
	return fmt.Sprintf("panic while planning job %s: %v", e.Job, e.Value)
}

// PlanOptions are the inputs of a plan beside the job's arguments.
type PlanOptions struct {
	Parallelism int               // of operators that set none; 0 means 1
	Config      map[string]string // options, which the graph holds together with the parallelism
}

// Compiled is a planned job: its graph and the code of its tasks. It is
// immutable.
type Compiled struct {
	// Graph is the job without the splits of its sources; see Prepare.
	Graph jobgraph.JobGraph
	// Tasks holds the code of each vertex, by VertexID.
	Tasks []operator.Task

	vertices []*vertex
	joins    [][2]*node // the operators above the sides of joins without a hint
}

// Compile plans a job of this program and joins its operators into vertices. It
// calls the plan function twice with the same arguments. It returns an error if
// the plan has mistakes or the two plans differ, and a *PlanPanic if the plan
// function panics. The same program, arguments and options give the same digest
// in every process.
func Compile(job string, args []byte, o PlanOptions) (*Compiled, error) {
	found, err := jobs.find(job)
	if err != nil {
		return nil, err
	}
	first, err := compile(found, args, o)
	if err != nil {
		return nil, err
	}
	second, err := compile(found, args, o)
	if err != nil || first.fingerprint() != second.fingerprint() {
		return nil, fmt.Errorf("job %s: %w", job, errors.Join(ErrNotDeterministic, err))
	}
	return first, nil
}

// boolOption reads an option that is true or false; it is false if it is not set.
func boolOption(config map[string]string, name string) (bool, error) {
	text, set := config[name]
	if !set {
		return false, nil
	}
	value, err := strconv.ParseBool(text)
	if err != nil {
		return false, fmt.Errorf("option %s: %q is neither true nor false", name, text)
	}
	return value, nil
}

func compile(job Executable, args []byte, o PlanOptions) (*Compiled, error) {
	p := &Plan{parallelism: max(1, o.Parallelism)}
	mode, err := shuffleModeOf(o.Config)
	if err != nil {
		return nil, err
	}
	if p.showElements, err = boolOption(o.Config, optionShowElement); err != nil {
		return nil, err
	}
	if p.choices, err = newChoices(o.Config); err != nil {
		return nil, err
	}
	if err := drawSafely(job, p, args); err != nil {
		return nil, err
	}
	if err := p.check(); err != nil {
		return nil, fmt.Errorf("plan job %s: %w", job.Name(), err)
	}
	// The cluster has its own default parallelism, but must plan with this one.
	config := maps.Clone(o.Config)
	if config == nil {
		config = make(map[string]string)
	}
	config[optionDefaultParallelism] = strconv.Itoa(p.parallelism)
	vertices, of := p.vertices()
	c := &Compiled{vertices: vertices, joins: p.choices.joins, Graph: jobgraph.JobGraph{
		ProtocolVersion: jobgraph.ProtocolVersion,
		Job:             job.Name(),
		Name:            job.Name(),
		Args:            args,
		Config:          config,
	}}
	if name := o.Config[optionPipelineName]; name != "" {
		c.Graph.Name = name
	}
	for _, v := range vertices {
		c.Graph.Vertices = append(c.Graph.Vertices, v.describe())
		c.Tasks = append(c.Tasks, task{v})
	}
	placeVertices(&c.Graph, vertices, of)
	var held []bool
	if c.Graph.Edges, held, err = connect(vertices, of); err != nil {
		return nil, fmt.Errorf("plan job %s: %w", job.Name(), err)
	}
	if err := setKinds(&c.Graph, held, mode); err != nil {
		return nil, fmt.Errorf("plan job %s: %w", job.Name(), err)
	}
	c.Graph.Digest = c.Graph.ComputeDigest()
	if err := c.Graph.Validate(); err != nil {
		return nil, fmt.Errorf("plan job %s: %w", job.Name(), err)
	}
	return c, nil
}

// optionPipelineName is Flink's option for the name that users see.
const optionPipelineName = "pipeline.name"

// optionShowElement puts elements into the errors of users' functions; see OperatorError.
const optionShowElement = "pipeline.errors.show-element"

// fingerprint is what two plans with the same options have in common: their shape and the kinds of edges.
func (c *Compiled) fingerprint() string {
	var b strings.Builder
	b.WriteString(c.shape())
	for _, e := range c.Graph.Edges {
		fmt.Fprintf(&b, "\n%s", e.Kind)
	}
	return b.String()
}

// shape is what plans with different sizes of inputs have in common: the digest, and the texts of sources and sinks, which the
// digest leaves out.
func (c *Compiled) shape() string {
	var b strings.Builder
	b.WriteString(c.Graph.Digest)
	for _, v := range c.vertices {
		for _, n := range v.nodes {
			if n.source != nil {
				fmt.Fprintf(&b, "\n%q", n.source.text)
			}
			if n.sink != nil {
				fmt.Fprintf(&b, "\n%q", n.sink.text)
			}
		}
	}
	return b.String()
}

// drawSafely runs the plan function and turns its panic into an error.
func drawSafely(job Executable, p *Plan, args []byte) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &PlanPanic{Job: job.Name(), Value: value, Stack: userStack()}
		}
	}()
	return job.draw(p, args)
}

// userStack returns the frames between a panic and the caller of the plan function.
// A deferred function calls it during the panic.
func userStack() string {
	var b strings.Builder
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(0, pcs)])
	panicking := false
	for {
		frame, more := frames.Next()
		switch {
		case strings.HasPrefix(frame.Function, "runtime."):
			panicking = panicking || frame.Function == "runtime.gopanic"
		case panicking && strings.Contains(frame.Function, "dataflow.(*JobDef["):
			return b.String()
		case panicking:
			fmt.Fprintf(&b, "%s\n\t%s:%d\n", frame.Function, frame.File, frame.Line)
		}
		if !more {
			return b.String()
		}
	}
}

// routeBySize is the route of an edge about which the sizes of inputs decide.
const routeBySize = "by size"

// routeAs is the route of an edge; see jobgraph.Edge. ship is its ship strategy.
func (c *connection) routeAs(ship jobgraph.Ship) string {
	switch {
	case c.bySize:
		return routeBySize
	case c.held:
		return string(ship) + ", held back"
	default:
		return string(ship)
	}
}

// connect returns the edges between vertices, and numbers each vertex's outputs. held says for each edge whether its consumer
// holds it back.
func connect(vertices []*vertex, of map[*node]*vertex) (edges []jobgraph.Edge, held []bool, err error) {
	for _, to := range vertices {
		for i, in := range to.inputs {
			producer := in.from.node
			from := of[producer]
			typ, err := in.from.resolve()
			if err != nil {
				return nil, nil, fmt.Errorf("%s: %w", producer.name, err)
			}
			pattern, ship := jobgraph.AllToAll, in.from.ship
			switch parallelism := to.nodes[0].parallelism; {
			case !in.exchange && producer.parallelism == parallelism:
				pattern, ship = jobgraph.Pointwise, jobgraph.ShipForward
			case ship == jobgraph.ShipForward && producer.parallelism == parallelism:
			case (ship == "" || ship == jobgraph.ShipForward) && parallelism == 1:
				ship = jobgraph.ShipGather
			case ship == "" || ship == jobgraph.ShipForward:
				ship = jobgraph.ShipRebalance
			}
			edges = append(edges, jobgraph.Edge{
				From: from.id, Output: from.outputCount, To: to.id, Input: i, Pattern: pattern, Type: typ, Route: in.routeAs(ship), Ship: ship,
			})
			held = append(held, in.held)
			from.outputs[in.from] = append(from.outputs[in.from], from.outputCount)
			from.outputCount++
		}
	}
	return edges, held, nil
}
