// Package connectortest tests implementations of the interfaces of package connector. TestSource and TestSink do what a job
// does with a source and a sink, also when attempts fail, masters change, and late processes go on. They return what breaks a
// rule, as errors that wrap a *Violation.
//
// A connector that passes works in a job; whether the system behind it keeps what it promises, only a run on it can show. Run
// the tests with -race, and check the goroutines of the test with go.uber.org/goleak. The package is for tests. It starts no
// goroutines.
package connectortest

import (
	"context"
	"fmt"
	"os"

	"github.com/bobbin-yarn/bobbin/dataflow/connector"
	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest"
	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/dataflow/operator"
)

// Rule is a rule of package connector.
type Rule string

// The rules of sources.
const (
	Splits       Rule = "a split travels as data, within its bounds"
	ExactlyOnce  Rule = "each element is in exactly one split"
	Repeatable   Rule = "a split gives the same elements in the same order whenever it is read"
	EndStays     Rule = "after io.EOF, Poll gives io.EOF again"
	Positions    Rule = "a reader goes on behind the element of a position, and Position changes nothing"
	Wakes        Rule = "a reader that has found nothing calls Wake when there is more"
	Cancellation Rule = "after the end of its context, a reader gives no error but the context's cause and io.EOF"
	Closing      Rule = "Close may be called at any time, and twice"
)

// The rules of sinks.
const (
	CheckIsFree   Rule = "Check accepts a new target, and changes nothing"
	Committables  Rule = "a committable is UTF-8, within its bound"
	NothingEarly  Rule = "nothing is visible before Commit"
	Result        Rule = "after Commit each element is visible once"
	OneAttempt    Rule = "only the attempts that are committed are visible, although others write, end, or go on late"
	TakenOver     Rule = "what a subtask has prepared in one epoch is committed in a later one"
	CommitRepeats Rule = "a repeated Commit succeeds, and changes nothing"
	Epochs        Rule = "if the job runs again in a later epoch, one result is visible in the end"
	Discarded     Rule = "nothing of a job without a Commit is visible, and the next job may write"
)

// Violation says that an implementation breaks a rule.
type Violation struct {
	Rule Rule
	Err  error // what was seen
}

func (v *Violation) Error() string { return fmt.Sprintf("%s: %v", v.Rule, v.Err) }

// Unwrap returns what was seen.
func (v *Violation) Unwrap() error { return v.Err }

// environment describes an attempt.
func environment(files filesystem.FileSystem, epoch, vertex, subtask, parallelism, attempt int, wake func()) connector.Environment {
	return connector.Environment{
		Job: "job-1", Epoch: epoch, Attempt: fmt.Sprintf("e%d-v%d-s%d-a%d", epoch, vertex, subtask, attempt), Index: subtask, Parallelism: parallelism,
		FileSystem: files, LocalDirs: []string{os.TempDir()}, Metrics: new(dataflowtest.Metrics).Operator("connector"),
		CachedFile: operator.CachedFiles(nil).Path, Wake: wake,
	}
}

// planning describes the planner.
func planning(files filesystem.FileSystem, parallelism int) connector.Planning {
	return connector.Planning{FileSystem: files, Parallelism: parallelism, Found: func(int) {}}
}

// texts gives the text of elements.
func texts[T any](text func(T) string, elements []T) []string {
	var all []string
	for _, e := range elements {
		all = append(all, text(e))
	}
	return all
}

// differ compares elements without their order.
func differ(want, got []string) error {
	missing := make(map[string]int, len(want))
	for _, e := range want {
		missing[e]++
	}
	for _, e := range got {
		missing[e]--
	}
	for _, e := range append(append([]string{}, want...), got...) {
		switch n := missing[e]; {
		case n > 0:
			return fmt.Errorf("of %d elements there are %d; %q is missing %d times", len(want), len(got), e, n)
		case n < 0:
			return fmt.Errorf("of %d elements there are %d; %q is there %d times too often", len(want), len(got), e, -n)
		}
	}
	return nil
}

// ended is the cause of a context that the tests end.
type ended struct{}

func (ended) Error() string { return "the test has ended the context" }

// withEnd makes a context that the caller ends with the error ended.
func withEnd(ctx context.Context) (_ context.Context, end func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	return ctx, func() { cancel(ended{}) }
}
