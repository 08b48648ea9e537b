package dataflow

import (
	"testing"

	"github.com/bobbin-yarn/bobbin/dataflow/operator"
)

// oneCounter is a subtask with one counter.
type oneCounter struct {
	operator.Subtask
	counter operator.Counter
}

func (o *oneCounter) Metrics(int) operator.Metrics { return only{counter: &o.counter} }

// only has the metrics of a subtask with one counter.
type only struct {
	operator.Metrics
	counter *operator.Counter
}

func (o only) Counter(string) *operator.Counter { return o.counter }

// TestCountAsIsVisibleMeanwhile would catch a number of elements that appears only at the end of a task, and one that is wrong
// at its end.
func TestCountAsIsVisibleMeanwhile(t *testing.T) {
	t.Parallel()
	s := &oneCounter{}
	c := &chain{subtask: s}
	passed := int64(0)
	count := counted(c, "n", func(int) { passed++ })
	for n := range int64(10_000) {
		count(0)
		got, most := s.counter.Value(), n+1
		if least := most - min(most/2, countBatch-1); got < least || got > most {
			t.Fatalf("after %d elements the counter is %d, want at least %d", most, got, least)
		}
	}
	if err := c.close(); err != nil || s.counter.Value() != passed || passed != 10_000 {
		t.Errorf("error %v, %d counted, %d passed", err, s.counter.Value(), passed)
	}
}
