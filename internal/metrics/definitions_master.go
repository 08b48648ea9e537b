package metrics

import "strings"

// masterDefinitions are the metrics of the cluster and of the ApplicationMaster.
func masterDefinitions() []Definition {
	ours := func(name string, kind Kind, unit Unit, meaning string) Definition {
		return Definition{Level: JobManager, Name: name, Kind: kind, Unit: unit, Meaning: meaning}
	}
	flinks := func(name string, kind Kind, unit Unit, meaning string) Definition {
		d := ours(name, kind, unit, meaning)
		d.Flink = true
		return d
	}
	grouped := func(group string, d Definition) Definition {
		d.Group = group
		return d
	}
	return []Definition{
		flinks("numRunningJobs", KindGauge, Things, "Jobs that have not ended"),
		flinks("numRegisteredTaskManagers", KindGauge, Things, "Workers that are registered"),
		flinks("numPendingTaskManagers", KindGauge, Things, "Workers that are ordered and not registered: those that YARN has no room for yet, and those that start"),
		ours("numTaskManagersNotShown", KindGauge, Things, "Workers that lack some or all of their metrics in the ApplicationMaster's text for Prometheus, because the text has room for 20,000 series of workers and task hosts; scrape the workers themselves for them. The sums of taskmanagers and taskmanagers_job include them"),
		ours("numPreviousTaskManagers", KindGauge, Things, "Workers of an earlier ApplicationMaster that have not returned yet"),
		ours("numBlockedNodes", KindGauge, Things, "Nodes that jobs have set aside"),
		flinks("taskSlotsTotal", KindGauge, Things, "Slots of the registered workers"),
		flinks("taskSlotsAvailable", KindGauge, Things, "Slots that are free"),
		ours("openAsks", KindGauge, Things, "Containers that YARN has been asked for and has not given"),
		ours("openAsksTime", KindGauge, Milliseconds, "For how long there have been such asks without a break; 0: there are none"),
		grouped("cause", ours("startWorkFailures", KindCounter, Things, "Workers that have not registered. The cause is not_started (no NodeManager has started the container), ended (the container has ended before), late (resourcemanager.taskmanager-registration.timeout), or rejected (of another version or size)")),
		flinks("startWorkFailurePerSecond", KindMeter, PerSecond, "The rate of such workers"),
		ours("Yarn.allocateLatency", KindHistogram, Milliseconds, "Time until YARN's ResourceManager answers a heartbeat"),
		ours("Yarn.allocateFailures", KindCounter, Things, "Heartbeats to YARN's ResourceManager that have failed"),
		ours("Yarn.containersAllocated", KindCounter, Things, "Containers that YARN has given"),
		ours("Yarn.containersReleased", KindCounter, Things, "Containers that were given back to YARN"),
		ours("Yarn.containersStarted", KindCounter, Things, "Containers that a NodeManager has started"),
		grouped("cause", ours("Yarn.containerStartsFailed", KindCounter, Things, "Containers that a NodeManager has not started. The cause is no_answer, token_refused, refused (by the NodeManager), or not_asked (the ApplicationMaster cannot describe the worker)")),
		ours("Yarn.containerWaitTime", KindHistogram, Milliseconds, "For how long a container was asked for, until YARN gave it"),
		grouped("cause", ours("Yarn.containersCompleted", KindCounter, Things, "Containers that have ended. The cause is YARN's name of the exit status in lower case, sigkill, sigterm, lost, or exit_code")),
		ours("Metrics.jobsSummed", KindGauge, Things, "Jobs whose vertices are shown as sums in /metrics, because there are too many subtasks"),
		ours("Metrics.jobsOmitted", KindGauge, Things, "Jobs whose subtasks are not shown in /metrics at all, because there are too many vertices"),
	}
}

// jobDefinitions are the metrics of a job that the ApplicationMaster knows.
func jobDefinitions() []Definition {
	rows := []Definition{
		{Level: JobManagerJob, Name: "numRestarts", Kind: KindGauge, Unit: Things, Flink: true, Meaning: "Restarts of regions of the job"},
		{Level: JobManagerJob, Name: "heldPartitions", Kind: KindGauge, Unit: Things, Meaning: "Finished blocking partitions of the job that its workers hold for their consumers"},
		{Level: JobManagerJob, Name: "heldPartitionBytes", Kind: KindGauge, Unit: Bytes, Meaning: "Size of the files of these partitions"},
	}
	for _, state := range []string{"initializing", "created", "running", "restarting", "cancelling", "failing"} {
		name := strings.ToUpper(state)
		rows = append(rows,
			Definition{Level: JobManagerJob, Name: state + "State", Kind: KindGauge, Unit: Things, Flink: true, Meaning: "1: the job is " + name + " now; 0: it is in another state"},
			Definition{Level: JobManagerJob, Name: state + "Time", Kind: KindGauge, Unit: Milliseconds, Flink: true, Meaning: "For how long the job has been " + name + " now; 0: it is in another state"},
			Definition{Level: JobManagerJob, Name: state + "TimeTotal", Kind: KindGauge, Unit: Milliseconds, Flink: true, Meaning: "For how long the job has been " + name + " in all"})
	}
	return append(rows,
		Definition{Level: JobManagerJob, Name: "deployingState", Kind: KindGauge, Unit: Things, Flink: true, Meaning: "1: tasks are DEPLOYING now, and none is RUNNING; 0: a task is RUNNING, or none is DEPLOYING"},
		Definition{Level: JobManagerJob, Name: "deployingTime", Kind: KindGauge, Unit: Milliseconds, Flink: true, Meaning: "For how long tasks have been DEPLOYING now, while none is RUNNING; 0: a task is RUNNING, or none is DEPLOYING"},
		Definition{Level: JobManagerJob, Name: "deployingTimeTotal", Kind: KindGauge, Unit: Milliseconds, Flink: true, Meaning: "For how long tasks have been DEPLOYING in all, while none was RUNNING"})
}

// vertexDefinitions are the metrics of a vertex that the ApplicationMaster knows. Only sources that read splits have them.
func vertexDefinitions() []Definition {
	return []Definition{
		{Level: Vertex, Name: "numSplits", Kind: KindGauge, Unit: Things, Meaning: "Splits of the input. Only vertices that read splits have this metric"},
		{Level: Vertex, Name: "numSplitsRead", Kind: KindGauge, Unit: Things, Meaning: "Splits that were read to their end. It falls when tasks restart, because they read their splits again"},
	}
}
