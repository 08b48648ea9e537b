package metrics

import (
	"context"
	"errors"
	"strings"
)

// Kind is the kind of a metric; Flink's MetricType.
type Kind int

// The kinds of metrics.
const (
	KindCounter   Kind = iota + 1 // a sum that only grows while its process lives
	KindGauge                     // a value that may rise and fall
	KindMeter                     // events per second, over the last minute
	KindHistogram                 // the distribution of values
)

func (k Kind) String() string {
	switch k {
	case KindCounter:
		return "counter"
	case KindGauge:
		return "gauge"
	case KindMeter:
		return "meter"
	case KindHistogram:
		return "histogram"
	}
	return "unknown"
}

// Level is the thing that a metric describes; the names of Flink's scopes in its Prometheus
// reporter.
type Level string

// The levels, each with the labels of its scope.
const (
	JobManager    Level = "jobmanager"           // host: the ApplicationMaster
	JobManagerJob Level = "jobmanager_job"       // host, job_id, job_name: a job, as the ApplicationMaster sees it
	Vertex        Level = "jobmanager_job_task"  // host, job_id, job_name, task_id, task_name: a vertex, as the ApplicationMaster sees it
	TaskManager   Level = "taskmanager"          // host, tm_id: a worker
	TaskHost      Level = "taskmanager_job"      // host, tm_id, job_id, job_name: the task host of a job on a worker
	Task          Level = "taskmanager_job_task" // the same, and task_id, task_name, subtask_index: a subtask

	// TaskManagers are all workers together, and TaskHosts all task hosts of a job together. They have no labels of a worker, and none
	// of the ApplicationMaster: its successor continues the series.
	TaskManagers Level = "taskmanagers"     // no labels
	TaskHosts    Level = "taskmanagers_job" // job_id, job_name

	// Operator has the labels of Task, and operator_id and operator_name.
	Operator Level = "taskmanager_job_task_operator"
)

// The names of labels; Flink's.
const (
	LabelHost         = "host"
	LabelWorker       = "tm_id"
	LabelJobID        = "job_id"
	LabelJobName      = "job_name"
	LabelTaskID       = "task_id"
	LabelTaskName     = "task_name"
	LabelSubtaskIndex = "subtask_index"
	LabelOperatorID   = "operator_id"
	LabelOperatorName = "operator_name"
)

// Label is a variable of a scope, such as host. Its value never holds a record's key or the id of
// an attempt, because each value makes a series in Prometheus.
type Label struct{ Name, Value string }

// Scope is one thing that metrics describe. Samples of a scope share its Labels: nobody changes
// them.
type Scope struct {
	Level  Level
	Labels []Label
}

// Label returns the value of a label; "": the scope has none of that name.
func (s Scope) Label(name string) string {
	for _, l := range s.Labels {
		if l.Name == name {
			return l.Value
		}
	}
	return ""
}

// Sample is one metric at one time.
type Sample struct {
	Scope Scope
	Name  string // within its scope, with dots between groups: "Status.Go.Memory.Heap.Used"
	Kind  Kind

	// Group tells apart metrics of one name in one scope, such as the RPCs of several protocols;
	// Flink's group of key and value. No name: the metric is alone.
	Group Label

	Value   float64  // of a counter, gauge or meter
	Summary *Summary // of a histogram; nobody changes it
}

// ID is the name of the metric in REST, within its scope. The group comes before the last part of
// the name, as Flink has it: "Rpc.protocol.ContainerManagementProtocol.latency".
func (s Sample) ID() string {
	if s.Group.Name == "" {
		return s.Name
	}
	dot := strings.LastIndexByte(s.Name, '.') + 1
	return s.Name[:dot] + s.Group.Name + "." + s.Group.Value + "." + s.Name[dot:]
}

// summarySeries is how many series a distribution has in the text for Prometheus: its quantiles, sum and count.
const summarySeries = 8

// SeriesOf is how many series a sample with this distribution has in the text for Prometheus. nil: the sample is one number.
func SeriesOf(distribution *Summary) int {
	if distribution != nil {
		return summarySeries
	}
	return 1
}

// Source gives the samples of a part of Bobbin. It may be called from any goroutine. Its samples
// belong to the caller.
type Source func(context.Context) ([]Sample, error)

// Join gives the samples of several sources, in their order. A source may be nil. If some fail, it
// gives the samples of the others, and the errors.
func Join(sources ...Source) Source {
	return func(ctx context.Context) ([]Sample, error) {
		var all []Sample
		var errs []error
		for _, source := range sources {
			if source == nil {
				continue
			}
			samples, err := source(ctx)
			all = append(all, samples...)
			errs = append(errs, err)
		}
		return all, errors.Join(errs...)
	}
}
