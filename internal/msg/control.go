package msg

import (
	"time"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/memory"
)

// Messages of the control socket between a TaskExecutor and a task host, beside
// those about tasks that are passed through from the JobMaster.

// HostHello is a host's first message.
type HostHello struct{ ProtocolVersion int }

// StartHost gives a new host its job, and the means to reach files and other hosts.
type StartHost struct {
	Host         ids.HostID
	Job          JobSpec
	Resource     ids.ResourceID
	ListenHost   string // address the data plane binds to
	HadoopConf   []byte // hadoopconf's marshalled site settings, or nil
	User         string // on an open cluster
	Tokens       Secret // for HDFS, as creds.Credentials.Marshal gives them; nil: none. See UpdateTokens
	Certificates Certificates
	Files        map[string]string // path of each cached file of the job, by name
	Memory       memory.Slot       // of all slots of the job on this worker
	// Resources are the external resources of each slot, by their names in external-resources. A
	// default slot has those of the whole container, which it shares with the other slots.
	Resources ExternalResources
	LocalDirs []string // for temporary files, one on each disk; none in local mode
	// PartitionDirs are the directories of this host's blocking partitions, one on each disk. The worker has made them. It removes
	// them when the host has ended and the worker holds none of its partitions.
	PartitionDirs []string
	LogDir        string
	LogLevel      string // of the host's own log
	// Unreachable is the time after which another host is lost if its machine acknowledges
	// nothing. 0: never.
	Unreachable time.Duration
	// HeartbeatTimeout is the time for which another running host may be silent.
	HeartbeatTimeout time.Duration
}

// Certificates are a host's TLS identity, in PEM. They are empty in local mode.
type Certificates struct {
	Chain     []byte
	Key       Secret
	Authority []byte
}

// Secret is bytes that must not reach logs or error texts.
type Secret []byte

// String hides the bytes.
func (Secret) String() string { return "(secret)" }

// GoString hides the bytes.
func (Secret) GoString() string { return "(secret)" }

// SetMemory changes the host's memory as slots come and go.
type SetMemory struct{ Memory memory.Slot }

// StopHost tells a host to cancel its tasks and end.
type StopHost struct{ Cause string }

// ResetHost tells a host that is ready to cancel its tasks, whose JobMaster is lost, and to begin anew under another id.
// When no task is left, the host answers HostReady with this id. Everything that it has sent before is about the lost
// tasks.
type ResetHost struct{ Host ids.HostID }

func (HostHello) isMessage() {}
func (StartHost) isMessage() {}
func (SetMemory) isMessage() {}
func (StopHost) isMessage()  {}
func (ResetHost) isMessage() {}

// Messages of the control socket between a driver and the process that has started it: the client,
// or the ApplicationMaster.

// DriverHello is a driver's first message. It shows whether the versions of client and program
// match.
type DriverHello struct {
	ProtocolVersion int
}

// DriverStart answers DriverHello with the options for planning.
type DriverStart struct {
	Config map[string]string // parallelism.default and the -D options
	// Detached is true if Execute returns as soon as the job runs.
	Detached bool
	// Reach says how a driver in the cluster reaches files. Nil: the driver uses its own
	// environment.
	Reach *Reach
	// Accepted is the number of jobs of an earlier run of the driver that the cluster has accepted. As long as fewer jobs of
	// this run are accepted, the driver does not prepare a job before the cluster asks for it: see ExecuteJob.
	Accepted int
}

// Reach says how a process that was started in the cluster reaches its files.
type Reach struct {
	HadoopConf []byte // as hadoopconf marshals it
	User       string
	Tokens     Secret // as creds.Credentials.Marshal gives them
}

// ListingInput is sent each second while a driver lists the input of a job. Files is the number
// of files found so far. There is no answer.
type ListingInput struct{ Files int }

// DriverFailed says, instead of ExecuteJob, that planning failed before any job was executed.
// The text is for users.
type DriverFailed struct {
	Message string
	Stack   string
}

// ExecuteJob submits a JobGraph.
type ExecuteJob struct {
	Graph jobgraph.JobGraph
	// Unprepared is true if the driver has not looked at the job's inputs and outputs, so that the Graph has neither. Such
	// a graph only asks for the job that an earlier run of the driver has executed. If that was another one, or none, the
	// answer is PrepareJob.
	Unprepared bool
}

// PrepareJob answers ExecuteJob if the cluster needs the job's inputs and outputs. The driver executes the job again, with
// them, unless it cannot prepare the job.
type PrepareJob struct{}

// JobAccepted answers ExecuteJob once the cluster runs the job.
type JobAccepted struct {
	Job         ids.JobID
	Application string // application id
}

// CollectedRecords carries collected results to the driver, batch by batch, before JobEnded. A
// new Epoch voids earlier batches.
type CollectedRecords struct {
	Name    string // of the collect sink
	Epoch   int
	Records []byte
}

// JobEnded is the last answer to ExecuteJob. Failure is nil unless the job FAILED.
type JobEnded struct {
	Job      ids.JobID
	Status   JobStatus
	Duration time.Duration
	Counters map[string]int64
	Failure  *Failure
	Steps    []Step // of the job's start-up
}

func (DriverHello) isMessage()      {}
func (DriverStart) isMessage()      {}
func (ListingInput) isMessage()     {}
func (DriverFailed) isMessage()     {}
func (ExecuteJob) isMessage()       {}
func (PrepareJob) isMessage()       {}
func (JobAccepted) isMessage()      {}
func (CollectedRecords) isMessage() {}
func (JobEnded) isMessage()         {}
