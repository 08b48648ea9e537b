package jobgraph

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrInvalid is wrapped by every error of Validate.
var ErrInvalid = errors.New("invalid job graph")

func sortEdges(edges []Edge, end func(Edge) (VertexID, int)) {
	slices.SortFunc(edges, func(a, b Edge) int {
		_, i := end(a)
		_, j := end(b)
		return cmp.Compare(i, j)
	})
}

// ComputeDigest returns the digest of the graph's shape: SHA-256 in lower-case hex. It
// leaves out splits, outputs, files, config, arguments, the name shown to users, the resources of groups, the kinds of edges, and
// what is only told to people.
func (g *JobGraph) ComputeDigest() string {
	type vertex struct {
		Operators   []string
		Parallelism int
		Source      bool
		Collect     string
		Group       string
		Commit      bool
	}
	type edge struct {
		From    VertexID
		Output  int
		To      VertexID
		Input   int
		Pattern Pattern
		Type    string
		Route   string `json:",omitempty"`
	}
	groups := g.SlotGroups()
	shape := struct {
		ProtocolVersion int
		Job             string
		Vertices        []vertex
		Edges           []edge
		CoLocations     []CoLocation
	}{g.ProtocolVersion, g.Job, make([]vertex, len(g.Vertices)), make([]edge, len(g.Edges)), g.CoLocations}
	for i, e := range g.Edges {
		shape.Edges[i] = edge{e.From, e.Output, e.To, e.Input, e.Pattern, e.Type, e.Route}
	}
	for i, v := range g.Vertices {
		shape.Vertices[i] = vertex{v.Operators, v.Parallelism, v.Source, v.Collect, "", v.Commit}
		if v.Group >= 0 && v.Group < len(groups) { // otherwise the graph is not valid
			shape.Vertices[i].Group = groups[v.Group].Name
		}
	}
	text, err := json.Marshal(shape)
	if err != nil { // strings and numbers only: cannot fail
		panic(fmt.Sprintf("jobgraph: marshal shape: %v", err))
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// PublicID returns the id of a vertex in the REST API, 32 hex digits. It is the same for
// every run of the same plan.
func (g *JobGraph) PublicID(v VertexID) string {
	sum := sha256.Sum256(binary.BigEndian.AppendUint32([]byte(g.Digest), uint32(v)))
	return hex.EncodeToString(sum[:16])
}

// Validate checks everything that a JobMaster relies on, because the graph comes from
// another process. Every error wraps ErrInvalid.
func (g *JobGraph) Validate() error {
	switch {
	case g.ProtocolVersion != ProtocolVersion:
		return fmt.Errorf("%w: protocol version %d, this build speaks %d", ErrInvalid, g.ProtocolVersion, ProtocolVersion)
	case len(g.Vertices) == 0:
		return fmt.Errorf("%w: no vertices", ErrInvalid)
	case len(g.Vertices) > MaxVertices || len(g.Edges) > MaxEdges:
		return fmt.Errorf("%w: %d vertices and %d edges, a job has at most %d and %d: divide the job",
			ErrInvalid, len(g.Vertices), len(g.Edges), MaxVertices, MaxEdges)
	}
	if err := g.validateFiles(); err != nil {
		return err
	}
	inputs, outputs, err := g.validateEdges()
	if err != nil {
		return err
	}
	subtasks := 0
	collects := make(map[string]bool)
	for i, v := range g.Vertices {
		switch {
		case v.Parallelism < 1 || v.Parallelism > MaxParallelism:
			return fmt.Errorf("%w: vertex %d %q has parallelism %d, want 1 to %d", ErrInvalid, i, v.Name, v.Parallelism, MaxParallelism)
		case v.Source == (len(inputs[i]) > 0):
			return fmt.Errorf("%w: vertex %d %q must read either splits or edges", ErrInvalid, i, v.Name)
		case v.Collect != "" && v.Parallelism != 1:
			return fmt.Errorf("%w: vertex %d %q collects with parallelism %d, want 1", ErrInvalid, i, v.Name, v.Parallelism)
		case v.Commit && (v.Parallelism != 1 || v.Source || len(outputs[i]) > 0):
			return fmt.Errorf("%w: vertex %d %q commits: it must have parallelism 1, and only inputs", ErrInvalid, i, v.Name)
		case v.Collect != "" && collects[v.Collect]:
			return fmt.Errorf("%w: vertex %d %q collects %q, and so does another vertex", ErrInvalid, i, v.Name, v.Collect)
		}
		collects[v.Collect] = true
		if subtasks += v.Parallelism; subtasks > MaxSubtasks {
			return fmt.Errorf("%w: more than %d subtasks: lower the parallelism", ErrInvalid, MaxSubtasks)
		}
		for k := range v.Splits {
			if err := v.Splits[k].Validate(); err != nil {
				return fmt.Errorf("vertex %d %q: %w", i, v.Name, err)
			}
		}
	}
	if err := g.validateGroups(); err != nil {
		return err
	}
	if err := g.validateTexts(); err != nil {
		return err
	}
	if err := g.validateKinds(); err != nil {
		return err
	}
	if digest := g.ComputeDigest(); digest != g.Digest {
		return fmt.Errorf("%w: digest %s does not match the graph's %s", ErrInvalid, g.Digest, digest)
	}
	return nil
}

// Validate checks what a source has said of a split. The error wraps ErrInvalid.
func (s *Split) Validate() error {
	switch {
	case len(s.Data) > MaxSplitData:
		return fmt.Errorf("%w: a split has %d bytes of data, at most %d are allowed: put the data into a file, and name the file", ErrInvalid, len(s.Data), MaxSplitData)
	case len(s.Parts) > 0 && !strings.HasSuffix(s.Base, "/"):
		return fmt.Errorf("%w: the base of a split with files is %q: it must be a URI that ends with a slash", ErrInvalid, s.Base)
	case s.Size < 0:
		return fmt.Errorf("%w: a split has the size %d", ErrInvalid, s.Size)
	}
	for _, p := range s.Parts {
		if p.Offset < 0 || p.Length < 0 || p.Length > p.FileLength-p.Offset {
			return fmt.Errorf("%w: a split has %d bytes from offset %d of %s, which has %d bytes", ErrInvalid, p.Length, p.Offset, s.URI(p), p.FileLength)
		}
	}
	return nil
}

// Bounds of a cached file, in bytes.
const (
	maxFileName = 1 << 8
	maxFileURI  = 1 << 12
)

// validateFiles checks the cached files. A file without a URI must have a hash, by which the session
// finds it.
func (g *JobGraph) validateFiles() error {
	if len(g.Files) > MaxFiles {
		return fmt.Errorf("%w: %d cached files, a job has at most %d: pack several files into one", ErrInvalid, len(g.Files), MaxFiles)
	}
	names := make(map[string]bool, len(g.Files))
	for _, f := range g.Files {
		switch {
		case f.Name == "" || len(f.Name) > maxFileName:
			return fmt.Errorf("%w: the name of a cached file has %d bytes, want 1 to %d", ErrInvalid, len(f.Name), maxFileName)
		case names[f.Name]:
			return fmt.Errorf("%w: two cached files are named %q", ErrInvalid, f.Name)
		case len(f.URI) > maxFileURI || f.URI == "" && f.SHA256 == "":
			return fmt.Errorf("%w: cached file %q has no hash, and a URI of %d bytes, want 1 to %d", ErrInvalid, f.Name, len(f.URI), maxFileURI)
		case f.SHA256 != "" && !isHash(f.SHA256):
			return fmt.Errorf("%w: cached file %q has a SHA-256 of %d bytes, want 64 hex digits in lower case", ErrInvalid, f.Name, len(f.SHA256))
		case f.Size < 0:
			return fmt.Errorf("%w: cached file %q has %d bytes", ErrInvalid, f.Name, f.Size)
		}
		names[f.Name] = true
	}
	return nil
}

func isHash(text string) bool {
	return len(text) == 2*sha256.Size && strings.Trim(text, "0123456789abcdef") == ""
}

// validateEdges checks the edges, and that each vertex's inputs and outputs have the
// numbers 0, 1, …. It returns the inputs and the outputs of each vertex.
func (g *JobGraph) validateEdges() (inputs, outputs [][]int, err error) {
	inputs, outputs = make([][]int, len(g.Vertices)), make([][]int, len(g.Vertices))
	for _, e := range g.Edges {
		if e.From < 0 || e.From >= e.To || int(e.To) >= len(g.Vertices) {
			return nil, nil, fmt.Errorf("%w: edge %d -> %d is not in topological order", ErrInvalid, e.From, e.To)
		}
		if e.Pattern == Pointwise && g.Vertices[e.From].Parallelism != g.Vertices[e.To].Parallelism {
			return nil, nil, fmt.Errorf("%w: pointwise edge %d -> %d between different parallelisms", ErrInvalid, e.From, e.To)
		}
		if e.Pattern != Pointwise && e.Pattern != AllToAll {
			return nil, nil, fmt.Errorf("%w: edge %d -> %d has unknown pattern %q", ErrInvalid, e.From, e.To, e.Pattern)
		}
		if e.Kind != Pipelined && e.Kind != Blocking {
			return nil, nil, fmt.Errorf("%w: edge %d -> %d has unknown kind %q", ErrInvalid, e.From, e.To, string(e.Kind))
		}
		inputs[e.To] = append(inputs[e.To], e.Input)
		outputs[e.From] = append(outputs[e.From], e.Output)
	}
	for v := range g.Vertices {
		switch {
		case !numbered(inputs[v]):
			return nil, nil, fmt.Errorf("%w: inputs of vertex %d are not numbered from 0", ErrInvalid, v)
		case !numbered(outputs[v]):
			return nil, nil, fmt.Errorf("%w: outputs of vertex %d are not numbered from 0", ErrInvalid, v)
		}
	}
	return inputs, outputs, nil
}

// numbered sorts ports and reports whether they are 0, 1, ….
func numbered(ports []int) bool {
	slices.Sort(ports)
	for i, port := range ports {
		if i != port {
			return false
		}
	}
	return true
}
