package restapi

import "github.com/bobbin-yarn/bobbin/internal/msg"

// JobVertexDetails is the answer to GET /jobs/{job}/vertices/{vertex}; Flink's JobVertexDetailsInfo.
type JobVertexDetails struct {
	ID             string           `json:"id"`
	Name           string           `json:"name"`
	Parallelism    int              `json:"parallelism"`
	MaxParallelism int              `json:"maxParallelism"`
	Now            int64            `json:"now"`
	Subtasks       []SubtaskAttempt `json:"subtasks"`
	Aggregated     Aggregated       `json:"aggregated"`
	// BackPressure is there only with backpressure=true, which Flink does not have.
	BackPressure *BackPressure `json:"backpressure,omitempty"`
}

// SubtaskAttempt is one attempt of a subtask; Flink's SubtaskExecutionAttemptDetailsInfo.
type SubtaskAttempt struct {
	Subtask        int                `json:"subtask"`
	Status         msg.ExecutionState `json:"status"`
	Attempt        int                `json:"attempt"`
	Endpoint       string             `json:"endpoint"`
	Host           string             `json:"host"`
	StartTime      int64              `json:"start-time"`
	StartTimeAgain int64              `json:"start_time"` // Flink has it under both names
	EndTime        int64              `json:"end-time"`
	Duration       int64              `json:"duration"`
	Metrics        IOMetrics          `json:"metrics"`
	TaskManagerID  string             `json:"taskmanager-id"`
	StatusDuration StatusDuration     `json:"status-duration"`
	// Others are the other attempts of the subtask that have not ended.
	Others []SubtaskAttempt `json:"other-concurrent-attempts,omitempty"`
}

// StatusDuration is for how long an attempt was in each state before its end; -1: never. No task of Bobbin is INITIALIZING.
type StatusDuration struct {
	Created      int64 `json:"CREATED"`
	Scheduled    int64 `json:"SCHEDULED"`
	Deploying    int64 `json:"DEPLOYING"`
	Initializing int64 `json:"INITIALIZING"`
	Running      int64 `json:"RUNNING"`
}

// Aggregated has the statistics of several attempts; Flink's AggregatedTaskDetailsInfo.
type Aggregated struct {
	Metrics        AggregatedMetrics        `json:"metrics"`
	StatusDuration AggregatedStatusDuration `json:"status-duration"`
}

// AggregatedMetrics has the statistics of IOMetrics.
type AggregatedMetrics struct {
	ReadBytes         Statistics `json:"read-bytes"`
	WriteBytes        Statistics `json:"write-bytes"`
	ReadRecords       Statistics `json:"read-records"`
	WriteRecords      Statistics `json:"write-records"`
	BackpressuredTime Statistics `json:"accumulated-backpressured-time"`
	IdleTime          Statistics `json:"accumulated-idle-time"`
	BusyTime          Statistics `json:"accumulated-busy-time"`
}

// AggregatedStatusDuration has the statistics of StatusDuration.
type AggregatedStatusDuration struct {
	Created      Statistics `json:"CREATED"`
	Scheduled    Statistics `json:"SCHEDULED"`
	Deploying    Statistics `json:"DEPLOYING"`
	Initializing Statistics `json:"INITIALIZING"`
	Running      Statistics `json:"RUNNING"`
}

// Statistics describe whole numbers. All are 0 if there are none.
type Statistics struct {
	Min    int64 `json:"min"`
	Max    int64 `json:"max"`
	Avg    int64 `json:"avg"`
	Sum    int64 `json:"sum"`
	Median int64 `json:"median"`
	P25    int64 `json:"p25"`
	P75    int64 `json:"p75"`
	P95    int64 `json:"p95"`
}

// SubtaskTimes is the answer to GET /jobs/{job}/vertices/{vertex}/subtasktimes; Flink's SubtasksTimesInfo.
type SubtaskTimes struct {
	ID       string        `json:"id"`
	Name     string        `json:"name"`
	Now      int64         `json:"now"`
	Subtasks []SubtaskTime `json:"subtasks"`
}

// SubtaskTime is Flink's SubtasksTimesInfo.SubtaskTimeInfo.
type SubtaskTime struct {
	Subtask    int             `json:"subtask"`
	Host       string          `json:"host"`
	Endpoint   string          `json:"endpoint"`
	Duration   int64           `json:"duration"` // since the subtask was SCHEDULED
	Timestamps StateTimestamps `json:"timestamps"`
}

// StateTimestamps has the times at which an attempt entered its states; 0: never.
type StateTimestamps struct {
	Created      int64 `json:"CREATED"`
	Scheduled    int64 `json:"SCHEDULED"`
	Deploying    int64 `json:"DEPLOYING"`
	Initializing int64 `json:"INITIALIZING"`
	Running      int64 `json:"RUNNING"`
	Finished     int64 `json:"FINISHED"`
	Canceling    int64 `json:"CANCELING"`
	Canceled     int64 `json:"CANCELED"`
	Failed       int64 `json:"FAILED"`
	Reconciling  int64 `json:"RECONCILING"`
}

// VertexTaskManagers is the answer to GET /jobs/{job}/vertices/{vertex}/taskmanagers; Flink's JobVertexTaskManagersInfo.
type VertexTaskManagers struct {
	ID           string              `json:"id"`
	Name         string              `json:"name"`
	Now          int64               `json:"now"`
	TaskManagers []VertexTaskManager `json:"taskmanagers"`
}

// VertexTaskManager is the subtasks of a vertex on one task manager; Flink's JobVertexTaskManagersInfo.TaskManagersInfo.
type VertexTaskManager struct {
	Endpoint      string                     `json:"endpoint"`
	Host          string                     `json:"host"`
	Status        msg.ExecutionState         `json:"status"`
	StartTime     int64                      `json:"start-time"`
	EndTime       int64                      `json:"end-time"`
	Duration      int64                      `json:"duration"`
	Metrics       IOMetrics                  `json:"metrics"`
	StatusCounts  map[msg.ExecutionState]int `json:"status-counts"`
	TaskManagerID string                     `json:"taskmanager-id"`
	Aggregated    Aggregated                 `json:"aggregated"`
}

// VertexAccumulators is the answer to GET /jobs/{job}/vertices/{vertex}/accumulators; Flink's JobVertexAccumulatorsInfo.
type VertexAccumulators struct {
	ID   string            `json:"id"`
	User []UserAccumulator `json:"user-accumulators"`
}

// SubtasksAccumulators is the answer to GET /jobs/{job}/vertices/{vertex}/subtasks/accumulators; Flink's
// SubtasksAllAccumulatorsInfo.
type SubtasksAccumulators struct {
	ID          string                `json:"id"`
	Parallelism int                   `json:"parallelism"`
	Subtasks    []SubtaskAccumulators `json:"subtasks"`
}

// SubtaskAccumulators is Flink's SubtasksAllAccumulatorsInfo.SubtaskAccumulatorsInfo.
type SubtaskAccumulators struct {
	Subtask  int               `json:"subtask"`
	Attempt  int               `json:"attempt"`
	Endpoint string            `json:"endpoint"`
	Host     string            `json:"host"`
	User     []UserAccumulator `json:"user-accumulators"`
}

// AttemptAccumulators is the answer to GET …/subtasks/{subtask}/attempts/{attempt}/accumulators; Flink's
// SubtaskExecutionAttemptAccumulatorsInfo.
type AttemptAccumulators struct {
	Subtask int               `json:"subtask"`
	Attempt int               `json:"attempt"`
	ID      string            `json:"id"` // of the attempt
	User    []UserAccumulator `json:"user-accumulators"`
}

// BackPressure is the answer to GET /jobs/{job}/vertices/{vertex}/backpressure; Flink's JobVertexBackPressureInfo. Only its
// Status is there if nothing was measured.
type BackPressure struct {
	Status       string                `json:"status"` // ok, or deprecated: nothing was measured
	Level        string                `json:"backpressure-level,omitempty"`
	LevelAgain   string                `json:"backpressureLevel,omitempty"` // Flink has it under both names
	EndTimestamp int64                 `json:"end-timestamp,omitempty"`     // when it was measured
	Subtasks     []SubtaskBackPressure `json:"subtasks,omitempty"`
}

// SubtaskBackPressure is Flink's JobVertexBackPressureInfo.SubtaskBackPressureInfo. The ratios are shares of the time.
type SubtaskBackPressure struct {
	Subtask    int     `json:"subtask"`
	Level      string  `json:"backpressure-level"` // ok, low or high
	LevelAgain string  `json:"backpressureLevel"`
	Ratio      float64 `json:"ratio"`
	IdleRatio  float64 `json:"idleRatio"`
	BusyRatio  float64 `json:"busyRatio"`
}
