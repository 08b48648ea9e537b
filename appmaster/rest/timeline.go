package rest

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
)

// maxTimeline bounds the attempts in the time line of a job: an attempt takes some 150 bytes.
const maxTimeline = 5000

// jobTimeline answers GET /jobs/{job}/timeline. With vertex, all room is for the attempts of that vertex.
func (s *Server) jobTimeline(r *http.Request) (any, error) {
	d, err := s.details(r)
	if err != nil {
		return nil, err
	}
	if only := r.URL.Query().Get("vertex"); only != "" {
		i := slices.IndexFunc(d.Vertices, func(v msg.VertexDetails) bool { return v.ID == only })
		if i < 0 {
			return nil, &refusal{http.StatusNotFound, fmt.Sprintf("job %s has no vertex %q", d.ID, only)}
		}
		d.Vertices = d.Vertices[i : i+1]
	}
	return jobTimelineOf(d, s.subtasksOfJob(r, d.ID), time.Now())
}

// jobTimelineOf has at most maxTimeline attempts, and an equal share of them for each vertex that has more.
func jobTimelineOf(d msg.JobDetails, ask subtasksOf, now time.Time) (restapi.JobTimeline, error) {
	t := newTimeline(&d, now)
	err := eachVertex(&d, ask, func(i int, of *msg.VertexSubtasks, _ error) error {
		t.add(i, of)
		return nil
	})
	return t.answer, err
}

// timeline makes the answer about the attempts of a job. It gets the vertices in the order of eachVertex: small ones leave more room
// to the others.
type timeline struct {
	job     *msg.JobDetails
	now     time.Time
	answer  restapi.JobTimeline
	workers timelineWorkers
	room    int // attempts
	left    int // vertices that have not come
}

func newTimeline(d *msg.JobDetails, now time.Time) *timeline {
	return &timeline{
		job: d, now: now, workers: make(timelineWorkers), room: maxTimeline, left: len(d.Vertices),
		answer: restapi.JobTimeline{
			Now: now.UnixMilli(), States: msg.ExecutionStates(),
			Workers: []restapi.TimelineWorker{}, Vertices: make([]restapi.TimelineVertex, len(d.Vertices)),
		},
	}
}

// add adds a vertex; nil: its subtasks are not kept.
func (t *timeline) add(i int, of *msg.VertexSubtasks) {
	v := restapi.TimelineVertex{ID: t.job.Vertices[i].ID, Name: t.job.Vertices[i].Name, Attempts: []restapi.TimelineAttempt{}}
	if of != nil {
		all := timelineAttemptsOf(of.Subtasks)
		kept := longest(all, t.room/t.left, t.now)
		for _, a := range kept {
			v.Attempts = append(v.Attempts, restapi.TimelineAttempt{
				Subtask: a.subtask, Attempt: a.Number, Status: a.State, Worker: t.workers.index(&t.answer, a.TaskAttempt), Entered: slices.Clone(a.Entered[:]),
			})
		}
		t.room -= len(kept)
		v.Omitted = len(all) - len(kept)
		t.answer.Omitted += v.Omitted
	}
	t.left--
	t.answer.Vertices[i] = v
}

// timelineWorkers are the indexes of the workers in a time line.
type timelineWorkers map[ids.ResourceID]int

// index returns the index of the worker of an attempt, which the answer gets if it is new; -1: the attempt has none.
func (w timelineWorkers) index(answer *restapi.JobTimeline, a *msg.TaskAttempt) int {
	if a.Resource == "" {
		return -1
	}
	at, known := w[a.Resource]
	if !known {
		at = len(answer.Workers)
		w[a.Resource] = at
		answer.Workers = append(answer.Workers, restapi.TimelineWorker{ID: string(a.Resource), Host: a.Node})
	}
	return at
}

// timelineAttempt is an attempt of a subtask.
type timelineAttempt struct {
	*msg.TaskAttempt
	subtask int
}

// timelineAttemptsOf lists the attempts of a vertex: by subtask, the oldest first.
func timelineAttemptsOf(subtasks []msg.Subtask) (all []timelineAttempt) {
	for i := range subtasks {
		task := &subtasks[i]
		for e := range task.Earlier {
			all = append(all, timelineAttempt{&task.Earlier[e], i})
		}
		all = append(all, timelineAttempt{&task.TaskAttempt, i})
	}
	return all
}

// longest keeps so many attempts, in their order: those that have lasted longest, because they are what one looks for. Attempts that
// wait, that run and that have ended each have an equal share: all that wait have often waited as long, and none of them has run.
func longest(all []timelineAttempt, most int, now time.Time) []timelineAttempt {
	if len(all) <= most {
		return all
	}
	lasted := make([]int64, len(all))
	var waiting, running, ended []int // indexes
	for i, a := range all {
		since := a.Entered[msg.ExecutionDeploying.Index()]
		switch {
		case a.State.Final():
			ended = append(ended, i)
			if since != 0 {
				lasted[i] = a.Entered[a.State.Index()] - since
			}
			continue
		case since != 0:
			running = append(running, i)
		default:
			waiting = append(waiting, i)
			since = cmp.Or(a.Entered[msg.ExecutionScheduled.Index()], a.Entered[msg.ExecutionCreated.Index()], now.UnixMilli())
		}
		lasted[i] = now.UnixMilli() - since
	}
	kinds := [][]int{waiting, running, ended}
	slices.SortStableFunc(kinds, func(a, b []int) int { return cmp.Compare(len(a), len(b)) }) // the small ones leave more to the others
	var chosen []int
	for i, kind := range kinds {
		slices.SortStableFunc(kind, func(a, b int) int { return cmp.Compare(lasted[b], lasted[a]) })
		chosen = append(chosen, kind[:min(len(kind), (most-len(chosen))/(len(kinds)-i))]...)
	}
	slices.Sort(chosen)
	kept := make([]timelineAttempt, len(chosen))
	for i, at := range chosen {
		kept[i] = all[at]
	}
	return kept
}
