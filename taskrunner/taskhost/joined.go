package taskhost

import "github.com/bobbin-yarn/bobbin/internal/msg"

const (
	// maxJoined is the size up to which state changes go into one message together, in bytes. A
	// change that is larger goes alone: msg.MaxWorkerMessage has room for it.
	maxJoined = 256 << 10
	// changeSize is the most that a change takes in a message without its texts, counters and users' metrics,
	// in bytes; countSize that of a counter without its name, and partitionSize that of a partition.
	changeSize, countSize, partitionSize = 512, 16, 48
)

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
			more := sizeOf(c)
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

// sizeOf estimates the most that a change takes in a message, in bytes.
func sizeOf(c msg.TaskStateChange) int {
	size := changeSize + c.User.WireSize() + len(c.Partitions)*partitionSize
	if c.Failure != nil {
		size += len(c.Failure.Message) + len(c.Failure.Stack)
	}
	for name := range c.Counters {
		size += countSize + len(name)
	}
	return size
}
