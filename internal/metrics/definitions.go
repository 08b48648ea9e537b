package metrics

import "slices"

// Unit is what a metric is measured in.
type Unit string

// The units of metrics.
const (
	Things       Unit = "" // a number of things
	Bytes        Unit = "bytes"
	Milliseconds Unit = "ms"
	Nanoseconds  Unit = "ns"
	PerSecond    Unit = "1/s"
	Fraction     Unit = "0 to 1"
	MsPerSecond  Unit = "ms/s" // of each second: 0 to 1,000
)

// Definition is the row of a metric in the table of all metrics.
type Definition struct {
	Level   Level
	Name    string
	Kind    Kind
	Unit    Unit
	Group   string // the name of the Sample's Group; "": it has none
	Flink   bool   // Flink has a metric of this name and meaning
	Meaning string // for people, without a full stop
}

// Definitions returns the table of the metrics of Bobbin itself. Users' metrics are not in it.
func Definitions() []Definition {
	return slices.Concat(
		masterDefinitions(), hadoopDefinitions(JobManager),
		processDefinitions(JobManager, "the ApplicationMaster"),
		jobDefinitions(),
		vertexDefinitions(),
		processDefinitions(TaskManager, "the worker itself"),
		hadoopDefinitions(TaskManager), workerDefinitions(),
		taskDefinitions(),
		togetherDefinitions(),
	)
}

// hadoopDefinitions are the metrics of the calls of a process; see package hadoop.
func hadoopDefinitions(level Level) []Definition {
	row := func(group, name string, kind Kind, unit Unit, meaning string) Definition {
		return Definition{Level: level, Name: name, Kind: kind, Unit: unit, Group: group, Meaning: meaning}
	}
	return []Definition{
		row("protocol", "Rpc.latency", KindHistogram, Milliseconds, "Time until a Hadoop server answers a call; ClientProtocol is HDFS's NameNode"),
		row("protocol", "Rpc.calls", KindCounter, Things, "Calls to Hadoop's servers, with each repetition"),
		row("protocol", "Rpc.failures", KindCounter, Things, "Calls that were refused or not answered, with each repetition"),
		row("operation", "Hdfs.latency", KindHistogram, Milliseconds, "read: time until a DataNode has sent the first data of a block. write: time until all DataNodes of a new block are ready for its data"),
		row("operation", "Hdfs.calls", KindCounter, Things, "Requests for a block: read, with each repetition at another DataNode, or write"),
		row("operation", "Hdfs.failures", KindCounter, Things, "read: DataNodes that have not sent a block, or not all of it. write: files that could not be written"),
	}
}

// processDefinitions are the metrics of a process; see package status.
func processDefinitions(level Level, process string) []Definition {
	row := func(name string, kind Kind, unit Unit, meaning string) Definition {
		return Definition{Level: level, Name: name, Kind: kind, Unit: unit, Meaning: meaning}
	}
	return append([]Definition{
		row("Status.Process.Memory.Resident", KindGauge, Bytes, "Memory of "+process+" in RAM, as the NodeManager counts it"),
		row("Status.Process.Memory.Budget", KindGauge, Bytes, "Memory of the container of "+process+": at more, YARN ends it; 0: not known"),
	}, runtimeDefinitions(level, process)...)
}

// runtimeDefinitions are the metrics of Go's runtime in a process.
func runtimeDefinitions(level Level, process string) []Definition {
	row := func(name string, kind Kind, unit Unit, meaning string) Definition {
		return Definition{Level: level, Name: name, Kind: kind, Unit: unit, Meaning: meaning}
	}
	return []Definition{
		row("Status.Go.Memory.Heap.Used", KindGauge, Bytes, "Objects in the heap, also those that are not collected yet"),
		row("Status.Go.Memory.Heap.Committed", KindGauge, Bytes, "Memory that the heap has of the system"),
		row("Status.Go.Memory.Heap.Max", KindGauge, Bytes, "Memory at which Go collects garbage more often (GOMEMLIMIT); 0: no limit"),
		row("Status.Go.Memory.Total", KindGauge, Bytes, "All memory that Go has of the system"),
		row("Status.Go.CPU.Load", KindGauge, Fraction, "Share of the machine's cores that "+process+" has used in the last seconds"),
		row("Status.Go.CPU.Time", KindCounter, Nanoseconds, "Processor time of "+process),
		row("Status.Go.Goroutines.Count", KindGauge, Things, "Goroutines"),
		row("Status.Go.Threads.Count", KindGauge, Things, "Threads of the operating system"),
		row("Status.Go.GarbageCollector.All.Count", KindCounter, Things, "Garbage collections"),
		row("Status.Go.GarbageCollector.All.Time", KindCounter, Milliseconds, "Processor time of garbage collections"),
	}
}

// Lookup returns the row of a metric.
func Lookup(level Level, name string) (Definition, bool) {
	for _, d := range Definitions() {
		if d.Level == level && d.Name == name {
			return d, true
		}
	}
	return Definition{}, false
}
