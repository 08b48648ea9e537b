package jobgraph_test

import (
	"math"
	"testing"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
)

// It would catch a size below 0: the planner would broadcast an endless input.
func TestTheBytesOfASplitDoNotOverflow(t *testing.T) {
	s := jobgraph.Split{Size: 1, Parts: []jobgraph.Part{{Length: math.MaxInt64 - 1}, {Length: 5}}}
	if got := s.Bytes(); got != math.MaxInt64 {
		t.Errorf("%d bytes", got)
	}
}
