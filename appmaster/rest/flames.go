package rest

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/flame"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
)

// flameUnits are the units of the modes.
var flameUnits = map[msg.ProfileMode]string{ //nolint:gochecknoglobals // a constant table
	msg.FlameFull: "samples", msg.FlameOffCPU: "samples", msg.FlameOnCPU: "ms", msg.ProfileCPU: "ms", msg.ProfileAlloc: "bytes",
}

// vertexFlameGraph answers GET …/vertices/{vertex}/flamegraph. As Flink, it begins to look at the tasks when somebody asks,
// and answers that he must wait until the first graph is there.
func (s *Server) vertexFlameGraph(ctx context.Context, wanted wantedFlames) (any, error) {
	if !s.config.Options.Bool(config.RESTFlames) {
		return restapi.FlameGraph{End: restapi.FlamesDisabled}, nil
	}
	details, err := s.gateway.JobDetails(ctx, wanted.job)
	if err != nil {
		return nil, err
	}
	v, err := s.gateway.VertexSubtasks(ctx, wanted.job, wanted.vertex)
	if err != nil {
		return nil, err
	}
	index := slices.IndexFunc(details.Vertices, func(d msg.VertexDetails) bool { return d.ID == wanted.vertex })
	workers := wanted.workers(v)
	if len(workers) == 0 {
		return restapi.FlameGraph{End: restapi.FlamesTerminated}, nil
	}
	return s.sample(ctx, wanted, index, workers)
}

// wantedFlames says of which tasks a flame graph is. Equal ones have the same answer.
type wantedFlames struct {
	job     ids.JobID
	vertex  string // its id
	subtask int    // below 0: all of them
	mode    msg.ProfileMode
}

func flameRequest(r *http.Request) (w wantedFlames, err error) {
	w.subtask = -1
	if w.job, err = jobID(r); err != nil {
		return w, err
	}
	if w.vertex, err = vertexID(r); err != nil {
		return w, err
	}
	if given := r.URL.Query().Get("subtaskindex"); given != "" {
		if w.subtask, err = strconv.Atoi(given); err != nil || w.subtask < 0 {
			return w, badRequest("subtaskindex=%s is no subtask: give its number, 0 or more", given)
		}
	}
	given := r.URL.Query().Get("type")
	switch mode := msg.ProfileMode(strings.ToUpper(given)); mode { // as Flink: its dashboard sends on_cpu
	case "":
		w.mode = msg.FlameFull
	case msg.FlameFull, msg.FlameOnCPU, msg.FlameOffCPU:
		w.mode = mode
	default:
		return w, badRequest("type=%s is no type of flame graphs: give FULL, ON_CPU or OFF_CPU", given)
	}
	return w, nil
}

// workers are those that run the tasks. A vertex may have ten thousand.
func (w wantedFlames) workers(v msg.VertexSubtasks) (workers []ids.ResourceID) {
	found := make(map[ids.ResourceID]bool)
	for i := range v.Subtasks {
		one := &v.Subtasks[i]
		if (w.subtask < 0 || w.subtask == i) && one.State == msg.ExecutionRunning && one.Resource != "" && !found[one.Resource] {
			found[one.Resource] = true
			workers = append(workers, one.Resource)
		}
	}
	return workers
}

// processFlameGraph answers GET …/flamegraph of a process: the ApplicationMaster, a worker or a task host.
func (s *Server) processFlameGraph(r *http.Request) (any, error) {
	if !s.config.Options.Bool(config.RESTProfiling) {
		return nil, errNoProfiling
	}
	mode, known := map[string]msg.ProfileMode{"": msg.ProfileCPU, "cpu": msg.ProfileCPU, "heap": msg.ProfileAlloc}[r.URL.Query().Get("kind")]
	if !known {
		return nil, badRequest("kind=%s is no kind of flame graphs: give cpu or heap", r.URL.Query().Get("kind"))
	}
	got, err := s.ask(r)(r.Context(), s.aboutFlames(mode))
	switch {
	case err != nil:
		return nil, err
	case len(got.Content) == 0:
		return restapi.FlameGraph{End: restapi.FlamesWaiting}, nil
	}
	graph, err := flame.Decode(got.Content)
	if err != nil {
		return nil, err
	}
	graph.Graph.Root.Name = "root"
	node := flameNodeOf(&graph.Graph.Root)
	return restapi.FlameGraph{End: graph.End.UnixMilli(), Data: &node, Unit: flameUnits[mode]}, nil
}

func flameNodeOf(n *flame.Node) restapi.FlameNode {
	node := restapi.FlameNode{Name: n.Name, Value: n.Value, Children: make([]restapi.FlameNode, len(n.Children))}
	for i, c := range n.Children {
		node.Children[i] = flameNodeOf(c)
	}
	return node
}
