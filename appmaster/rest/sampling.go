package rest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/flame"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
	"github.com/bobbin-yarn/bobbin/internal/sched"
)

const (
	// mostSampled is the number of workers whose task hosts are asked for one flame graph. The tasks of a vertex run the
	// same code, so some of them show what it does.
	mostSampled = 16
	// mostTried is the number of those that are tried for that, because some may not answer.
	mostTried = 2 * mostSampled
	// sampledAtOnce is how many of them are asked at a time, because the ResourceManager bounds the questions of all users.
	sampledAtOnce = 4
	// samplingTime bounds all questions for one flame graph: as long as one worker may take to answer.
	samplingTime = 10 * time.Second
)

// sampling joins the graphs of task hosts.
type sampling struct {
	wanted wantedFlames
	index  int // of the vertex in the JobGraph

	mu      sync.Mutex       // guards what follows
	left    []ids.ResourceID // workers that have not been asked
	graph   flame.Graph
	end     int64 // of the newest graph, in ms; restapi.FlamesWaiting: there is none
	asking  int   // workers that are asked now
	sampled int   // workers whose graphs are joined
	begun   int   // workers that make their first graph
	failed  []error
}

// sample joins the graphs of the task hosts of a job. A worker that does not answer in time is left out. The ResourceManager refuses
// questions to those that have not answered before, so that another one is asked at once.
func (s *Server) sample(ctx context.Context, wanted wantedFlames, index int, workers []ids.ResourceID) (any, error) {
	all := sampling{wanted: wanted, index: index, left: someOf(workers), end: restapi.FlamesWaiting}
	ctx, cancel := sched.WithTimeout(ctx, samplingTime)
	defer cancel()
	var group sched.Group
	for range sampledAtOnce {
		group.Go(ctx, func() {
			for ctx.Err() == nil {
				worker, some := all.next()
				if !some {
					return
				}
				content, err := s.hostFlames(ctx, wanted, worker)
				all.add(worker, content, err)
			}
		})
	}
	group.Wait(ctx)
	if all.sampled+all.begun == 0 {
		return nil, errors.Join(all.failed...)
	}
	answer := restapi.FlameGraph{End: all.end, Workers: len(workers), Sampled: all.sampled}
	if all.sampled > 0 {
		all.graph.Root.Name = "root" // as Flink's
		node := flameNodeOf(&all.graph.Root)
		answer.Data, answer.Unit = &node, flameUnits[wanted.mode]
	}
	return answer, nil
}

// someOf are the workers to try, mostTried at most. Those that are tried first are spread over all of them, because neighbours may
// have more in common.
func someOf(workers []ids.ResourceID) []ids.ResourceID {
	if len(workers) <= mostSampled {
		return workers
	}
	n := min(len(workers), mostTried)
	some := make([]ids.ResourceID, 0, n)
	for _, first := range [...]int{0, 1} {
		for i := first; i < n; i += 2 {
			some = append(some, workers[i*len(workers)/n])
		}
	}
	return some
}

// next returns a worker to ask, if one more is needed.
func (a *sampling) next() (worker ids.ResourceID, some bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.left) == 0 || a.asking+a.sampled+a.begun >= mostSampled {
		return "", false
	}
	a.asking++
	worker, a.left = a.left[0], a.left[1:]
	return worker, true
}

// add adds the graph of a worker's task host; no content: the host makes its first one.
func (a *sampling) add(worker ids.ResourceID, content []byte, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asking--
	switch {
	case err != nil:
		a.failed = append(a.failed, err)
		return
	case len(content) == 0:
		a.begun++
		return
	}
	got, err := flame.Decode(content)
	if err != nil {
		a.failed = append(a.failed, fmt.Errorf("flame graph of worker %s: %w", worker, err))
		return
	}
	a.sampled++
	a.end = max(a.end, got.End.UnixMilli())
	for _, task := range got.Graph.Root.Children {
		if a.has(task.Name) {
			a.graph.AddChildren(task)
		}
	}
	a.graph.Shrink(flame.MaxNodes)
}

// has reports whether a first level of a graph is one of the tasks.
func (a *sampling) has(task string) bool {
	e, is := ids.ParseExecutionAttemptID(task)
	return is && e.Vertex == a.index && (a.wanted.subtask < 0 || e.Subtask == a.wanted.subtask)
}

// hostFlames asks the task host of a job on a worker. It answers with nothing while the host makes its first graph.
func (s *Server) hostFlames(ctx context.Context, wanted wantedFlames, worker ids.ResourceID) ([]byte, error) {
	if s.config.Processes == nil {
		return nil, errNoProcesses
	}
	got, err := s.config.Processes.Inquire(ctx, worker, "", msg.Inquiry{Topic: msg.AboutHosts})
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(got.Hosts, func(h msg.HostDetails) bool { return h.Job == wanted.job })
	if i < 0 {
		return nil, fmt.Errorf("%w: worker %s has no task host of job %s", msg.ErrNotShown, worker, wanted.job)
	}
	got, err = s.config.Processes.Inquire(ctx, worker, got.Hosts[i].Host, s.aboutFlames(wanted.mode))
	return got.Content, err
}

func (s *Server) aboutFlames(mode msg.ProfileMode) msg.Inquiry {
	return msg.Inquiry{Topic: msg.AboutFlames, Profile: msg.ProfileRequest{Mode: mode, Duration: s.config.Options.Duration(config.RESTFlamesRefresh)}}
}
