package rest

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/rest/diagnosis"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
)

// jobVertices answers GET /jobs/{job}/vertices.
func (s *Server) jobVertices(r *http.Request) (any, error) {
	d, err := s.details(r)
	if err != nil {
		return nil, err
	}
	return jobVerticesOf(d, s.subtasksOfJob(r, d.ID), time.Now())
}

// subtasksOf describes a vertex of one job. Errors as those of Gateway.
type subtasksOf func(vertex string) (msg.VertexSubtasks, error)

func (s *Server) subtasksOfJob(r *http.Request, job ids.JobID) subtasksOf {
	return func(vertex string) (msg.VertexSubtasks, error) {
		return s.gateway.VertexSubtasks(r.Context(), job, vertex)
	}
}

// eachVertex passes the vertices of a job to a function, those with the fewest attempts first, until its first error. It asks for one
// vertex after the other, so that only one's subtasks are in memory. The function gets the index of the vertex in the job. If the
// subtasks are not kept, it gets none, and the error that says so.
func eachVertex(d *msg.JobDetails, ask subtasksOf, visit func(i int, of *msg.VertexSubtasks, gone error) error) error {
	order := make([]int, len(d.Vertices))
	for i := range order {
		order[i] = i
	}
	attempts := func(i int) int { return d.Vertices[i].Parallelism + d.Vertices[i].Earlier }
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(attempts(a), attempts(b)) })
	for _, i := range order {
		told, err := ask(d.Vertices[i].ID)
		of := &told
		switch {
		case errors.Is(err, msg.ErrSubtasksGone):
			of = nil
		case err != nil:
			return err
		}
		if err := visit(i, of, err); err != nil {
			return err
		}
	}
	return nil
}

func jobVerticesOf(d msg.JobDetails, ask subtasksOf, now time.Time) (restapi.JobVertices, error) {
	all := make([]restapi.VertexSummary, len(d.Vertices))
	err := eachVertex(&d, ask, func(i int, of *msg.VertexSubtasks, _ error) error {
		all[i] = summaryOf(&d.Vertices[i], of)
		return nil
	})
	return verticesOf(&d, all, now), err
}

// verticesOf joins the summaries of all vertices of a job, and judges them.
func verticesOf(d *msg.JobDetails, all []restapi.VertexSummary, now time.Time) restapi.JobVertices {
	return restapi.JobVertices{
		Now: now.UnixMilli(), Restarts: d.Restarts, Troubled: diagnosis.Troubled(d), Vertices: all, Slow: diagnosis.Judge(d, all, now),
	}
}

// summaryOf tells of a vertex in some numbers; nil: its subtasks are not kept.
func summaryOf(v *msg.VertexDetails, of *msg.VertexSubtasks) restapi.VertexSummary {
	summary := restapi.VertexSummary{ID: v.ID}
	if v.Splits.All > 0 {
		summary.Splits = splitsOf(v)
	}
	if of != nil {
		summarize(&summary, of.Subtasks)
	}
	return summary
}

// splitsOf tells how far a source is. A task reads a little more than its splits: the rest of their last lines. And a vertex that
// an earlier master has seen finish has read all, although this one knows no bytes of it.
func splitsOf(v *msg.VertexDetails) *restapi.SplitProgress {
	read := min(v.Traffic.ReadBytes, v.Splits.Bytes)
	if v.Splits.Read == v.Splits.All {
		read = v.Splits.Bytes
	}
	return &restapi.SplitProgress{Read: v.Splits.Read, All: v.Splits.All, ReadBytes: read, AllBytes: v.Splits.Bytes}
}

// summarize adds what the subtasks of a vertex have done and do now.
func summarize(v *restapi.VertexSummary, all []msg.Subtask) {
	var activity restapi.VertexActivity
	var rates restapi.VertexRates
	for i := range all {
		task := &all[i]
		v.Earlier += len(task.Earlier)
		shares, is := task.Sample.Shares()
		if !is {
			continue
		}
		activity.Tasks++
		activity.Busy += shares.Busy
		activity.Idle += shares.Idle
		activity.BackPressured += shares.BackPressured
		larger(&activity.MostBusy, i, shares.Busy)
		larger(&activity.MostBackPressured, i, shares.BackPressured)
		rate := func(count func(msg.Traffic) int64) float64 {
			return task.Sample.Rate(func(m msg.TaskMetrics) int64 { return count(m.Traffic) })
		}
		rates.ReadRecords += rate(func(t msg.Traffic) int64 { return t.ReadRecords })
		rates.WriteRecords += rate(func(t msg.Traffic) int64 { return t.WriteRecords })
		rates.ReadBytes += rate(func(t msg.Traffic) int64 { return t.ReadBytes })
		rates.WriteBytes += rate(func(t msg.Traffic) int64 { return t.WriteBytes })
	}
	if n := float64(activity.Tasks); n > 0 {
		activity.Busy, activity.Idle, activity.BackPressured = activity.Busy/n, activity.Idle/n, activity.BackPressured/n
		v.Activity, v.Rates = &activity, &rates
	}
	if len(all) > 0 {
		v.Spread = &restapi.VertexSpread{
			ReadRecords:  spreadOf(all, func(a *msg.TaskAttempt) int64 { return a.Traffic.ReadRecords }),
			WriteRecords: spreadOf(all, func(a *msg.TaskAttempt) int64 { return a.Traffic.WriteRecords }),
			ReadBytes:    spreadOf(all, func(a *msg.TaskAttempt) int64 { return a.Traffic.ReadBytes }),
			BusyTime:     spreadOf(all, func(a *msg.TaskAttempt) int64 { return a.Times.Busy.Milliseconds() }),
		}
	}
}

// larger takes over the share of a subtask if it is larger.
func larger(most *restapi.SubtaskShare, subtask int, share float64) {
	if share > most.Share {
		*most = restapi.SubtaskShare{Subtask: subtask, Share: share}
	}
}

// spreadOf has the first subtask with the most of a number, and the median as in a vertex's statistics.
func spreadOf(all []msg.Subtask, number func(*msg.TaskAttempt) int64) restapi.SubtaskSpread {
	values := make([]int64, len(all))
	most := 0
	for i := range all {
		values[i] = number(&all[i].TaskAttempt)
		if values[i] > values[most] {
			most = i
		}
	}
	of := statistics(values)
	return restapi.SubtaskSpread{Subtask: most, Most: of.Max, Median: of.Median, Sum: of.Sum}
}
