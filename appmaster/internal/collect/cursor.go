package collect

import (
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// A cursor is the number of a page's first batch. It names the epoch of the batch: the ApplicationMaster in which the
// job runs, and how often the collecting task was reset there. So a client that has read in another epoch begins again,
// whichever master it asks. No batch of one epoch has the number of another one.
//
//	 16 bits   20 bits  27 bits
//	┌─────────┬────────┬───────────────────────────────────────────┐
//	│ master  │ resets │ batch in the epoch, and one behind the last │
//	└─────────┴────────┴───────────────────────────────────────────┘
//	 msg.CollectPage.Epoch
const (
	epochSize  = 1 << 27 // no epoch has more batches than maxTotal bytes
	masterSize = 1 << 20 // epochs of one master
	maxResets  = masterSize - 1
	masters    = 1 << 16
)

// firstCursor is the number of the first batch in the epoch of a master. If there are more masters than fit into a
// cursor, the numbers begin again: no client has slept for so long.
func firstCursor(master ids.Epoch) int64 {
	return int64(master%masters) * masterSize * epochSize
}

// Nothing is an empty page at a cursor. It says nothing about what was or will be collected. 0 is a client's first
// cursor.
func Nothing(cursor int64) msg.CollectPage {
	return msg.CollectPage{Epoch: int(cursor / epochSize), Next: cursor}
}
