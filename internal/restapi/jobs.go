package restapi

import (
	"encoding/json"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// JobIDsWithStatus is the answer to GET /jobs; Flink's JobIdsWithStatusOverview.
type JobIDsWithStatus struct {
	Jobs []JobIDWithStatus `json:"jobs"`
}

// JobIDWithStatus is a job with its state.
type JobIDWithStatus struct {
	ID     ids.JobID     `json:"id"`
	Status msg.JobStatus `json:"status"`
}

// MultipleJobsDetails is the answer to GET /jobs/overview; Flink's class of that name.
type MultipleJobsDetails struct {
	Jobs []JobOverview `json:"jobs"`
}

// JobOverview is a job in a list; Flink's JobDetails.
type JobOverview struct {
	ID               ids.JobID      `json:"jid"`
	Name             string         `json:"name"`
	StartTime        int64          `json:"start-time"`
	EndTime          int64          `json:"end-time"`
	Duration         int64          `json:"duration"`
	State            msg.JobStatus  `json:"state"`
	LastModification int64          `json:"last-modification"`
	Tasks            map[string]int `json:"tasks"`          // states in lower case, and "total"
	Note             string         `json:"note,omitempty"` // that of JobDetailsInfo
}

// JobTypeBatch is the type of a batch job.
const JobTypeBatch = "BATCH"

// JobDetailsInfo is the answer to GET /jobs/{job}; Flink's class of that name.
type JobDetailsInfo struct {
	ID             ids.JobID                  `json:"jid"`
	Name           string                     `json:"name"`
	IsStoppable    bool                       `json:"isStoppable"`
	State          msg.JobStatus              `json:"state"`
	JobType        string                     `json:"job-type"`
	StartTime      int64                      `json:"start-time"`
	EndTime        int64                      `json:"end-time"`
	Duration       int64                      `json:"duration"`
	MaxParallelism int64                      `json:"maxParallelism"`
	Now            int64                      `json:"now"`
	Timestamps     map[msg.JobStatus]int64    `json:"timestamps"` // 0 for a state never entered
	Vertices       []VertexInfo               `json:"vertices"`
	StatusCounts   map[msg.ExecutionState]int `json:"status-counts"`
	Plan           JobPlan                    `json:"plan"`
	// Note is what users must know about how the job runs: "it runs in waves …". Flink has none.
	Note string `json:"note,omitempty"`
	// Left says what the job waits for if all of its tasks that are left wait for others: "all that is left waits for “read”".
	// Flink has none.
	Left string `json:"left,omitempty"`
}

// VertexInfo is a vertex of a job; Flink's JobDetailsInfo.JobVertexDetailsInfo.
type VertexInfo struct {
	ID                 string                     `json:"id"`
	SlotSharingGroupID string                     `json:"slotSharingGroupId"`
	Name               string                     `json:"name"`
	MaxParallelism     int                        `json:"maxParallelism"`
	Parallelism        int                        `json:"parallelism"`
	Status             msg.ExecutionState         `json:"status"`
	StartTime          int64                      `json:"start-time"`
	EndTime            int64                      `json:"end-time"`
	Duration           int64                      `json:"duration"`
	Tasks              map[msg.ExecutionState]int `json:"tasks"`
	Metrics            IOMetrics                  `json:"metrics"`
	// Waits is there while tasks wait for their inputs. Flink has none: such tasks are CREATED.
	Waits *InputWait `json:"waits,omitempty"`
}

// InputWait says what tasks of a vertex wait for that cannot be scheduled before others have ended.
type InputWait struct {
	Tasks int            `json:"tasks"` // that wait
	For   []MissingInput `json:"for"`   // empty if no input is missing, such as for a commit
	Brief string         `json:"brief"` // "waits for inputs of 3 tasks", said of the vertex
	Words string         `json:"words"` // "2 tasks wait for the output of 3 tasks of “read”"
}

// MissingInput counts the tasks of a producer that have still to write what others wait for.
type MissingInput struct {
	Vertex string `json:"vertex"` // id
	Tasks  int    `json:"tasks"`
}

// IOMetrics is Flink's IOMetricsInfo.
type IOMetrics struct {
	ReadBytes            int64   `json:"read-bytes"`
	ReadBytesComplete    bool    `json:"read-bytes-complete"`
	WriteBytes           int64   `json:"write-bytes"`
	WriteBytesComplete   bool    `json:"write-bytes-complete"`
	ReadRecords          int64   `json:"read-records"`
	ReadRecordsComplete  bool    `json:"read-records-complete"`
	WriteRecords         int64   `json:"write-records"`
	WriteRecordsComplete bool    `json:"write-records-complete"`
	BackpressuredTime    int64   `json:"accumulated-backpressured-time"`
	IdleTime             int64   `json:"accumulated-idle-time"`
	BusyTime             float64 `json:"accumulated-busy-time"`
}

// JobStatusInfo is the answer to GET /jobs/{job}/status; Flink's class of that name.
type JobStatusInfo struct {
	Status msg.JobStatus `json:"status"`
}

// JobConfigInfo is the answer to GET /jobs/{job}/config; Flink's class of that name.
type JobConfigInfo struct {
	ID     ids.JobID       `json:"jid"`
	Name   string          `json:"name"`
	Config ExecutionConfig `json:"execution-config"`
}

// ExecutionConfig is Flink's JobConfigInfo.ExecutionConfigInfo.
type ExecutionConfig struct {
	Mode            string            `json:"execution-mode"`
	RestartStrategy string            `json:"restart-strategy"`
	Parallelism     int               `json:"job-parallelism"`
	ObjectReuse     bool              `json:"object-reuse-mode"`
	UserConfig      map[string]string `json:"user-config"`
}

// VertexRequirements are the requirements of one vertex in the answer to GET
// /jobs/{job}/resource-requirements, which has them by vertex; Flink's
// JobVertexResourceRequirements.
type VertexRequirements struct {
	Parallelism ParallelismBounds `json:"parallelism"`
}

// ParallelismBounds is Flink's JobVertexResourceRequirements.Parallelism.
type ParallelismBounds struct {
	Lower int `json:"lowerBound"`
	Upper int `json:"upperBound"`
}

// JobAccumulators is the answer to GET /jobs/{job}/accumulators; Flink's JobAccumulatorsInfo.
type JobAccumulators struct {
	Job            []struct{}                 `json:"job-accumulators"` // Flink's, always empty
	UserTask       []UserAccumulator          `json:"user-task-accumulators"`
	SerializedUser map[string]json.RawMessage `json:"serialized-user-task-accumulators"` // Java's; always empty
}

// UserAccumulator is Flink's JobAccumulatorsInfo.UserTaskAccumulator.
type UserAccumulator struct {
	Name  string `json:"name"`
	Type  string `json:"type"`
	Value string `json:"value"`
}

// JobExceptions is the answer to GET /jobs/{job}/exceptions; Flink's JobExceptionsInfoWithHistory.
type JobExceptions struct {
	RootException *string          `json:"root-exception"`
	Timestamp     *int64           `json:"timestamp"`
	AllExceptions []TaskException  `json:"all-exceptions"` // deprecated in Flink, and read by its older clients
	Truncated     bool             `json:"truncated"`
	History       ExceptionHistory `json:"exceptionHistory"`
}

// TaskException is Flink's JobExceptionsInfo.ExecutionExceptionInfo.
type TaskException struct {
	Exception     string `json:"exception"`
	Task          string `json:"task"`
	Location      string `json:"location"`
	Endpoint      string `json:"endpoint"`
	Timestamp     int64  `json:"timestamp"`
	TaskManagerID string `json:"taskManagerId"`
}

// ExceptionHistory is JobExceptions.History, the newest first.
type ExceptionHistory struct {
	Entries   []ExceptionInfo `json:"entries"`
	Truncated bool            `json:"truncated"`
}

// ExceptionInfo is Flink's JobExceptionsInfoWithHistory.RootExceptionInfo.
type ExceptionInfo struct {
	ExceptionName        string            `json:"exceptionName"`
	Stacktrace           string            `json:"stacktrace"`
	Timestamp            int64             `json:"timestamp"`
	TaskName             string            `json:"taskName,omitempty"`
	Location             string            `json:"location,omitempty"`
	Endpoint             string            `json:"endpoint,omitempty"`
	TaskManagerID        string            `json:"taskManagerId,omitempty"`
	FailureLabels        map[string]string `json:"failureLabels"`
	ConcurrentExceptions []json.RawMessage `json:"concurrentExceptions"`
}

// ExecutionResult is the answer to GET /jobs/{job}/execution-result; Flink's
// JobExecutionResultResponseBody.
type ExecutionResult struct {
	Status QueueStatus         `json:"status"`
	Result *JobExecutionResult `json:"job-execution-result,omitempty"`
}

// JobExecutionResult is the output of Flink's JobResultSerializer.
type JobExecutionResult struct {
	ID                 ids.JobID                  `json:"id"`
	ApplicationStatus  msg.ApplicationStatus      `json:"application-status"`
	AccumulatorResults map[string]json.RawMessage `json:"accumulator-results"` // Java's serialized form; Bobbin's are Result.Counters
	NetRuntime         int64                      `json:"net-runtime"`
	FailureCause       *FailureCause              `json:"failure-cause,omitempty"`
}
