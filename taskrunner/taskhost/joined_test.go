package taskhost

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// TestStatesThatWaitGoTogether would catch one message for each of thousands of states, one message
// that is too long to send, and a state that is lost, repeated or out of order.
func TestStatesThatWaitGoTogether(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var batch []msg.Message
		next := 0
		for range rapid.IntRange(0, 8).Draw(t, "messages") {
			states := rapid.IntRange(0, maxJoined).Draw(t, "states") // 0: something else
			if states == 0 {
				batch = append(batch, msg.RequestSplit{Execution: ids.ExecutionAttemptID{Subtask: next}})
				next++
				continue
			}
			var m msg.TaskStatesChanged
			for range states {
				m.Changes = append(m.Changes, msg.TaskStateChange{Execution: ids.ExecutionAttemptID{Subtask: next}})
				next++
			}
			batch = append(batch, m)
		}
		all := joined(batch)
		var told []int
		previous := 0 // states in the message before
		for _, m := range all {
			changed, is := m.(msg.TaskStatesChanged)
			if !is {
				told = append(told, m.(msg.RequestSplit).Execution.Subtask)
				previous = 0
				continue
			}
			for _, c := range changed.Changes {
				told = append(told, c.Execution.Subtask)
			}
			if n := len(changed.Changes); n == 0 || n >= 2*maxJoined || previous > 0 && previous < maxJoined {
				t.Errorf("a message of %d states comes behind one of %d", n, previous)
			}
			previous = len(changed.Changes)
		}
		want := make([]int, next)
		for i := range want {
			want[i] = i
		}
		if !slices.Equal(told, want) {
			t.Errorf("told %v, want all %d in their order", told, next)
		}
	})
}
