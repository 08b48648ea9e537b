package restapi

import (
	"time"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// JobSubmission is the body of POST /jobs: a planned job of a program in the session.
type JobSubmission struct {
	Job     ids.JobID         `json:"jobId,omitempty"` // "": the session chooses one
	Graph   jobgraph.JobGraph `json:"graph"`
	Program ProgramID         `json:"program"`
	// Attached is true if a client will read the collected results. Otherwise the session does not
	// keep them.
	Attached bool `json:"attached"`
	// ClientHeartbeatTimeout is how long the client may be silent before the session cancels the
	// job, in ms; 0: forever.
	ClientHeartbeatTimeout int64 `json:"clientHeartbeatTimeout,omitempty"`
}

// ClientTimeout returns how long the client may be silent; 0: forever.
func (j JobSubmission) ClientTimeout() time.Duration { return milliseconds(j.ClientHeartbeatTimeout) }

// JobSubmitted is the answer to POST /jobs; Flink's JobSubmitResponseBody.
type JobSubmitted struct {
	JobURL string `json:"jobUrl"` // path of the job
}

// ClientHeartbeat is the body of PATCH /jobs/{job}/clientHeartbeat; Flink's
// JobClientHeartbeatRequestBody.
type ClientHeartbeat struct {
	// ExpiredTimestamp is the time until which the job may run, by the client's clock. The session
	// ignores it and counts the timeout of the submission by its own clock.
	ExpiredTimestamp int64 `json:"expiredTimestamp"`
}
