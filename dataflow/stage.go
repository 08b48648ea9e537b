package dataflow

import "github.com/bobbin-yarn/bobbin/dataflow/operator"

// stage is an operator in one attempt of a subtask, beside the function that takes its elements. Only the goroutine of the task
// calls it. An operator embeds idle for what it does not need.
type stage interface {
	// open is called once, before the first element. The operators behind this one are open by then.
	open() error
	// wants reports whether the task may read this input now. The task asks again after each burst of records and each event.
	// Only the first operator of a vertex can hold an input back, and only if something else will let it read it later.
	wants(input int) bool
	// event tells what came between the elements of an input. All elements before it were taken.
	event(input int, e operator.Item) error
	// produce emits elements that come from no element of the input, such as a result at the end of the data. It is called
	// after each event, and for a source from the beginning. One call does a bounded part, so that the task can be cancelled
	// between two calls. Only a source may be blocked.
	produce() (progress, error)
	// snapshot appends the operator's state, from which restore goes on, before the first element and after open. No batch job
	// takes a snapshot.
	snapshot(dst []byte) ([]byte, error)
	restore(state []byte) error
	// close is called once, at the end of the attempt, also after an error.
	close() error
}

// progress is what a stage says of its own elements.
type progress int

const (
	done    progress = iota // there are no more for now; of a source: at all
	more                    // call again
	blocked                 // call again after Subtask.Await
)

// idle is a stage that does nothing.
type idle struct{}

func (idle) open() error                         { return nil }
func (idle) wants(int) bool                      { return true }
func (idle) event(int, operator.Item) error      { return nil }
func (idle) produce() (progress, error)          { return done, nil }
func (idle) snapshot(dst []byte) ([]byte, error) { return dst, nil }
func (idle) restore([]byte) error                { return nil }
func (idle) close() error                        { return nil }

// atEnd is a stage that does one thing at the end of its input.
type atEnd struct {
	idle
	end func() error
}

func (s atEnd) event(_ int, e operator.Item) error {
	if e != operator.EndOfData {
		return nil
	}
	return s.end()
}
