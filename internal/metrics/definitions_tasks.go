package metrics

// taskDefinitions are the metrics of a subtask; see package tasks.
func taskDefinitions() []Definition {
	ours := func(name string, unit Unit, meaning string) []Definition {
		return []Definition{
			{Level: Task, Name: name, Kind: KindCounter, Unit: unit, Meaning: meaning},
			{Level: Task, Name: name + "PerSecond", Kind: KindMeter, Unit: PerSecond, Meaning: meaning + ", in a second; over the last 5 to 10 s"},
		}
	}
	count := func(name string, unit Unit, meaning string) []Definition {
		rows := ours(name, unit, meaning)
		for i := range rows {
			rows[i].Flink = true
		}
		return rows
	}
	spent := func(does, meaning string) Definition {
		return Definition{Level: Task, Name: does + "TimeMsPerSecond", Kind: KindGauge, Unit: MsPerSecond, Flink: true, Meaning: meaning + ", of each second; over the last 5 to 10 s"}
	}
	all := func(does, meaning string) Definition {
		return Definition{Level: Task, Name: "accumulate" + does + "TimeMs", Kind: KindGauge, Unit: Milliseconds, Flink: true, Meaning: meaning + ", since the attempt was deployed"}
	}
	buffers := func(name string, unit Unit, meaning string) Definition {
		return Definition{Level: Task, Name: "buffers." + name, Kind: KindGauge, Unit: unit, Flink: true, Meaning: meaning}
	}
	const (
		busy   = "Time in which the task works"
		idle   = "Time in which the task waits for input"
		pushed = "Time in which the task waits because its consumers do not take its output"
	)
	var table []Definition
	table = append(table, count("numRecordsIn", Things, "Records read from other tasks")...)
	table = append(table, count("numRecordsOut", Things, "Records written for other tasks, a record for each consumer")...)
	table = append(table, count("numBytesIn", Bytes, "Bytes read from other tasks and from files")...)
	table = append(table, count("numBytesOut", Bytes, "Bytes written for other tasks and to files")...)
	table = append(table, ours("numBuffersIn", Things, "Buffers read from other tasks, of the same task host and of others")...)
	table = append(table, count("numBuffersOut", Things, "Buffers written for other tasks")...)
	return append(table,
		spent("busy", busy), spent("idle", idle), spent("backPressured", pushed),
		Definition{Level: Task, Name: "isBackPressured", Kind: KindGauge, Unit: Fraction, Flink: true, Meaning: "1: the task waits for its consumers now; 0: it does not"},
		all("Busy", busy), all("Idle", idle), all("BackPressured", pushed),
		buffers("inputQueueLength", Things, "Buffers that have arrived and wait for the task"),
		buffers("outputQueueLength", Things, "Full buffers that wait for the consumers"),
		buffers("inPoolUsage", Fraction, "Share of the buffers that the task may hold now for input of other task hosts which has data; 0: it has no such input"),
		buffers("outPoolUsage", Fraction, "Share of the buffers that the task may hold now for its output which has data"),
		Definition{Level: Task, Name: "numMetricsDropped", Kind: KindGauge, Unit: Things, Meaning: "Metrics of the job's program that are not shown, because there is no room for them"},
	)
}
