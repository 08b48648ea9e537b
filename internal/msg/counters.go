package msg

// Memory that a JobMaster keeps for counters, in bytes.
const (
	// CounterBytes is the memory of a counter and its sum, without its name.
	CounterBytes = 64
	// RegionCounterBytes is the memory of a further sum of the counter: in a region that has not finished, or of another
	// vertex.
	RegionCounterBytes = 48
	// TaskCounterBytes is the room for counters that each task adds. It is a part of the memory that
	// the Dispatcher reserves for the task.
	TaskCounterBytes = 256
	// maxTaskCounters bounds the counters of one task. A job has more room from 3,840 tasks on.
	maxTaskCounters = 1 << 20
)

// FewerCounters is the remedy for counters without room.
const FewerCounters = "use fewer counters with shorter names, and no data in the names"

// JobCounterRoom is the room for the counters of a job with this number of tasks.
func JobCounterRoom(tasks int) int { return MaxJobCounters + tasks*TaskCounterBytes }

// TaskCounterRoom is the part of that room that one task may take. A host fails a task with more
// counters: no JobMaster would take them, and their names would fill messages.
func TaskCounterRoom(tasks int) int { return min(JobCounterRoom(tasks), maxTaskCounters) }

// CounterSize is the memory of a counter that no other task of the job has reported.
func CounterSize(name string) int { return CounterBytes + RegionCounterBytes + len(name) }
