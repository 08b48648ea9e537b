package appmaster

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strconv"

	"github.com/bobbin-yarn/bobbin/appmaster/rest"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/metrics"
	"github.com/bobbin-yarn/bobbin/internal/metrics/tasks"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// maxShownTasks bounds the subtasks, and the sums of vertices, in an answer for all jobs. Each makes some twenty series, and the
// answer is held in memory.
const maxShownTasks = 1000

// maxShownUser bounds the series of the metrics of users' code in such an answer. A job with few tasks may have hundreds of metrics
// for each, and a session has many jobs.
const maxShownUser = 10_000

// ofVertex is a rest.SubtaskSource. A job that has ended has none, as in Flink, and neither has one that is not known.
func (m measured) ofVertex(ctx context.Context, job ids.JobID, vertex string) (iter.Seq[rest.MeasuredSubtask], error) {
	details, err := m.details(ctx, job)
	if err != nil || details.Status.GloballyTerminal() {
		return nil, unlessGone(err)
	}
	v, err := m.subtasks(ctx, job, vertex)
	if err != nil {
		return nil, unlessGone(err)
	}
	labels := vertexLabels(jobLabels(job, details.Name), v.VertexDetails)
	return func(yield func(rest.MeasuredSubtask) bool) {
		for i := range v.Subtasks {
			if v.Subtasks[i].Resource != "" && !yield(rest.MeasuredSubtask{Index: i, Append: func(samples []metrics.Sample) []metrics.Sample {
				return appendSubtask(samples, labels, v, i)
			}}) {
				return
			}
		}
	}, nil
}

// ofCoordinator gives the samples of a vertex that the ApplicationMaster itself knows. As with ofVertex, a vertex that is not known
// has none.
func (m measured) ofCoordinator(ctx context.Context, job ids.JobID, vertex string) ([]metrics.Sample, error) {
	details, err := m.details(ctx, job)
	if err != nil || details.Status.GloballyTerminal() {
		return nil, unlessGone(err)
	}
	details.Vertices = slices.DeleteFunc(details.Vertices, func(v msg.VertexDetails) bool { return v.ID != vertex })
	return m.splitSamples(jobLabels(job, details.Name), details), nil
}

// splitSamples are the samples of the vertices of a job that read splits.
func (m measured) splitSamples(job []metrics.Label, details msg.JobDetails) (samples []metrics.Sample) {
	for _, v := range details.Vertices {
		if v.Splits.All == 0 {
			continue
		}
		labels := append([]metrics.Label{{Name: metrics.LabelHost, Value: m.host}}, vertexLabels(job, v)...)
		scope := metrics.Scope{Level: metrics.Vertex, Labels: labels}
		samples = append(samples,
			metrics.Sample{Scope: scope, Name: "numSplits", Kind: metrics.KindGauge, Value: float64(v.Splits.All)},
			metrics.Sample{Scope: scope, Name: "numSplitsRead", Kind: metrics.KindGauge, Value: float64(v.Splits.Read)})
	}
	return samples
}

// unlessGone hides that a job has ended meanwhile.
func unlessGone(err error) error {
	if errors.Is(err, msg.ErrJobNotFound) || errors.Is(err, msg.ErrVertexNotFound) || errors.Is(err, msg.ErrSubtasksGone) {
		return nil
	}
	return err
}

// eachTask is a metrics.Source of the subtasks of the jobs that have not ended, the oldest first. Once there are more than
// maxShownTasks, it has tasks.OfVertex for each vertex of the others, and then none. Metrics of users' code beyond maxShownUser count
// as dropped.
func (m measured) eachTask(ctx context.Context) ([]metrics.Sample, error) {
	jobs, err := m.jobs(ctx)
	if err != nil {
		return nil, err
	}
	var samples []metrics.Sample
	room, user, summed, omitted := maxShownTasks, maxShownUser, 0, 0
	for _, job := range jobs {
		if room == 0 {
			omitted++
			continue
		}
		details, err := m.details(ctx, job.ID)
		if err != nil {
			if err = unlessGone(err); err != nil {
				return samples, err
			}
			continue
		}
		whole := job.TotalTasks <= room
		switch {
		case whole:
			room -= job.TotalTasks
		case len(details.Vertices) <= room:
			room -= len(details.Vertices)
			summed++
		default:
			omitted++
			continue
		}
		labels := jobLabels(job.ID, job.Name)
		samples = append(samples, m.splitSamples(labels, details)...)
		for _, vertex := range details.Vertices {
			v, err := m.subtasks(ctx, job.ID, vertex.ID)
			if err != nil {
				if err = unlessGone(err); err != nil {
					return samples, err
				}
				continue
			}
			if whole {
				user -= leaveOut(&v, user)
				of := vertexLabels(labels, v.VertexDetails)
				for i := range v.Subtasks {
					samples = appendSubtask(samples, of, v, i)
				}
			} else {
				sums, made := tasks.OfVertex(metrics.Scope{Level: metrics.Task, Labels: vertexLabels(labels, v.VertexDetails)}, v, user)
				user -= made
				samples = append(samples, sums...)
			}
		}
	}
	scope := masterScope(m.host)
	return append(samples,
		metrics.Sample{Scope: scope, Name: "Metrics.jobsSummed", Kind: metrics.KindGauge, Value: float64(summed)},
		metrics.Sample{Scope: scope, Name: "Metrics.jobsOmitted", Kind: metrics.KindGauge, Value: float64(omitted)},
	), nil
}

// leaveOut leaves out the metrics of users' code of those subtasks whose series exceed the room, and returns how many series it has
// left in.
func leaveOut(v *msg.VertexSubtasks, room int) (left int) {
	v.Subtasks = slices.Clone(v.Subtasks)
	for i := range v.Subtasks {
		all := v.Subtasks[i].User
		if all == nil {
			continue
		}
		series := 0
		for m := range all.Metrics {
			series += all.Metrics[m].Series()
		}
		if left+series > room {
			v.Subtasks[i].User = &msg.UserMetrics{Dropped: all.Dropped + len(all.Metrics)}
			continue
		}
		left += series
	}
	return left
}

// appendSubtask appends the samples of a subtask of a vertex with these labels. A subtask that was not deployed has none.
func appendSubtask(samples []metrics.Sample, vertex []metrics.Label, v msg.VertexSubtasks, index int) []metrics.Sample {
	s := &v.Subtasks[index]
	if s.Resource == "" {
		return samples
	}
	labels := slices.Concat(
		[]metrics.Label{{Name: metrics.LabelHost, Value: s.Node}, {Name: metrics.LabelWorker, Value: string(s.Resource)}},
		vertex,
		[]metrics.Label{{Name: metrics.LabelSubtaskIndex, Value: strconv.Itoa(index)}},
	)
	scope := metrics.Scope{Level: metrics.Task, Labels: labels}
	samples = tasks.Append(samples, scope, s.Sample, s.Times)
	return tasks.AppendUser(samples, scope, v.Operators, s.User)
}

func jobLabels(job ids.JobID, name string) []metrics.Label {
	return []metrics.Label{{Name: metrics.LabelJobID, Value: string(job)}, {Name: metrics.LabelJobName, Value: name}}
}

func vertexLabels(job []metrics.Label, v msg.VertexDetails) []metrics.Label {
	return append(slices.Clone(job),
		metrics.Label{Name: metrics.LabelTaskID, Value: v.ID},
		metrics.Label{Name: metrics.LabelTaskName, Value: v.Name},
	)
}
