package dataflow_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/dataflow"
	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest"
	"github.com/bobbin-yarn/bobbin/dataflow/operator"
)

var (
	errList  = errors.New("the list has a wrong word")
	unlisted = dataflow.NewOutputTag[string]("unlisted")
	missed   = dataflow.NewCollector[string]("missed")
)

// listed keeps the words that a list has, and shows the others in a side output.
var listed = dataflow.Job("listed", func(p *dataflow.Plan, wrong string) error {
	list := dataflow.FlatMap(dataflow.ReadText(p, "/list"), words)
	all := dataflow.FlatMap(dataflow.ReadText(p, "/in"), words)
	kept := dataflow.ProcessWithBroadcast(all, list, func(s dataflow.Subtask, list [][]byte) (dataflow.Function[[]byte, string], error) {
		set := map[string]bool{}
		for _, word := range list {
			set[string(word)] = true
		}
		if set[wrong] {
			return dataflow.Function[[]byte, string]{}, errList
		}
		others := dataflow.Output(s, unlisted)
		opened := false
		return dataflow.Function[[]byte, string]{
			Open: func(context.Context) error { opened = true; return nil },
			Process: func(_ context.Context, word []byte, emit func(string)) error {
				switch {
				case !opened:
					return errors.New("an element comes before Open")
				case set[string(word)]:
					emit(string(word))
				default:
					others(string(word))
				}
				return nil
			},
			Finish: func(_ context.Context, emit func(string)) error { emit("end"); return nil },
		}, nil
	}, dataflow.Named("listed"), dataflow.Parallelism(3))
	dataflow.Collect(kept, reasons)
	dataflow.Collect(dataflow.SideOutput(kept, unlisted), missed)
	return nil
})

// It would catch a subtask that lacks a part of the list, or gets an element before the list is complete.
func TestEachSubtaskHasTheWholeList(t *testing.T) {
	t.Parallel()
	for parallelism := range 4 {
		files := map[string]string{"/list/1": "a b", "/list/2": "c\nd a", "/list/3": ""}
		var want, others []string
		for i := range 20 {
			files[fmt.Sprint("/in/", i)] = "a b c d e"
			want, others = append(want, "a", "b", "c", "d"), append(others, "e")
		}
		result := dataflowtest.Run(t, listed, "x", dataflowtest.Options{FileSystem: dataflowtest.NewFiles(files), Parallelism: parallelism + 1})
		got := sorted(collected(t, result, reasons))
		if want = sorted(append(want, "end", "end", "end")); !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
		if got := collected(t, result, missed); !slices.Equal(got, others) {
			t.Errorf("not in the list: %q, want %q", got, others)
		}
	}
}

// The list is bounded by memory, and the function that uses it may fail. Both must fail the job with their own errors.
func TestABroadcastThatFails(t *testing.T) {
	t.Parallel()
	run := func(list string) error {
		files := dataflowtest.NewFiles(map[string]string{"/list": list, "/in": "a"})
		_, err := dataflowtest.NewEnv(dataflowtest.Options{FileSystem: files, Memory: 1 << 20}).Execute(t.Context(), listed, "wrong")
		return err
	}
	var failure *dataflow.OperatorError
	if err := run("a wrong word"); !errors.Is(err, errList) || !errors.As(err, &failure) || failure.Operator != "listed" {
		t.Errorf("error %v, want that of the function", err)
	}
	for _, list := range []string{strings.Repeat("a ", 100_000), strings.Repeat("long", 300_000)} {
		if err := run(list); !errors.Is(err, dataflow.ErrBroadcastTooLarge) || !errors.Is(err, operator.ErrPermanent) {
			t.Errorf("error %v, want ErrBroadcastTooLarge", err)
		}
	}
}

// broadcastLines prints each line in each subtask of a map.
var broadcastLines = dataflow.Job("broadcast-lines", func(p *dataflow.Plan, _ string) error {
	lines := dataflow.Broadcast(dataflow.Map(dataflow.ReadText(p, "/in"), toString))
	dataflow.Collect(dataflow.Map(lines, strings.ToUpper, dataflow.Parallelism(2)), reasons)
	return nil
})

// It would catch an element that reaches only one subtask, also when producers and consumers are as many and could share a goroutine.
func TestBroadcastReachesEachSubtask(t *testing.T) {
	t.Parallel()
	for parallelism := range 3 {
		result := dataflowtest.Run(t, broadcastLines, "", dataflowtest.Options{
			FileSystem: dataflowtest.NewFiles(map[string]string{"/in": "a\nb\n"}), Parallelism: parallelism + 1,
		})
		if got, want := sorted(collected(t, result, reasons)), []string{"A", "A", "B", "B"}; !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
