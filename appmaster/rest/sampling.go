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
	// sampledAtOnce is how many of them are asked at a time, because the ResourceManager bounds the questions of all users.
	sampledAtOnce = 4
	// samplingTime bounds all questions for one flame graph: as long as one worker may take to answer.
	samplingTime = 10 * time.Second
	// quietTime is for how long a task host that has not answered is left out, at least. One that is frozen would cost each
	// flame graph the time that a worker waits for it.
	quietTime = time.Minute
	// quietGraphs is the same time in intervals of rest.flamegraph.refresh-interval: a page asks once in each.
	quietGraphs = 3
)

// sampling joins the graphs of task hosts.
type sampling struct {
	wanted wantedFlames
	index  int // of the vertex in the JobGraph

	mu      sync.Mutex // guards what follows
	graph   flame.Graph
	end     int64 // of the newest graph, in ms; restapi.FlamesWaiting: there is none
	sampled int   // workers whose graphs are joined
	begun   int   // workers that make their first graph
	failed  []error
	silent  []ids.ResourceID // workers whose task host has not answered
}

// sample joins the graphs of the task hosts of a job. A worker that does not answer in time is left out, also the next times.
func (s *Server) sample(ctx context.Context, wanted wantedFlames, index int, workers []ids.ResourceID) (any, error) {
	all := sampling{wanted: wanted, index: index, end: restapi.FlamesWaiting}
	lively, err := s.quiet.without(wanted.job, workers, sched.Now(ctx))
	if err != nil {
		return nil, err
	}
	ctx, cancel := sched.WithTimeout(ctx, samplingTime)
	defer cancel()
	var group sched.Group
	permits := sched.NewPermits(sampledAtOnce)
	for _, worker := range someOf(lively) {
		if permits.Acquire(ctx) != nil {
			break // those that were asked have failed
		}
		group.Go(ctx, func() {
			defer permits.Release()
			content, err := s.hostFlames(ctx, wanted, worker)
			all.add(worker, content, err)
		})
	}
	group.Wait(ctx)
	s.quiet.add(wanted.job, all.silent, sched.Now(ctx), s.quietTime())
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

// quietTime is for how long a task host that has not answered is left out.
func (s *Server) quietTime() time.Duration {
	return max(quietTime, quietGraphs*s.config.Options.Duration(config.RESTFlamesRefresh))
}

// someOf are mostSampled workers at most, evenly chosen, because neighbours may have more in common.
func someOf(workers []ids.ResourceID) []ids.ResourceID {
	if len(workers) <= mostSampled {
		return workers
	}
	some := make([]ids.ResourceID, mostSampled)
	for i := range some {
		some[i] = workers[i*len(workers)/mostSampled]
	}
	return some
}

// add adds the graph of a worker's task host; no content: the host makes its first one.
func (a *sampling) add(worker ids.ResourceID, content []byte, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case err != nil:
		a.failed = append(a.failed, err)
		if errors.Is(err, msg.ErrWorkerSilent) {
			a.silent = append(a.silent, worker)
		}
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
