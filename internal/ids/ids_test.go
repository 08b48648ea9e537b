package ids_test

import (
	"testing"

	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// TestIDsOfAttemptsAreRead would catch a name of a user's own, for example a label of a profile, that is taken for an attempt.
func TestIDsOfAttemptsAreRead(t *testing.T) {
	t.Parallel()
	want := ids.ExecutionAttemptID{Epoch: 2, Vertex: 0, Subtask: 1999, Attempt: 13}
	if got, is := ids.ParseExecutionAttemptID(want.String()); !is || got != want {
		t.Errorf("%s is read as %v, %t", want, got, is)
	}
	for _, text := range []string{"", "e1", "e1-v2-s3", "e1-v2-s3-a4-x", "e1-v2-s3-a4 ", "e01-v2-s3-a4", "e+1-v2-s3-a4", "e1-v2-s3-a99999999999999999999", "(others)"} {
		if got, is := ids.ParseExecutionAttemptID(text); is {
			t.Errorf("%q is read as %v", text, got)
		}
	}
}
