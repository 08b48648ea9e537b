// Package jobgraph holds the JobGraph: a job as plain data. The planner makes it, and the client
// sends it through the Dispatcher to the JobMaster. The graph lists the vertices and says how
// their subtasks are connected. The code of a vertex stays in the user's program: a task host finds
// it by the name of the plan function, and checks by the digest that the plan is the same.
//
// The package imports nothing of ours and does no I/O.
package jobgraph

import "math"

// ProtocolVersion is the version that client, AM, TaskExecutor and program must have in common.
// Each sends it in its hello; the JobGraph and the handshake of the exchange hold it too.
const ProtocolVersion = 7

// Bounds of a job. The ApplicationMaster needs memory for each subtask.
const (
	// MaxParallelism bounds a vertex's subtasks; Flink's pipeline.max-parallelism.
	MaxParallelism = 1 << 15
	// MaxSubtasks bounds the subtasks of all vertices together.
	MaxSubtasks = 1 << 20
	// MaxVertices and MaxEdges bound the graph itself, because the roles often iterate over it.
	MaxVertices = 1 << 12
	MaxEdges    = 1 << 14
	// MaxFiles bounds the cached files, of which each worker makes a copy.
	MaxFiles = 1 << 8
	// MaxSplitData bounds Split.Data, in bytes.
	MaxSplitData = 16 << 10
	// MaxCommittable bounds what the task of a sink hands to the commit, in bytes, and MaxCommittables bounds that of all
	// tasks of the sink together: 64 bytes for each of MaxParallelism tasks.
	MaxCommittable  = 1 << 10
	MaxCommittables = 2 << 20
)

// JobGraph is a planned job.
type JobGraph struct {
	ProtocolVersion int      `json:"protocolVersion"`
	Job             string   `json:"job"`  // name under which the plan function is registered
	Name            string   `json:"name"` // shown to users; Job if the user gave none
	Args            []byte   `json:"args"` // the plan function's arguments, JSON
	Vertices        []Vertex `json:"vertices"`
	Edges           []Edge   `json:"edges"`
	// Groups are the slot sharing groups; see SlotGroups.
	Groups []Group `json:"groups,omitempty"`
	// CoLocations are the pairs of vertices whose subtasks share slots.
	CoLocations []CoLocation `json:"coLocations,omitempty"`
	// Config holds the options that were in force when the job was planned
	// (restart-strategy.*, parallelism.default, …), as text under Flink's names.
	Config map[string]string `json:"config,omitempty"`
	// Files are the job's cached files (pipeline.cached-files), by name.
	Files []CachedFile `json:"files,omitempty"`
	// Digest identifies vertices, edges, types, groups and parallelism; see ComputeDigest. From the same
	// arguments, two processes with the same digest build the same tasks.
	Digest string `json:"digest"`
}

// CachedFile is a file that each task of the job finds on its worker (an entry of Flink's
// DistributedCache).
type CachedFile struct {
	Name string `json:"name"` // by which the tasks ask for it
	// URI is the file's place on the file systems of the cluster. "": the file is in the cache of
	// the session that takes the job, which knows the place by the hash.
	URI string `json:"uri,omitempty"`
	// SHA256 is the hash of the content, in lower-case hex. "": size and time identify the file,
	// and it is an error if they change.
	SHA256  string `json:"sha256,omitempty"`
	Size    int64  `json:"size"`           // bytes
	ModTime int64  `json:"time,omitempty"` // in ms since 1970; 0 with SHA256
	// Executable says that the tasks may execute the file.
	Executable bool `json:"executable,omitempty"`
}

// VertexID is a vertex's index in JobGraph.Vertices. The vertices are in topological order: every
// edge goes from a lower to a higher index.
type VertexID int

// Vertex is a chain of operators. Each subtask runs the chain in one goroutine.
type Vertex struct {
	Name        string   `json:"name"`      // the operators' names joined by " -> "
	Operators   []string `json:"operators"` // head first
	Parallelism int      `json:"parallelism"`
	// Group is the vertex's slot sharing group, an index in JobGraph.SlotGroups.
	Group int `json:"group,omitempty"`
	// Source is true if the vertex reads splits, and false if it reads edges.
	Source bool `json:"source,omitempty"`
	// Splits are the input of a source vertex, in the order in which the JobMaster hands them
	// out.
	Splits []Split `json:"splits,omitempty"`
	// Outputs are the URIs of the directories that the sinks of the vertex write.
	Outputs []string `json:"outputs,omitempty"`
	// Commit is true if the vertex commits the output of its producers. Its one subtask reports what it is about to commit,
	// and waits for leave, which comes when all tasks of its region have ended except those that commit. So no other
	// vertex may wait for its output: it has none.
	Commit bool `json:"commit,omitempty"`
	// Collect names the result that this vertex sends to the client, or is "".
	Collect string `json:"collect,omitempty"`
	// Notes tell people what the planner has chosen for operators, and why: at most one for each. They are not part of the digest.
	Notes []string `json:"notes,omitempty"`
}

// Split is the input that one subtask reads at a time: a range of one file's bytes, several
// small files, or what a source of another system understands.
type Split struct {
	// Base is the common beginning of all parts' URIs and ends with "/". It saves memory when a
	// job reads a million files of one directory.
	Base  string `json:"base,omitempty"`
	Parts []Part `json:"parts,omitempty"`
	// Data tells the source what to read, in its own encoding: at most MaxSplitData bytes.
	Data []byte `json:"data,omitempty"`
	// Size is the number of bytes to read beside the parts, for the progress; 0 if it is not known.
	Size int64 `json:"size,omitempty"`
	// Hosts are the hosts that hold all parts, by the names that DataNodes register. It is empty
	// if no host holds all.
	Hosts []string `json:"hosts,omitempty"`
}

// Part is a range of a file's bytes, read by exactly one subtask. FileLength and FileModTime are
// from the listing. It is an error if the file has changed since.
type Part struct {
	Name        string `json:"name"` // the file's URI after Base
	Offset      int64  `json:"offset,omitempty"`
	Length      int64  `json:"length"`
	FileLength  int64  `json:"size"`
	FileModTime int64  `json:"time"` // in ms since 1970
}

// URI returns the qualified URI of a part's file.
func (s *Split) URI(p Part) string { return s.Base + p.Name }

// Bytes returns the number of bytes in a valid split, at most math.MaxInt64: its parts may name a file more than once.
func (s *Split) Bytes() int64 {
	total := s.Size
	for _, p := range s.Parts {
		if p.Length > math.MaxInt64-total {
			return math.MaxInt64
		}
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
	// Route is what the plan function says of how the tasks send and read the records: the ship strategy and the order of inputs, or
	// that both depend on the sizes of inputs. It is part of the digest: hosts that differ in it would lose records. At most 64 bytes.
	Route string `json:"route,omitempty"`
	// Kind says when the records can be read. It changes no code of a task, so the digest leaves it out.
	Kind Kind `json:"kind,omitempty"`
	// Ship and Why tell people how records are sent, and why the edge has its kind. Both may be "", and are not part of the digest.
	Ship Ship   `json:"ship,omitempty"`
	Why  string `json:"why,omitempty"`
}

// Kind says how long an edge keeps its records.
type Kind string

// The kinds of an edge; Flink's result partition types.
const (
	// Pipelined hands records to consumers that run at the same time. A slow consumer stops its producer. It is the zero value.
	Pipelined Kind = ""
	// Blocking keeps all records until the producer has ended; only then can consumers read them. No consumer stops the producer.
	Blocking Kind = "blocking"
)

// String returns the kind as users see it.
func (k Kind) String() string {
	if k == Pipelined {
		return "pipelined"
	}
	return string(k)
}

// Pattern says to which consumer subtasks a producer subtask is connected.
type Pattern string

// The patterns of an edge.
const (
	// AllToAll connects every producer subtask with every consumer subtask. Hash exchanges use
	// it, and so does gathering into a vertex of parallelism 1.
	AllToAll Pattern = "all-to-all"
	// Pointwise connects subtask i with subtask i. Both vertices have the same parallelism.
	Pointwise Pattern = "pointwise"
)

// Channels returns the number of consumer subtasks to which one producer subtask of the edge
// writes.
func (g *JobGraph) Channels(e Edge) int {
	if e.Pattern == Pointwise {
		return 1
	}
	return g.Vertices[e.To].Parallelism
}

// Producers returns the number of producer subtasks from which one consumer subtask of the edge
// reads.
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
