package taskhost

import "github.com/bobbin-yarn/bobbin/internal/msg"

// maxJoined is the number of state changes after which a message is full, and the next ones go into
// another message: failures have texts of up to 20 KiB.
const maxJoined = 256

// joined combines messages of state changes that follow each other.
func joined(batch []msg.Message) []msg.Message {
	all := make([]msg.Message, 0, len(batch))
	var changes []msg.TaskStateChange // not in all yet
	for i, m := range batch {
		changed, is := m.(msg.TaskStatesChanged)
		changes = append(changes, changed.Changes...)
		last := i == len(batch)-1
		if len(changes) > 0 && (!is || last || len(changes) >= maxJoined) {
			all = append(all, msg.TaskStatesChanged{Changes: changes})
			changes = nil
		}
		if !is {
			all = append(all, m)
		}
	}
	return all
}
