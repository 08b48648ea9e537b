package restapi

import "github.com/bobbin-yarn/bobbin/internal/msg"

// ClusterOverview is the answer to GET /overview; Flink's ClusterOverviewWithVersion.
type ClusterOverview struct {
	TaskManagers   int    `json:"taskmanagers"`
	SlotsTotal     int    `json:"slots-total"`
	SlotsAvailable int    `json:"slots-available"`
	JobsRunning    int    `json:"jobs-running"`
	JobsFinished   int    `json:"jobs-finished"`
	JobsCancelled  int    `json:"jobs-cancelled"`
	JobsFailed     int    `json:"jobs-failed"`
	Version        string `json:"flink-version"`
	Commit         string `json:"flink-commit"`
}

// Count adds a job in this state.
func (o *ClusterOverview) Count(status msg.JobStatus) {
	switch status {
	case msg.JobFinished:
		o.JobsFinished++
	case msg.JobCanceled:
		o.JobsCancelled++
	case msg.JobFailed:
		o.JobsFailed++
	default:
		o.JobsRunning++
	}
}

// DashboardConfiguration is the answer to GET /config; Flink's class of that name.
type DashboardConfiguration struct {
	RefreshInterval int64             `json:"refresh-interval"`
	TimezoneName    string            `json:"timezone-name"`
	TimezoneOffset  int64             `json:"timezone-offset"`
	Version         string            `json:"flink-version"`
	Revision        string            `json:"flink-revision"`
	Features        DashboardFeatures `json:"features"`
}

// DashboardFeatures are DashboardConfiguration.Features.
type DashboardFeatures struct {
	WebSubmit  bool `json:"web-submit"`
	WebCancel  bool `json:"web-cancel"`
	WebRescale bool `json:"web-rescale"`
	WebHistory bool `json:"web-history"`
	// WebLogs says that a history server leads to the logs of workers: GET /jobs/{job}/taskmanagers/{worker}/log. Flink has no such
	// feature.
	WebLogs bool `json:"web-logs,omitempty"`
	// WebMasterLogs is WebLogs for ApplicationMasters: GET /jobs/{job}/jobmanager/log.
	WebMasterLogs bool `json:"web-master-logs,omitempty"`
}

// ConfigEntry is one option in the answer to GET /jobmanager/config, which is a list; Flink's
// ConfigurationInfoEntry.
type ConfigEntry struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// EnvironmentInfo is the answer to GET /jobmanager/environment; Flink's class of that name.
type EnvironmentInfo struct {
	JVM       JVMInfo  `json:"jvm"`
	Classpath []string `json:"classpath"` // always empty
	// Container is where YARN runs the ApplicationMaster: a history server finds its logs by that. Flink has no such field. nil: it
	// is not known.
	Container *MasterContainer `json:"container,omitempty"`
}

// MasterContainer is the container of an ApplicationMaster.
type MasterContainer struct {
	ID   string `json:"id"`
	Node string `json:"node"` // of the NodeManager, host:port as in YARN's NodeId
	User string `json:"user"` // in whose name the application runs
}

// JVMInfo is Flink's EnvironmentInfo.JVMInfo, about Go's runtime.
type JVMInfo struct {
	Version string   `json:"version"`
	Arch    string   `json:"arch"`
	Options []string `json:"options"`
}

// DataSets is the answer to GET /datasets; Flink's ClusterDataSetListResponseBody.
type DataSets struct {
	DataSets []struct{} `json:"dataSets"`
}

// TriggerResponse is the answer to a request that starts an asynchronous operation; Flink's class
// of that name.
type TriggerResponse struct {
	ID string `json:"request-id"`
}

// AsynchronousResult is the state of an asynchronous operation; Flink's
// AsynchronousOperationResult.
type AsynchronousResult struct {
	Status    QueueStatus      `json:"status"`
	Operation *OperationResult `json:"operation,omitempty"` // once it has ended
}

// OperationResult is the result of an operation; Flink's AsynchronousOperationInfo.
type OperationResult struct {
	FailureCause *FailureCause `json:"failure-cause,omitempty"`
}

// QueueStatus is Flink's class of that name.
type QueueStatus struct {
	ID string `json:"id"` // IN_PROGRESS or COMPLETED
}

// FailureCause is what Flink's SerializedThrowableSerializer writes.
type FailureCause struct {
	Class      string `json:"class"`
	StackTrace string `json:"stack-trace"`
	Serialized []byte `json:"serialized-throwable"` // Java's object: always empty, never null
}

// Blocklist is the answer to GET /blocklist: the nodes that jobs have blocked, by name.
type Blocklist struct {
	Nodes []BlockedNode `json:"nodes"`
}

// BlockedNode is a node that some job has blocked: the job takes no slots there.
type BlockedNode struct {
	Node  string `json:"node"`
	Cause string `json:"cause"`
	Until int64  `json:"until"`
}
