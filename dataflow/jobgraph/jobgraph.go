// Package jobgraph holds the JobGraph: a job as plain data, on its way from the
// planner through client and Dispatcher to the JobMaster. It says which vertices
// there are and how their subtasks are connected; the code of a vertex stays in
// the user's program, found again by the name of the plan function and checked
// by the digest.
//
// The package imports nothing of ours and does no I/O.
package jobgraph

// ProtocolVersion is the one version that client, AM, TaskExecutor and program
// must share: it stands in the hello of each, in the JobGraph and in the
// handshake of the exchange.
const ProtocolVersion = 2

// Bounds of a job, as memory of the ApplicationMaster goes with its subtasks.
const (
	// MaxParallelism bounds a vertex's subtasks; Flink's pipeline.max-parallelism.
	MaxParallelism = 1 << 15
	// MaxSubtasks bounds those of all vertices together.
	MaxSubtasks = 1 << 20
	// MaxVertices and MaxEdges bound the graph itself, which is walked again and again.
	MaxVertices = 1 << 12
	MaxEdges    = 1 << 14
)

// JobGraph is a planned job.
type JobGraph struct {
	ProtocolVersion int      `json:"protocolVersion"`
	Job             string   `json:"job"`  // name under which the plan function is registered
	Name            string   `json:"name"` // name shown to people; Job where the user gave none
	Args            []byte   `json:"args"` // the plan function's arguments, JSON
	Vertices        []Vertex `json:"vertices"`
	Edges           []Edge   `json:"edges"`
	// Config holds the options that were in force when the job was planned
	// (restart-strategy.*, parallelism.default, …), as text under Flink's names.
	Config map[string]string `json:"config,omitempty"`
	// Digest identifies vertices, edges, types and parallelism, not splits and
	// not Config: two processes that computed the same digest will build the
	// same tasks.
	Digest string `json:"digest"`
}

// VertexID is a vertex's index in JobGraph.Vertices, which are in topological
// order: every edge goes from a lower to a higher index.
type VertexID int

// Vertex is a chain of operators that run in one goroutine per subtask.
type Vertex struct {
	Name        string   `json:"name"`      // the operators' names joined by " -> "
	Operators   []string `json:"operators"` // head first
	Parallelism int      `json:"parallelism"`
	// Source tells a vertex that reads splits from one that reads edges.
	Source bool `json:"source,omitempty"`
	// Splits are what a source vertex reads, in the order in which the
	// JobMaster hands them out.
	Splits []Split `json:"splits,omitempty"`
	// Outputs are the directories that a vertex with file sinks writes, as URIs.
	Outputs []string `json:"outputs,omitempty"`
	// Collect names the result that this vertex sends to the client, or is "".
	Collect string `json:"collect,omitempty"`
}

// Split is what one subtask reads at a time: a run of one file's bytes, or several small files.
type Split struct {
	// Base begins the URIs of all parts, and ends with "/". There may be a million files, whose
	// URIs differ in little.
	Base  string `json:"base"`
	Parts []Part `json:"parts"`
	// Hosts have all of it, by the names that DataNodes register; none where no host does.
	Hosts []string `json:"hosts,omitempty"`
}

// Part is a run of a file's bytes, read by exactly one subtask. What is said of the file is as of
// its listing: one that has changed since is an error.
type Part struct {
	Name        string `json:"name"` // what follows Base in the file's URI
	Offset      int64  `json:"offset,omitempty"`
	Length      int64  `json:"length"`
	FileLength  int64  `json:"size"`
	FileModTime int64  `json:"time"` // in ms since 1970
}

// URI is the qualified URI of a part's file.
func (s *Split) URI(p Part) string { return s.Base + p.Name }

// Bytes is how much of files the split has.
func (s *Split) Bytes() int64 {
	total := int64(0)
	for _, p := range s.Parts {
		total += p.Length
	}
	return total
}

// Edge connects an output of one vertex with an input of another.
type Edge struct {
	From    VertexID `json:"from"`
	Output  int      `json:"output"` // index among From's outputs
	To      VertexID `json:"to"`
	Input   int      `json:"input"` // index among To's inputs
	Pattern Pattern  `json:"pattern"`
	Type    string   `json:"type"` // the record type's codec, part of the digest
}

// Pattern says which consumers a producer's subtask is connected with.
type Pattern string

// The patterns of an edge.
const (
	// AllToAll connects every producer subtask with every consumer subtask:
	// hash exchanges, and gathering into a vertex of parallelism 1.
	AllToAll Pattern = "all-to-all"
	// Pointwise connects subtask i with subtask i; both ends have the same
	// parallelism.
	Pointwise Pattern = "pointwise"
)

// Channels gives the number of consumer subtasks that one subtask of the
// edge's producer writes to.
func (g *JobGraph) Channels(e Edge) int {
	if e.Pattern == Pointwise {
		return 1
	}
	return g.Vertices[e.To].Parallelism
}

// Producers gives the number of producer subtasks that one subtask of the
// edge's consumer reads from.
func (g *JobGraph) Producers(e Edge) int {
	if e.Pattern == Pointwise {
		return 1
	}
	return g.Vertices[e.From].Parallelism
}

// Inputs lists the edges that end at a vertex, by their Input index.
func (g *JobGraph) Inputs(v VertexID) []Edge {
	return g.edges(func(e Edge) (VertexID, int) { return e.To, e.Input }, v)
}

// Outputs lists the edges that begin at a vertex, by their Output index.
func (g *JobGraph) Outputs(v VertexID) []Edge {
	return g.edges(func(e Edge) (VertexID, int) { return e.From, e.Output }, v)
}

func (g *JobGraph) edges(end func(Edge) (VertexID, int), v VertexID) []Edge {
	var found []Edge
	for _, e := range g.Edges {
		if id, _ := end(e); id == v {
			found = append(found, e)
		}
	}
	sortEdges(found, end)
	return found
}

// Slots is the number of slots the whole job needs to run at once: all vertices
// share slots, one subtask of each in a slot.
func (g *JobGraph) Slots() int {
	most := 0
	for _, v := range g.Vertices {
		most = max(most, v.Parallelism)
	}
	return most
}
