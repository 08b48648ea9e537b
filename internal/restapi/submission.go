package restapi

import (
	"time"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// JobSubmission is the body of POST /jobs: a planned job of a program that the session
// has.
type JobSubmission struct {
	Job     ids.JobID         `json:"jobId,omitempty"` // "": the session gives it one
	Graph   jobgraph.JobGraph `json:"graph"`
	Program ProgramID         `json:"program"`
	// Attached says that a client comes for what the job collects. Without it nothing is
	// kept of that.
	Attached bool `json:"attached"`
	// ClientHeartbeatTimeout is how long the client may be silent before the job is
	// cancelled, in ms; 0: for ever.
	ClientHeartbeatTimeout int64 `json:"clientHeartbeatTimeout,omitempty"`
}

// ClientTimeout is how long the client may be silent; 0: for ever.
func (j JobSubmission) ClientTimeout() time.Duration { return milliseconds(j.ClientHeartbeatTimeout) }

// JobSubmitted is the answer to POST /jobs; Flink's JobSubmitResponseBody.
type JobSubmitted struct {
	JobURL string `json:"jobUrl"` // path of the job
}

// ClientHeartbeat is the body of PATCH /jobs/{job}/clientHeartbeat; Flink's
// JobClientHeartbeatRequestBody.
type ClientHeartbeat struct {
	// ExpiredTimestamp is until when the job may go on by the client's clock. The session
	// counts the submission's time by its own instead.
	ExpiredTimestamp int64 `json:"expiredTimestamp"`
}
