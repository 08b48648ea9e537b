package bobbin

import (
	"fmt"
	"testing"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
)

// TestTheMarkNamesTheProtocolVersion would catch programs that the client of the same release refuses.
func TestTheMarkNamesTheProtocolVersion(t *testing.T) {
	t.Parallel()
	if want := fmt.Sprintf("<bobbin sdk protocol version=%d>", jobgraph.ProtocolVersion); mark != want {
		t.Errorf("the mark is %q, want %q", mark, want)
	}
}
