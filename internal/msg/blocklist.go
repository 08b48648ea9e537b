package msg

import (
	"time"

	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// Messages between a JobMaster and the ResourceManager, within the AM, about nodes
// that a job sets aside; Flink's blocklist.

// BlockedNode is a node on which a job could have no task host.
type BlockedNode struct {
	Node  string // its name as YARN knows it
	Cause string // for people, bounded by who blocks it
	// Until is when the block ends. Who blocked the node says so then by another
	// BlockNodes: to everybody else the time is for people.
	Until time.Time
}

// BlockNodes is the whole list of nodes from which a job wants no slots now; it
// replaces the last one. The ResourceManager grants the job no slot there, has no
// worker started there, and grants it what it lacks on other nodes; slots that the
// job holds stay its own.
type BlockNodes struct {
	Job       ids.JobID
	JobMaster ids.JobMasterID
	Nodes     []BlockedNode
}

// AllNodesBlocked says that a job lacks slots and has blocked every node that could
// have them. It is told once, and again after each BlockNodes or DeclareRequirements
// of the job while it is so.
type AllNodesBlocked struct{ Job ids.JobID }

func (BlockNodes) isMessage()      {}
func (AllNodesBlocked) isMessage() {}
