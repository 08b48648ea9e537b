package msg

import (
	"time"

	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// Messages between a JobMaster and the ResourceManager, within the AM, about nodes
// that a job sets aside; Flink's blocklist.

// BlockedNode is a node on which a job could not start a task host.
type BlockedNode struct {
	Node  string // its name in YARN
	Cause string // for users; the sender bounds its length
	// Until is the time at which the block ends, for display. The JobMaster sends
	// another BlockNodes then.
	Until time.Time
}

// BlockNodes is the complete list of nodes that a job has blocked; it replaces the
// last one. The ResourceManager grants the job no slots on them and starts no
// workers there for it. It grants the missing slots on other nodes. The job keeps
// the slots that it holds.
type BlockNodes struct {
	Job       ids.JobID
	JobMaster ids.JobMasterID
	Nodes     []BlockedNode
}

// AllNodesBlocked says that a job lacks slots and has blocked every node that could
// have them. It is sent once, and again after each BlockNodes or DeclareRequirements
// of the job while this lasts.
type AllNodesBlocked struct{ Job ids.JobID }

func (BlockNodes) isMessage()      {}
func (AllNodesBlocked) isMessage() {}
