package taskhost

import "github.com/bobbin-yarn/bobbin/internal/msg"

// maxJoined is the size up to which state changes go into one message together, in bytes. A change that is larger goes alone:
// msg.MaxWorkerMessage has room for it.
const maxJoined = 256 << 10

// joined combines the state changes of messages that follow each other, and divides messages of many
// changes: a failure has texts of up to 20 KiB.
func joined(batch []msg.Message) []msg.Message {
	all := make([]msg.Message, 0, len(batch))
	var changes []msg.TaskStateChange // not in all yet
	size := 0                         // of changes
	flush := func() {
		if len(changes) > 0 {
			all = append(all, msg.TaskStatesChanged{Changes: changes})
			changes, size = nil, 0
		}
	}
	for _, m := range batch {
		changed, is := m.(msg.TaskStatesChanged)
		if !is {
			flush()
			all = append(all, m)
			continue
		}
		for _, c := range changed.Changes {
			more := c.Size()
			if size+more > maxJoined {
				flush()
			}
			changes = append(changes, c)
			size += more
		}
	}
	flush()
	return all
}
