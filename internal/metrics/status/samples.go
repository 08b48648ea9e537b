package status

import (
	"slices"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/metrics"
	"github.com/bobbin-yarn/bobbin/internal/metrics/hadoop"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// WorkerScope is the scope of a worker on a host.
func WorkerScope(host, worker string) metrics.Scope {
	return metrics.Scope{Level: metrics.TaskManager, Labels: []metrics.Label{{Name: metrics.LabelHost, Value: host}, {Name: metrics.LabelWorker, Value: worker}}}
}

// OfWorker are the samples of a worker and of its task hosts. nameOf gives the name of a job, if it is known. Otherwise the host
// counts for the container, and has no samples of its own: with another label job_name they would be another series.
func OfWorker(host, worker string, m msg.WorkerMetrics, nameOf func(ids.JobID) (name string, known bool)) []metrics.Sample {
	scope := WorkerScope(host, worker)
	samples := append(append(Samples(scope, m.Process), hadoop.Samples(scope, m.HDFS)...),
		metrics.Sample{Scope: scope, Name: "Status.Container.Memory.Resident", Kind: metrics.KindGauge, Value: float64(containerOf(m))})
	samples = append(samples, partitionSamples(scope, partitionsOf(m))...)
	for _, h := range m.Hosts {
		name, known := nameOf(h.Job)
		if !known {
			continue
		}
		scope := metrics.Scope{Level: metrics.TaskHost, Labels: append(slices.Clip(scope.Labels),
			metrics.Label{Name: metrics.LabelJobID, Value: string(h.Job)}, metrics.Label{Name: metrics.LabelJobName, Value: name})}
		samples = append(samples,
			metrics.Sample{Scope: scope, Name: "Status.Process.Memory.Resident", Kind: metrics.KindGauge, Value: float64(h.Resident)},
			metrics.Sample{Scope: scope, Name: "Status.Process.Memory.Budget", Kind: metrics.KindGauge, Value: float64(h.Share)})
		if h.Process != nil {
			samples = append(samples, runtimeSamples(scope, *h.Process)...)
		}
		if h.Pool != nil {
			samples = append(samples, poolSamples(scope, *h.Pool)...)
		}
		if h.Managed != nil {
			samples = append(samples,
				metrics.Sample{Scope: scope, Name: "Status.Flink.Memory.Managed.Used", Kind: metrics.KindGauge, Value: float64(h.Managed.Used)},
				metrics.Sample{Scope: scope, Name: "Status.Flink.Memory.Managed.Total", Kind: metrics.KindGauge, Value: float64(h.Managed.Total)})
		}
		samples = append(samples, hadoop.Samples(scope, h.HDFS)...)
	}
	return samples
}

// partitionsOf are the partitions that a worker serves.
func partitionsOf(m msg.WorkerMetrics) msg.ServedPartitions {
	if m.Partitions == nil {
		return msg.ServedPartitions{}
	}
	return *m.Partitions
}

// partitionSamples are the samples of the partitions of one worker, or of all.
func partitionSamples(scope metrics.Scope, p msg.ServedPartitions) []metrics.Sample {
	return []metrics.Sample{
		{Scope: scope, Name: "Status.Shuffle.Partitions.Count", Kind: metrics.KindGauge, Value: float64(p.Number)},
		{Scope: scope, Name: "Status.Shuffle.Partitions.Bytes", Kind: metrics.KindGauge, Value: float64(p.Bytes)},
	}
}

// poolSamples are the samples of the buffers of a task host.
func poolSamples(scope metrics.Scope, p msg.BufferPool) []metrics.Sample {
	samples := make([]metrics.Sample, 0, 6)
	for _, one := range [...]struct {
		name    string
		buffers int
	}{{"Total", p.Total}, {"Used", p.Used}, {"Available", p.Available()}} {
		samples = append(samples,
			metrics.Sample{Scope: scope, Name: "Status.Shuffle.Netty." + one.name + "MemorySegments", Kind: metrics.KindGauge, Value: float64(one.buffers)},
			metrics.Sample{Scope: scope, Name: "Status.Shuffle.Netty." + one.name + "Memory", Kind: metrics.KindGauge, Value: float64(one.buffers) * msg.BufferBytes})
	}
	return samples
}

// containerOf is the memory of all processes of a worker's container.
func containerOf(m msg.WorkerMetrics) config.Bytes {
	container := m.Process.Resident
	for _, h := range m.Hosts {
		container += h.Resident
	}
	return container
}

// Samples are the samples of a process, in its scope.
func Samples(scope metrics.Scope, m msg.ProcessMetrics) []metrics.Sample {
	return append([]metrics.Sample{
		{Scope: scope, Name: "Status.Process.Memory.Resident", Kind: metrics.KindGauge, Value: float64(m.Resident)},
		{Scope: scope, Name: "Status.Process.Memory.Budget", Kind: metrics.KindGauge, Value: float64(m.Budget)},
	}, runtimeSamples(scope, m)...)
}

// runtimeSamples are the samples of Go's runtime and of the processor time of a process.
func runtimeSamples(scope metrics.Scope, m msg.ProcessMetrics) []metrics.Sample {
	samples := make([]metrics.Sample, 0, 10)
	add := func(name string, kind metrics.Kind, value float64) {
		samples = append(samples, metrics.Sample{Scope: scope, Name: name, Kind: kind, Value: value})
	}
	add("Status.Go.Memory.Heap.Used", metrics.KindGauge, float64(m.HeapUsed))
	add("Status.Go.Memory.Heap.Committed", metrics.KindGauge, float64(m.HeapCommitted))
	add("Status.Go.Memory.Heap.Max", metrics.KindGauge, float64(m.HeapMax))
	add("Status.Go.Memory.Total", metrics.KindGauge, float64(m.Runtime))
	add("Status.Go.CPU.Load", metrics.KindGauge, m.CPULoad)
	add("Status.Go.CPU.Time", metrics.KindCounter, float64(m.CPUTime.Nanoseconds()))
	add("Status.Go.Goroutines.Count", metrics.KindGauge, float64(m.Goroutines))
	add("Status.Go.Threads.Count", metrics.KindGauge, float64(m.Threads))
	add("Status.Go.GarbageCollector.All.Count", metrics.KindCounter, float64(m.Collections))
	add("Status.Go.GarbageCollector.All.Time", metrics.KindCounter, float64(m.CollectionTime.Milliseconds()))
	return samples
}
