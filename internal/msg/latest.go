package msg

import (
	"time"

	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// Latest returns a name for messages of which only the newest counts, because it contains
// everything that an older one says, or takes it in (see Join). An outbox then removes a waiting older message and puts
// the newest one at the end. Latest returns "" for other messages. BlockNodes is one of
// these although it replaces older ones: it must not move behind the DeclareRequirements
// that follows it, or the ResourceManager would grant slots on a node that the job has just
// blocked. A job sends few of them.
func Latest(m Message) string {
	switch m := m.(type) {
	case Heartbeat, SlotReport, UpdateTokens, SetMemory, TasksProgress, AllNodesBlocked, DeclareRequirements:
		return Kind(m)
	case NotEnoughResources:
		return Kind(m) + m.Profile.key()
	default:
		return ""
	}
}

// MaxProgress bounds the tasks of one TasksProgress. MaxWorkerMessage has room for them.
const MaxProgress = 1 << 12

// UserMetricsRefresh is how often a host reports users' metrics that have not changed. A report may find no room, in a message or
// in the JobMaster, and a later one may.
const UserMetricsRefresh = time.Minute

// ProgressInterval is the time between two reports of the progress of a job's tasks by one host: a
// millisecond for each task of the job, at least 1 s and at most 10 s, which is the default of
// heartbeat.interval. So all hosts of a job together send at most a thousand reports in a second, unless
// there are more than ten thousand.
func ProgressInterval(tasks int) time.Duration {
	return min(max(time.Duration(tasks)*time.Millisecond, time.Second), 10*time.Second)
}

// Join gives the message to send in place of two messages of one name (see Latest), of which the older
// one still waits. That is the newer one; a TasksProgress also keeps what the older one says about other
// tasks, and users' metrics of which the newer one says nothing, as far as they have room. The host
// reports metrics that are lost here again: see UserMetricsRefresh.
func Join(older, newer Message) Message {
	o, is := older.(TasksProgress)
	if !is {
		return newer
	}
	n := newer.(TasksProgress)
	all := append([]TaskProgress(nil), n.Tasks...)
	told := make(map[ids.ExecutionAttemptID]int, len(n.Tasks)) // places in all
	size := 0
	for i, t := range n.Tasks {
		told[t.Execution] = i
		size += t.User.WireSize()
	}
	for _, t := range o.Tasks {
		if more := t.User.WireSize(); size+more > MaxProgressMetrics {
			t.User = nil
		}
		switch at, twice := told[t.Execution]; {
		case !twice && len(all) < MaxProgress:
			all = append(all, t)
		case twice && all[at].User == nil:
			all[at].User = t.User
		default:
			continue
		}
		size += t.User.WireSize()
	}
	return TasksProgress{Tasks: all}
}
