package msg

import (
	"time"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/memory"
)

// JobDetails is the description of a job for users. REST returns it in Flink's shapes, and
// the Dispatcher keeps it after the job's end.
type JobDetails struct {
	ID         ids.JobID
	Name       string
	Status     JobStatus
	Start      time.Time               // its submission, also if another master has recovered it
	End        time.Time               // zero while it runs
	Timestamps map[JobStatus]time.Time // when the job last entered each state
	Vertices   []VertexDetails
	// Restarts counts restarts of the job's regions.
	Restarts int
	// Root is the reason why the job failed, last restarted or last blocked a node; or nil.
	Root       *ExceptionEntry
	Exceptions []ExceptionEntry // newest first, at most web.exception-history-size
	// TaskFailures are the failures of tasks that are FAILED and not restarted yet, the
	// oldest first, at most 20.
	TaskFailures []ExceptionEntry
	Counters     map[string]int64 // of finished tasks
	Steps        []Step           // of the job's start-up, in their order
	// Parallelism is the default parallelism with which the job was planned.
	Parallelism int
	Config      map[string]string // options that the job was planned with; immutable
	// Note is what users must know about how the job runs, such as exchanges that the JobMaster has made blocking; or "". It
	// continues a sentence that has named the job: "it runs in waves …".
	Note string `json:",omitzero"`
	// AwaitsWorkers says that no task runs before workers of an earlier ApplicationMaster have told which partitions they hold,
	// or a time has passed.
	AwaitsWorkers bool `json:",omitzero"`
}

// Step is a step of a job's start-up and its time.
type Step struct {
	Name string
	At   time.Time
}

// VertexDetails is one vertex of a job.
type VertexDetails struct {
	ID          string // 32 hex digits, as Flink's vertex ids
	Name        string
	Parallelism int
	Earlier     int            `json:",omitzero"` // attempts before the current ones of its subtasks, as far as they are kept
	Group       string         // its slot sharing group
	Status      ExecutionState // the state that describes its tasks best
	Start, End  time.Time
	Tasks       map[ExecutionState]int
	Blocked     int `json:",omitzero"` // of Tasks: those that are CREATED because they wait until others have ended
	Traffic     Traffic
	Times       TaskTimes
	Splits      SplitProgress    `json:",omitzero"` // of a source that reads splits
	Inputs      []VertexInput    // in the order of the vertex's inputs
	Notes       []string         `json:",omitempty"` // what the planner has chosen for its operators, and why
	Counters    map[string]int64 // of finished tasks, and what running ones have reported
	// Subtasks are its subtasks when the job had ended, as package subtasks encodes them. nil: the job has not ended, or
	// the subtasks of all vertices take more than MaxEndedSubtasks.
	Subtasks []byte `json:"-"`
}

// SplitProgress counts the splits of a source. A task that restarts reads its splits again, so Read may decrease.
type SplitProgress struct {
	Read, All int
	Bytes     int64 `json:",omitzero"` // of all splits; 0: a master of an earlier release did not tell
}

// VertexInput is an edge that ends at a vertex.
type VertexInput struct {
	Vertex  string // id of the producer
	Pattern jobgraph.Pattern
	Kind    jobgraph.Kind `json:",omitempty"`
	Ship    jobgraph.Ship `json:",omitempty"` // "": a master of an earlier release did not tell
	Why     string        `json:",omitempty"` // the reason of the kind, or ""
	Missing int           `json:",omitzero"`  // tasks of the producer that have partitions still to write for tasks that are Blocked
}

// InputOf describes an edge of a graph.
func InputOf(g *jobgraph.JobGraph, e jobgraph.Edge) VertexInput {
	return VertexInput{Vertex: g.PublicID(e.From), Pattern: e.Pattern, Kind: e.Kind, Ship: e.Ship, Why: e.Why}
}

// ExceptionEntry is a failure in a job's history.
type ExceptionEntry struct {
	Time     time.Time
	Failure  Failure
	Task     string         // "name (2/4)", or "" for a failure of the whole job
	Location string         // host of the worker
	Resource ids.ResourceID // worker
}

// JobOverview is a job in a list.
type JobOverview struct {
	ID         ids.JobID
	Name       string
	Status     JobStatus
	Start, End time.Time                   // End is zero while it runs
	Entered    time.Time                   // when the job has entered its state
	Spent      map[JobStatus]time.Duration // in all stays in each state that are over
	Deploying  time.Time                   // since when tasks are DEPLOYING and none is RUNNING; zero: they are not
	Deployed   time.Duration               // for how long that was so before
	Restarts   int                         // of the job's regions
	Modified   time.Time                   // when a task last changed its state
	Tasks      map[ExecutionState]int
	TotalTasks int
	Note       string           // that of JobDetails
	Partitions ServedPartitions // that workers serve for its tasks
}

// Overview returns the entry in the list of jobs of a job that has ended, or has not begun.
func (d *JobDetails) Overview() JobOverview {
	o := JobOverview{
		ID: d.ID, Name: d.Name, Status: d.Status, Start: d.Start, End: d.End, Modified: d.End, Entered: d.Timestamps[d.Status], Restarts: d.Restarts,
		Note: d.Note, Tasks: make(map[ExecutionState]int),
	}
	if d.End.IsZero() { // it is INITIALIZING
		o.Modified = d.Start
	}
	for _, v := range d.Vertices {
		o.TotalTasks += v.Parallelism
		for state, n := range v.Tasks {
			o.Tasks[state] += n
		}
	}
	return o
}

// TaskExecutorDetails describes a registered worker for users.
type TaskExecutorDetails struct {
	Resource      ids.ResourceID
	Host          string
	SlotsTotal    int
	SlotsFree     int
	Memory        memory.Worker
	VCores        int               // of the container
	External      ExternalResources // of the container
	Hardware      Hardware
	LastHeartbeat time.Time
	// Metrics came with the last heartbeat. Its hosts are those of jobs that are registered. nil: none came. Nobody
	// changes it.
	Metrics *WorkerMetrics
	// Jobs are those of the slots that are not free, in the order of the slots. Lists of workers leave it out.
	Jobs []ids.JobID
}

// ProgramDetails is a program whose jobs a session can run.
type ProgramDetails struct {
	Program
	Size     int64 // bytes
	Uploaded time.Time
}

// DriverDetails is a program that runs beside the master of a session.
type DriverDetails struct {
	ID       string // of this run, 32 hex digits
	Program  Program
	Started  time.Time
	MemoryMB int       // memory of its processes
	Jobs     int       // number of submitted jobs
	LastJob  ids.JobID // "" before the first
}

// AttemptDetails is an attempt of the application: one start of its ApplicationMaster.
type AttemptDetails struct {
	Attempt     int       // from 1
	Container   string    // of the ApplicationMaster
	Node        string    // host name while it is registered, or if YARN cannot be asked; "" otherwise
	State       string    // YARN's YarnApplicationAttemptState; "": it has ended, and YARN cannot be asked how
	Started     time.Time // if YARN cannot be asked: when it published its address
	Ended       time.Time // zero while it runs, or if YARN cannot be asked
	Diagnostics string    // why it has ended, in YARN's words, or what is known of it
}

// CollectPage is a part of a job's collected result.
type CollectPage struct {
	// Epoch changes when the collecting task restarts. Then records that a client has read
	// in another epoch are void.
	Epoch int
	// Next is the cursor of the next page.
	Next int64
	// Records are whole records, each after its length as a uvarint.
	Records []byte
	// End is true if no page follows.
	End bool
}
