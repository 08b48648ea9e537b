package dataflow

import (
	"errors"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/dataflow/connector"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
)

// A job must not write for hours, and find out at its end that the master cannot keep its committables. It would catch a subtask that
// reports more than its part, and a bound for all that its subtasks can exceed together.
func TestACommittableHasItsPartOfTheRoom(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		bytes, parallelism int
		want               string
	}{
		{0, 1, ""},
		{1024, 1, ""},
		{1025, 1, "it has 1025 bytes, at most 1024 are allowed"},
		{1024, 2048, ""},
		{1024, 2049, "set a lower Parallelism: it has 1024 bytes, at most 1023 are allowed for each of 2049 subtasks"},
		{64, jobgraph.MaxParallelism, ""},
		{65, jobgraph.MaxParallelism, "at most 64"},
	} {
		err := storable(strings.Repeat("x", c.bytes), c.parallelism)
		if c.want == "" && (err != nil || c.bytes*c.parallelism > connector.MaxCommittables) {
			t.Errorf("%d bytes of %d subtasks: error %v", c.bytes, c.parallelism, err)
		}
		if c.want != "" && (!errors.Is(err, connector.ErrCommittable) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%d bytes of %d subtasks: error %v, want %q", c.bytes, c.parallelism, err, c.want)
		}
	}
}
