package appmaster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/metrics"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// values checks that each sample is in the table of metrics, and returns those that are not 0.
func values(t *testing.T, samples []metrics.Sample) []string {
	t.Helper()
	var all []string
	for _, s := range samples {
		d, known := metrics.Lookup(s.Scope.Level, s.Name)
		ours := s.Scope.Level != metrics.Operator // users' metrics are not in the table
		if ours && (!known || d.Kind != s.Kind || d.Group != s.Group.Name) {
			t.Errorf("%s, a %s with group %q, is in the table as %+v", s.Name, s.Kind, s.Group.Name, d)
		}
		for n := range s.Numbers() {
			if n.Value != 0 {
				all = append(all, n.ID+"="+n.String())
			}
		}
	}
	return all
}

// It would catch a metric that the table does not have, a slot that is counted twice, and an outage of one role that
// hides the metrics of the other.
func TestMetricsOfTheCluster(t *testing.T) {
	t.Parallel()
	away := errors.New("away")
	m := measured{
		host:  "node1",
		jobs:  func(context.Context) ([]msg.JobOverview, error) { return nil, away },
		count: func(context.Context) (int, error) { return 3, nil },
		workers: func(context.Context) (resourcemanager.Status, error) {
			return resourcemanager.Status{
				TaskExecutors: []msg.TaskExecutorDetails{{SlotsTotal: 4, SlotsFree: 1}, {SlotsTotal: 4, SlotsFree: 2}},
				Blocked:       []msg.BlockedNode{{}}, Starting: 1, Requested: 2, Previous: 5, RequestedSince: time.Now().Add(-time.Hour),
				StartsFailed: resourcemanager.StartFailures{resourcemanager.NotStarted: 4, resourcemanager.RejectedWork: 3}, StartsFailedPerSecond: 0.5,
			}, nil
		},
	}
	samples, err := metrics.Join(m.ofWorkers, m.ofJobs, m.eachJob)(t.Context())
	if !errors.Is(err, away) {
		t.Errorf("error %v, want that of the jobs", err)
	}
	var asks float64
	samples = slices.DeleteFunc(samples, func(s metrics.Sample) bool {
		if s.Name == "openAsksTime" {
			asks = s.Value
		}
		return s.Name == "openAsksTime"
	})
	want := []string{
		"numRegisteredTaskManagers=2", "numPendingTaskManagers=3", "numPreviousTaskManagers=5", "numBlockedNodes=1", "taskSlotsTotal=8",
		"taskSlotsAvailable=3", "openAsks=2", "startWorkFailurePerSecond=0.5", "cause.not_started.startWorkFailures=4", "cause.rejected.startWorkFailures=3", "numRunningJobs=3",
	}
	if diff := cmp.Diff(want, values(t, samples)); diff != "" {
		t.Error(diff)
	}
	if asks < 3.6e6 || asks > 7.2e6 {
		t.Errorf("there are open asks for %v ms, want an hour", asks)
	}
}

// It would catch a worker's host that is shown as a worker, a worker without metrics that is shown as one of 0 bytes, a host that is
// another series after the end of its job, and the memory of such a host that is missing in the container, and
// a host whose own view of its memory takes the place of that of its worker, which counts its children too.
func TestMetricsOfWorkers(t *testing.T) {
	t.Parallel()
	m := measured{jobs: func(context.Context) ([]msg.JobOverview, error) {
		return []msg.JobOverview{{ID: "j1", Name: "count"}}, nil
	}, workers: func(context.Context) (resourcemanager.Status, error) {
		return resourcemanager.Status{TaskExecutors: []msg.TaskExecutorDetails{{Resource: "w1", Host: "node1"}, {
			Resource: "w2", Host: "node2", Metrics: &msg.WorkerMetrics{
				Process: msg.ProcessMetrics{Resident: 5, CPUTime: time.Second}, Hosts: []msg.HostMetrics{{Job: "j1", Resident: 7, Share: 9, Process: &msg.ProcessMetrics{Goroutines: 3, Resident: 6}}, {Resident: 100}},
			},
		}}}, nil
	}}
	workers, err := m.eachWorker(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var samples []metrics.Sample
	for w := range workers {
		if w.ID != "w2" {
			t.Errorf("worker %s has sent no metrics", w.ID)
		}
		samples = append(samples, w.Samples()...)
	}
	want := []string{
		"Status.Process.Memory.Resident=5", "Status.Go.CPU.Time=1000000000", "Status.Container.Memory.Resident=112", "Status.Process.Memory.Resident=7", "Status.Process.Memory.Budget=9", "Status.Go.Goroutines.Count=3",
	}
	if diff := cmp.Diff(want, values(t, samples)); diff != "" {
		t.Error(diff)
	}
	last := samples[len(samples)-1].Scope
	if got, want := fmt.Sprint(samples[0].Scope, last), "{taskmanager [{host node2} {tm_id w2}]} {taskmanager_job [{host node2} {tm_id w2} {job_id j1} {job_name count}]}"; got != want {
		t.Errorf("scopes %s, want %s", got, want)
	}
}

// TestMetricsOfOneWorker would catch a worker that has other numbers alone than among all, that asks for the jobs, or that is an error
// when it is not known.
func TestMetricsOfOneWorker(t *testing.T) {
	t.Parallel()
	failure := errors.New("busy")
	m := measured{worker: func(_ context.Context, worker ids.ResourceID) (msg.TaskExecutorDetails, error) {
		switch worker {
		case "w1":
			return msg.TaskExecutorDetails{Resource: "w1"}, nil
		case "w2":
			return msg.TaskExecutorDetails{Resource: "w2", Host: "node2", Metrics: &msg.WorkerMetrics{
				Process: msg.ProcessMetrics{Resident: 5}, Hosts: []msg.HostMetrics{{Job: "j1", Resident: 7}},
			}}, nil
		case "w3":
			return msg.TaskExecutorDetails{}, failure
		}
		return msg.TaskExecutorDetails{}, msg.ErrWorkerNotFound
	}}
	for worker, want := range map[string][]string{
		"w1": nil, "w2": {"Status.Process.Memory.Resident=5", "Status.Container.Memory.Resident=12"}, "w3": nil, "nobody": nil,
	} {
		samples, err := m.oneWorker(t.Context(), worker)
		if diff := cmp.Diff(want, values(t, samples)); diff != "" || errors.Is(err, failure) != (worker == "w3") {
			t.Errorf("%s: %v, %s", worker, err, diff)
		}
		for _, s := range samples {
			if got, want := fmt.Sprint(s.Scope), "{taskmanager [{host node2} {tm_id w2}]}"; got != want {
				t.Errorf("scope %s, want %s", got, want)
			}
		}
	}
}

// TestMetricsOfWorkersTogether would catch a counter that loses what ended workers have used, and a sum with the hosts of another
// job.
func TestMetricsOfWorkersTogether(t *testing.T) {
	t.Parallel()
	host := msg.HostMetrics{Job: "j1", Resident: 7, Share: 9, Process: &msg.ProcessMetrics{Goroutines: 3, Resident: 6, CPUTime: 1}}
	worker := &msg.WorkerMetrics{Process: msg.ProcessMetrics{Resident: 5, CPUTime: 1, CPULoad: 0.5}, Hosts: []msg.HostMetrics{host, {Job: "j2", Resident: 100}}, Partitions: &msg.ServedPartitions{Number: 4, Bytes: 5}}
	m := measured{jobs: func(context.Context) ([]msg.JobOverview, error) {
		return []msg.JobOverview{{ID: "j1", Name: "count"}, {ID: "j3"}}, nil
	}, workers: func(context.Context) (resourcemanager.Status, error) {
		return resourcemanager.Status{
			TaskExecutors: []msg.TaskExecutorDetails{{Resource: "w1"}, {Resource: "w2", Metrics: worker}, {Resource: "w3", Metrics: worker}},
			Used:          msg.Usage{CPUTime: 20, Read: msg.CallCounts{Calls: 30}},
			UsedBy:        map[ids.JobID]msg.Usage{"j1": {CPUTime: 40, Write: msg.CallCounts{Failures: 50}}, "j2": {CPUTime: 60}},
		}, nil
	}}
	samples, err := m.together(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"Status.Process.Memory.Resident=10", "Status.Go.CPU.Time=20", "operation.read.calls=30", "Status.Container.Memory.Resident=224", "Status.Shuffle.Partitions.Count=8", "Status.Shuffle.Partitions.Bytes=10",
		"Status.Process.Memory.Resident=14", "Status.Process.Memory.Budget=18", "Status.Go.CPU.Time=40", "Status.Go.Goroutines.Count=6", "operation.write.failures=50",
	}
	got := values(t, samples)
	for i, one := range got {
		got[i] = strings.TrimPrefix(one, "Hdfs.")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := fmt.Sprint(samples[0].Scope, samples[len(samples)-1].Scope); got != "{taskmanagers []} {taskmanagers_job [{job_id j1} {job_name count}]}" {
		t.Errorf("scopes %s", got)
	}
}

// It would catch the time in a state that does not grow while the job is in it, or that is counted twice.
func TestMetricsOfAJob(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	job := msg.JobOverview{
		ID: "j1", Name: "count", Status: msg.JobRunning, Entered: now.Add(-2 * time.Second), Restarts: 2,
		Deploying: now.Add(-time.Second), Deployed: 4 * time.Second, Partitions: msg.ServedPartitions{Number: 6, Bytes: 7},
		Spent: map[msg.JobStatus]time.Duration{msg.JobRunning: 3 * time.Second, msg.JobRestarting: time.Second},
	}
	samples := jobSamples("node1", job, now)
	want := []string{"numRestarts=2", "heldPartitions=6", "heldPartitionBytes=7", "runningState=1", "runningTime=2000", "runningTimeTotal=5000", "restartingTimeTotal=1000", "deployingState=1", "deployingTime=1000", "deployingTimeTotal=5000"}
	if diff := cmp.Diff(want, values(t, samples)); diff != "" {
		t.Error(diff)
	}
	if got, want := fmt.Sprint(samples[0].Scope.Labels), "[{host node1} {job_id j1} {job_name count}]"; got != want {
		t.Errorf("labels %s, want %s", got, want)
	}
}
