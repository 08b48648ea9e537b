package metrics

import "slices"

// containerDefinition is the metric of a worker's container.
func containerDefinition() Definition {
	return Definition{Level: TaskManager, Name: "Status.Container.Memory.Resident", Kind: KindGauge, Unit: Bytes, Meaning: "Memory of the worker, of its task hosts and of their children in RAM, as the NodeManager counts it: the budget is for all of them"}
}

// partitionDefinitions are the metrics of the blocking partitions that a worker serves.
func partitionDefinitions() []Definition {
	return []Definition{
		{Level: TaskManager, Name: "Status.Shuffle.Partitions.Count", Kind: KindGauge, Unit: Things, Meaning: "Finished blocking partitions of all jobs that the worker holds for their consumers"},
		{Level: TaskManager, Name: "Status.Shuffle.Partitions.Bytes", Kind: KindGauge, Unit: Bytes, Meaning: "Size of the files of these partitions on the disks of the worker"},
	}
}

// workerDefinitions are the metrics of a worker, beside those of its process.
func workerDefinitions() []Definition {
	rows := []Definition{
		containerDefinition(),
		{Level: TaskManager, Name: "Metrics.tasksOmitted", Kind: KindGauge, Unit: Things, Meaning: "Subtasks that are missing in the worker's own text for Prometheus, because there are more than 1,000"},
	}
	return slices.Concat(rows, partitionDefinitions(), poolDefinitions(), managedDefinitions(), hostDefinitions())
}

// poolDefinitions are the metrics of the buffers between tasks. In Flink all task slots of a worker share one pool, and its metrics
// are those of the worker. Here each task host has a pool of its own.
func poolDefinitions() []Definition {
	var rows []Definition
	for _, one := range []struct{ name, meaning string }{
		{"Total", "for which the task host has memory"},
		{"Used", "that the task host uses. More than its total are in use while channels need them to go on"},
		{"Available", "that the task host may use still"},
	} {
		rows = append(rows,
			Definition{Level: TaskHost, Name: "Status.Shuffle.Netty." + one.name + "MemorySegments", Kind: KindGauge, Unit: Things, Flink: true, Meaning: "Buffers for records between tasks " + one.meaning},
			Definition{Level: TaskHost, Name: "Status.Shuffle.Netty." + one.name + "Memory", Kind: KindGauge, Unit: Bytes, Flink: true, Meaning: "Memory of the buffers for records between tasks " + one.meaning})
	}
	return rows
}

// managedDefinitions are the metrics of the memory of operators, which in Flink are those of the worker, as those of buffers are.
func managedDefinitions() []Definition {
	return []Definition{
		{Level: TaskHost, Name: "Status.Flink.Memory.Managed.Used", Kind: KindGauge, Unit: Bytes, Flink: true, Meaning: "Managed memory that the operators in the task host hold for tables, sorts and joins. They write to files what does not fit"},
		{Level: TaskHost, Name: "Status.Flink.Memory.Managed.Total", Kind: KindGauge, Unit: Bytes, Flink: true, Meaning: "Managed memory that the operators in the task host share"},
	}
}

// hostDefinitions are the metrics of a task host that have a sum over several hosts, and the others of its process.
func hostDefinitions() []Definition {
	return slices.Concat([]Definition{
		{Level: TaskHost, Name: "Status.Process.Memory.Resident", Kind: KindGauge, Unit: Bytes, Meaning: "Memory of the task host and its children in RAM, as the NodeManager counts it"},
		{Level: TaskHost, Name: "Status.Process.Memory.Budget", Kind: KindGauge, Unit: Bytes, Meaning: "Memory of the container that the job's slots have. If the container is about to exceed its memory, the task host that is furthest above ends"},
	}, runtimeDefinitions(TaskHost, "the task host itself"), hadoopDefinitions(TaskHost))
}

// togetherDefinitions are the sums of the metrics of all workers, and of all task hosts of a job. Distributions and shares have no
// sum.
func togetherDefinitions() []Definition {
	sums := func(level Level, of ...[]Definition) []Definition {
		rows := slices.DeleteFunc(slices.Concat(of...), func(d Definition) bool { return d.Kind == KindHistogram || d.Unit == Fraction })
		for i := range rows {
			rows[i].Level = level
		}
		return rows
	}
	return append(
		sums(TaskManagers, processDefinitions(TaskManager, "the worker itself"), hadoopDefinitions(TaskManager), []Definition{containerDefinition()}, partitionDefinitions()),
		sums(TaskHosts, hostDefinitions())...)
}
