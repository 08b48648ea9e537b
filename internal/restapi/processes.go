package restapi

// Headers of a log file that a client follows. It sends the values of HeaderNext and HeaderFile with its next
// request, as ?offset=…&file=…, and gets what was written since.
const (
	// HeaderOffset is where the answer begins in the file, in bytes.
	HeaderOffset = "Bobbin-Offset"
	// HeaderFile identifies the file under all its names. It is missing after the rest of a log that has rotated:
	// the client goes on with the new one.
	HeaderFile = "Bobbin-File"
)

// LogList is the answer to GET …/logs; Flink's LogListInfo.
type LogList struct {
	Logs []LogFile `json:"logs"`
}

// LogFile is Flink's LogInfo.
type LogFile struct {
	Modified int64  `json:"mtime"`
	Name     string `json:"name"`
	Size     int64  `json:"size"` // bytes
}

// ThreadDump is the answer to GET …/thread-dump; Flink's ThreadDumpInfo. Goroutines take the place of threads.
type ThreadDump struct {
	Threads []ThreadInfo `json:"threadInfos"`
}

// ThreadInfo is a goroutine with its stack.
type ThreadInfo struct {
	Name  string `json:"threadName"`
	Stack string `json:"stringifiedThreadInfo"`
}

// ProfilingRequest is the body of POST …/profiler; Flink's ProfilingRequestBody.
type ProfilingRequest struct {
	Mode     string `json:"mode"`
	Duration int    `json:"duration"` // seconds
}

// ProfilingList is the answer to GET …/profiler; Flink's ProfilingInfoList.
type ProfilingList struct {
	Profiles []ProfilingInfo `json:"profilingList"` // the newest first
}

// ProfilingInfo is Flink's class of that name.
type ProfilingInfo struct {
	Status        string  `json:"status"` // RUNNING, FINISHED or FAILED
	Mode          string  `json:"mode"`
	ProfilingMode string  `json:"profilingMode"` // the same
	TriggerTime   int64   `json:"triggerTime"`
	FinishedTime  *int64  `json:"finishedTime"`
	Duration      int64   `json:"duration"` // seconds
	Message       *string `json:"message"`
	OutputFile    *string `json:"outputFile"`
}

// TaskHosts is the answer to GET /taskmanagers/{worker}/hosts: the processes that run the tasks of jobs.
type TaskHosts struct {
	Hosts []TaskHost `json:"hosts"`
}

// TaskHost is a process that runs the tasks of one job on a worker.
type TaskHost struct {
	ID  string `json:"id"`
	Job string `json:"job"`
	// Resident is its memory in RAM with its children, and Budget the memory of the container that the job's slots have, in
	// bytes, both of the last heartbeat. -1: not known.
	Resident int64 `json:"residentMemory"`
	Budget   int64 `json:"memoryBudget"`
}

// LogURL is the answer to GET …/log-url; Flink's class of that name.
type LogURL struct {
	URL string `json:"url"`
}
