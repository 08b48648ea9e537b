package appmaster

import (
	"context"
	"errors"
	"iter"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager"
	"github.com/bobbin-yarn/bobbin/appmaster/rest"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/metrics"
	"github.com/bobbin-yarn/bobbin/internal/metrics/status"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/sched"
)

// measured makes metrics of what the roles know.
type measured struct {
	jobs    func(context.Context) ([]msg.JobOverview, error) // that have not ended
	count   func(context.Context) (int, error)               // of these jobs
	workers func(context.Context) (resourcemanager.Status, error)
	worker  func(context.Context, ids.ResourceID) (msg.TaskExecutorDetails, error)
	details func(context.Context, ids.JobID) (msg.JobDetails, error)
	// subtasks describes a vertex.
	subtasks func(ctx context.Context, job ids.JobID, vertex string) (msg.VertexSubtasks, error)
	host     string // of this process
}

// masterScope is the scope of the ApplicationMaster on a host.
func masterScope(host string) metrics.Scope {
	return metrics.Scope{Level: metrics.JobManager, Labels: []metrics.Label{{Name: metrics.LabelHost, Value: host}}}
}

// scope is that of this process.
func (env environment) scope() metrics.Scope { return masterScope(env.host) }

// ofJobs is a metrics.Source of all jobs together.
func (m measured) ofJobs(ctx context.Context) ([]metrics.Sample, error) {
	n, err := m.count(ctx)
	if err != nil {
		return nil, err
	}
	return []metrics.Sample{{Scope: masterScope(m.host), Name: "numRunningJobs", Kind: metrics.KindGauge, Value: float64(n)}}, nil
}

// ofWorkers is a metrics.Source of all workers together.
func (m measured) ofWorkers(ctx context.Context) ([]metrics.Sample, error) {
	workers, err := m.workers(ctx)
	if err != nil {
		return nil, err
	}
	total, free := 0, 0
	for _, w := range workers.TaskExecutors {
		total += w.SlotsTotal
		free += w.SlotsFree
	}
	var waits time.Duration
	if since := workers.RequestedSince; !since.IsZero() {
		waits = sched.Now(ctx).Sub(since)
	}
	scope := masterScope(m.host)
	gauge := func(name string, value float64) metrics.Sample {
		return metrics.Sample{Scope: scope, Name: name, Kind: metrics.KindGauge, Value: value}
	}
	samples := []metrics.Sample{
		gauge("numRegisteredTaskManagers", float64(len(workers.TaskExecutors))),
		gauge("numPendingTaskManagers", float64(workers.Starting+workers.Requested)),
		gauge("numPreviousTaskManagers", float64(workers.Previous)),
		gauge("numBlockedNodes", float64(len(workers.Blocked))),
		gauge("taskSlotsTotal", float64(total)),
		gauge("taskSlotsAvailable", float64(free)),
		gauge("openAsks", float64(workers.Requested)),
		gauge("openAsksTime", milliseconds(waits)),
		{Scope: scope, Name: "startWorkFailurePerSecond", Kind: metrics.KindMeter, Value: workers.StartsFailedPerSecond},
	}
	for why, count := range workers.StartsFailed {
		samples = append(samples, metrics.Sample{
			Scope: scope, Name: "startWorkFailures", Kind: metrics.KindCounter, Value: float64(count),
			Group: metrics.Label{Name: "cause", Value: resourcemanager.StartFailure(why).String()},
		})
	}
	return samples, nil
}

// eachWorker is a rest.WorkerSource of the registered workers.
func (m measured) eachWorker(ctx context.Context) (iter.Seq[rest.MeasuredWorker], error) {
	workers, err := m.workers(ctx)
	if err != nil {
		return nil, err
	}
	jobs, err := m.jobs(ctx)
	names := make(map[ids.JobID]string, len(jobs))
	for _, j := range jobs {
		names[j.ID] = j.Name
	}
	nameOf := func(job ids.JobID) (name string, known bool) {
		name, known = names[job]
		return name, known
	}
	return func(yield func(rest.MeasuredWorker) bool) {
		for _, w := range workers.TaskExecutors {
			if w.Metrics != nil && !yield(rest.MeasuredWorker{ID: string(w.Resource), Samples: func() []metrics.Sample {
				return status.OfWorker(w.Host, string(w.Resource), *w.Metrics, nameOf)
			}}) {
				return
			}
		}
	}, err
}

// oneWorker is a rest.NamedWorker. It needs no names of jobs.
func (m measured) oneWorker(ctx context.Context, worker string) ([]metrics.Sample, error) {
	w, err := m.worker(ctx, ids.ResourceID(worker))
	if errors.Is(err, msg.ErrWorkerNotFound) || err == nil && w.Metrics == nil {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return status.OfWorker(w.Host, worker, *w.Metrics, func(ids.JobID) (name string, known bool) { return "", false }), nil
}

// together is a metrics.Source of the sums of all workers, and of the task hosts of each job that has not ended.
func (m measured) together(ctx context.Context) ([]metrics.Sample, error) {
	workers, err := m.workers(ctx)
	if err != nil {
		return nil, err
	}
	var sums status.Together
	for _, w := range workers.TaskExecutors {
		if w.Metrics != nil {
			sums.Add(*w.Metrics)
		}
	}
	samples := sums.OfWorkers(workers.Used)
	jobs, err := m.jobs(ctx)
	for _, j := range jobs {
		if used, known := workers.UsedBy[j.ID]; known {
			samples = append(samples, sums.OfJob(j.ID, j.Name, used)...)
		}
	}
	return samples, err
}

// eachJob is a metrics.Source of the jobs that have not ended.
func (m measured) eachJob(ctx context.Context) ([]metrics.Sample, error) {
	jobs, err := m.jobs(ctx)
	if err != nil {
		return nil, err
	}
	now := sched.Now(ctx)
	var samples []metrics.Sample
	for _, job := range jobs {
		samples = append(samples, jobSamples(m.host, job, now)...)
	}
	return samples, nil
}

// measuredStates are the states whose times are metrics; those of Flink's JobStatusMetrics.
var measuredStates = [...]msg.JobStatus{
	msg.JobInitializing, msg.JobCreated, msg.JobRunning, msg.JobRestarting, msg.JobCancelling, msg.JobFailing,
}

func jobSamples(host string, job msg.JobOverview, now time.Time) []metrics.Sample {
	scope := metrics.Scope{Level: metrics.JobManagerJob, Labels: []metrics.Label{
		{Name: metrics.LabelHost, Value: host}, {Name: metrics.LabelJobID, Value: string(job.ID)}, {Name: metrics.LabelJobName, Value: job.Name},
	}}
	samples := []metrics.Sample{
		{Scope: scope, Name: "numRestarts", Kind: metrics.KindGauge, Value: float64(job.Restarts)},
		{Scope: scope, Name: "heldPartitions", Kind: metrics.KindGauge, Value: float64(job.Partitions.Number)},
		{Scope: scope, Name: "heldPartitionBytes", Kind: metrics.KindGauge, Value: float64(job.Partitions.Bytes)},
	}
	for _, state := range measuredStates {
		var since time.Time
		if job.Status == state {
			since = job.Entered
		}
		samples = append(samples, stateSamples(scope, strings.ToLower(string(state)), job.Status == state, since, job.Spent[state], now)...)
	}
	return append(samples, stateSamples(scope, "deploying", !job.Deploying.IsZero(), job.Deploying, job.Deployed, now)...)
}

// stateSamples are the samples of a state; those of Flink's StateTimeMetric. since is when the job entered it; zero: it is in
// another one, or it is not known.
func stateSamples(scope metrics.Scope, state string, in bool, since time.Time, spent time.Duration, now time.Time) []metrics.Sample {
	is, present := 0., time.Duration(0)
	if in {
		is = 1
	}
	if !since.IsZero() {
		present = max(now.Sub(since), 0)
	}
	return []metrics.Sample{
		{Scope: scope, Name: state + "State", Kind: metrics.KindGauge, Value: is},
		{Scope: scope, Name: state + "Time", Kind: metrics.KindGauge, Value: milliseconds(present)},
		{Scope: scope, Name: state + "TimeTotal", Kind: metrics.KindGauge, Value: milliseconds(spent + present)},
	}
}

func milliseconds(d time.Duration) float64 { return float64(d.Milliseconds()) }
