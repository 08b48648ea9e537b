package dataflow

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/bobbin-yarn/bobbin/dataflow/operator"
	"github.com/bobbin-yarn/bobbin/dataflow/operator/broker"
)

// scripted is a subtask whose inputs are scripts. Await brings the next part of each.
type scripted struct {
	operator.Subtask
	inputs []*script
	awaits int
}

// script gives the records of one part after the other: "" ends the part.
type script struct{ rest []string }

func (s *script) Poll() (operator.Item, []byte, error) {
	switch {
	case len(s.rest) == 0:
		return operator.EndOfData, nil, nil
	case s.rest[0] == "":
		return operator.Nothing, nil, nil
	}
	record := s.rest[0]
	s.rest = s.rest[1:]
	return operator.Record, []byte(record), nil
}

func (s *scripted) Input(i int) operator.RecordReader { return s.inputs[i] }
func (s *scripted) Output(int) operator.RecordWriter  { return nil }
func (s *scripted) Metrics(int) operator.Metrics      { return nil }
func (s *scripted) Index() int                        { return 0 }
func (s *scripted) Parallelism() int                  { return 1 }

func (s *scripted) Memory(least, most int64) operator.Memory {
	account, _ := new(broker.Broker).Open(least, most)
	return account
}

var errAwaitsForever = errors.New("it waits, and nothing will come")

func (s *scripted) Await(context.Context) error {
	came := false
	for _, in := range s.inputs {
		if len(in.rest) > 0 && in.rest[0] == "" {
			in.rest, came = in.rest[1:], true
		}
	}
	if s.awaits++; !came {
		return errAwaitsForever
	}
	return nil
}

// sideBySide is an operator with two inputs, which records what it takes.
type sideBySide struct {
	idle
	took   []string
	ended  [2]bool
	wanted func(s *sideBySide, input int) bool
	own    int // elements of its own, after the end
}

func (s *sideBySide) wants(input int) bool { return s.wanted(s, input) }

func (s *sideBySide) event(input int, _ operator.Item) error {
	s.ended[input] = true
	s.took = append(s.took, fmt.Sprint("end ", input))
	return nil
}

func (s *sideBySide) produce() (progress, error) {
	if s.own == 0 || !s.ended[0] || !s.ended[1] {
		return done, nil
	}
	s.own--
	s.took = append(s.took, "own")
	return more, nil
}

// run runs an operator with two inputs as a vertex.
func (s *sideBySide) run(t *testing.T, inputs ...[]string) error {
	t.Helper()
	from := &port{receive: func(_ caller, down any) func([]byte) { return down.(func([]byte)) }}
	n := &node{name: "join", inputs: []connection{{from: from}, {from: from}}}
	n.attach = func(context.Context, *chain, any) (any, stage) {
		return func(record []byte) { s.took = append(s.took, string(record)) }, s
	}
	subtask := &scripted{}
	for _, in := range inputs {
		subtask.inputs = append(subtask.inputs, &script{in})
	}
	return task{&vertex{nodes: []*node{n}, inputs: n.inputs}}.Run(t.Context(), subtask)
}

// A join reads one input to its end before it looks at the other one. It would catch a record of an input that is held back, an end
// that comes before the last record, and elements of the operator's own that nobody asks for.
func TestAnInputCanBeHeldBack(t *testing.T) {
	t.Parallel()
	s := &sideBySide{own: 2, wanted: func(s *sideBySide, input int) bool { return input == 0 || s.ended[0] }}
	if err := s.run(t, []string{"a", "", "b", "", "", "c"}, []string{"x", "y", "", "z"}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"a", "b", "c", "end 0", "x", "y", "z", "end 1", "own", "own"}; !slices.Equal(s.took, want) {
		t.Errorf("%q, want %q", s.took, want)
	}
}

// Both inputs are read as their records come. It would catch a task that waits for one input while the other has records.
func TestInputsAreReadAsTheyCome(t *testing.T) {
	t.Parallel()
	s := &sideBySide{wanted: func(*sideBySide, int) bool { return true }}
	if err := s.run(t, []string{"", "a"}, []string{"x", "", "", "y"}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"x", "a", "end 0", "y", "end 1"}; !slices.Equal(s.took, want) {
		t.Errorf("%q, want %q", s.took, want)
	}
}

// An operator that wants no input at all must fail its task, which would hang without a word.
func TestAnOperatorWantsAnInput(t *testing.T) {
	t.Parallel()
	s := &sideBySide{wanted: func(*sideBySide, int) bool { return false }}
	if err := s.run(t, []string{"a"}, []string{"x"}); !errors.Is(err, errNothingWanted) {
		t.Errorf("error %v", err)
	}
}
