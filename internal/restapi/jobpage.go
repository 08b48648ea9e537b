package restapi

import "github.com/bobbin-yarn/bobbin/internal/msg"

// JobVertices is the answer to GET /jobs/{job}/vertices: what the tasks of each vertex do now, for a page that shows all
// vertices with one request. GET /jobs/{job} has their names, states and sums.
type JobVertices struct {
	Now      int64           `json:"now"`
	Restarts int             `json:"restarts"` // of the job's regions
	Troubled bool            `json:"troubled"` // tasks have failed: GET /jobs/{job}/exceptions says why
	Vertices []VertexSummary `json:"vertices"` // in the order of GET /jobs/{job}
	// Slow is missing unless the job runs, its tasks are measured, and one of its vertices has much to do.
	Slow *SlowVertex `json:"slow,omitempty"`
}

// SlowVertex is the vertex that makes a job slow. Shares are parts of the time, from 0 to 1.
type SlowVertex struct {
	Vertex  string  `json:"vertex"`  // id
	Subtask int     `json:"subtask"` // the busiest one
	Busy    float64 `json:"busy"`    // of this subtask
	Mean    float64 `json:"mean"`    // busy, of all subtasks
	// Alone says that the work is not spread equally: this subtask has most of it.
	Alone bool           `json:"alone"`
	Waits *WaitingVertex `json:"waits,omitempty"` // missing: no vertex waits for this one
	Brief string         `json:"brief"`           // the first sentence of Words, without its full stop
	Words string         `json:"words"`           // all this, in sentences
}

// WaitingVertex is the producer that waits most for a vertex to take its records.
type WaitingVertex struct {
	Vertex  string  `json:"vertex"`  // id
	Subtask int     `json:"subtask"` // the one that waits most
	Share   float64 `json:"share"`   // of its time
}

// VertexSummary describes the tasks of a vertex together.
type VertexSummary struct {
	ID     string         `json:"id"`
	Splits *SplitProgress `json:"splits,omitempty"` // of a source that reads splits
	// Earlier counts the kept attempts of subtasks that have another one since.
	Earlier int `json:"earlier-attempts"`
	// Activity and Rates are missing while no task is measured: before the first seconds, and after the end.
	Activity *VertexActivity `json:"activity,omitempty"`
	Rates    *VertexRates    `json:"rates,omitempty"`
	// Spread is missing if the subtasks are not kept.
	Spread *VertexSpread `json:"spread,omitempty"`
	// Skew is missing if no subtask has far more than the others, and while the vertex waits for another one or has just begun.
	Skew *VertexSkew `json:"skew,omitempty"`
}

// VertexSkew is the subtask that has too much of the work of a vertex.
type VertexSkew struct {
	Of      string  `json:"of"` // the name of a field of VertexSpread
	Subtask int     `json:"subtask"`
	Key     bool    `json:"key"`   // because of a key: all records of a key go to one subtask
	Share   float64 `json:"share"` // of the sum of all subtasks, from 0 to 1
	Brief   string  `json:"brief"` // "Skewed key: subtask 3 of 4 read 71 % of all records"
	Words   string  `json:"words"` // in sentences, which begin like Brief
}

// SplitProgress counts the splits of a source, and their bytes. A split counts as read when its task asks for the next one; its
// bytes count at once.
type SplitProgress struct {
	Read      int   `json:"read"`
	All       int   `json:"all"`
	ReadBytes int64 `json:"read-bytes"`
	AllBytes  int64 `json:"all-bytes"` // 0: not known
}

// Done is how much of the splits is read, from 0 to 1. All is not 0.
func (p SplitProgress) Done() float64 {
	if p.AllBytes > 0 && p.Read < p.All {
		return float64(p.ReadBytes) / float64(p.AllBytes)
	}
	return float64(p.Read) / float64(p.All)
}

// VertexActivity has shares of the time, from 0 to 1.
type VertexActivity struct {
	Tasks             int          `json:"tasks"` // that are measured
	Busy              float64      `json:"busy"`  // these three are means
	Idle              float64      `json:"idle"`
	BackPressured     float64      `json:"back-pressured"`
	MostBusy          SubtaskShare `json:"most-busy"`
	MostBackPressured SubtaskShare `json:"most-back-pressured"`
}

// SubtaskShare is the share of one subtask.
type SubtaskShare struct {
	Subtask int     `json:"subtask"`
	Share   float64 `json:"share"`
}

// VertexRates are of all tasks together, in a second.
type VertexRates struct {
	ReadRecords  float64 `json:"read-records"`
	WriteRecords float64 `json:"write-records"`
	ReadBytes    float64 `json:"read-bytes"`
	WriteBytes   float64 `json:"write-bytes"`
}

// VertexSpread says how equally the work is spread over the subtasks.
type VertexSpread struct {
	ReadRecords  SubtaskSpread `json:"read-records"`
	WriteRecords SubtaskSpread `json:"write-records"`
	ReadBytes    SubtaskSpread `json:"read-bytes"`
	BusyTime     SubtaskSpread `json:"busy-time"` // ms
}

// SubtaskSpread has the subtask with the most of something.
type SubtaskSpread struct {
	Subtask int   `json:"subtask"`
	Most    int64 `json:"most"`
	Median  int64 `json:"median"`
	Sum     int64 `json:"sum"`
	Usual   int64 `json:"usual"`   // of a subtask: the median or, of few subtasks, the mean of the others
	Outlier int64 `json:"outlier"` // a subtask with this amount or more has too much
}

// JobTimeline is the answer to GET /jobs/{job}/timeline: when the attempts of all subtasks entered their states.
type JobTimeline struct {
	Now      int64                `json:"now"`
	States   []msg.ExecutionState `json:"states"`  // the order of TimelineAttempt.Entered
	Workers  []TimelineWorker     `json:"workers"` // that attempts name by their index here
	Vertices []TimelineVertex     `json:"vertices"`
	Omitted  int                  `json:"omitted"` // attempts of all vertices that are left out
}

// TimelineWorker is a worker with attempts.
type TimelineWorker struct {
	ID   string `json:"id"`
	Host string `json:"host"`
}

// TimelineVertex has the attempts of a vertex: by subtask, the oldest first. If a job has more than one answer may have,
// each vertex has an equal share, and those that lasted longest.
type TimelineVertex struct {
	ID       string            `json:"id"`
	Name     string            `json:"name"`
	Attempts []TimelineAttempt `json:"attempts"`
	Omitted  int               `json:"omitted"` // attempts of this vertex that are left out
}

// TimelineAttempt is one attempt of a subtask.
type TimelineAttempt struct {
	Subtask int                `json:"subtask"`
	Attempt int                `json:"attempt"`
	Status  msg.ExecutionState `json:"status"`
	Worker  int                `json:"worker"`  // -1: none yet
	Entered []int64            `json:"entered"` // ms since 1970 in the order of JobTimeline.States; 0: never
}
