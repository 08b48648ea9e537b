package connectortest_test

import (
	"context"
	"errors"
	"io"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bobbin-yarn/bobbin/dataflow/connector"
	"github.com/bobbin-yarn/bobbin/dataflow/connector/connectortest"
	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest"
)

// changed is a source with other splits, or other readers.
type changed struct {
	Numbers
	splits func([]connector.Split) []connector.Split
	reader func(r *numberReader, e connector.Environment) connector.Reader[int64]
}

func (c changed) Enumerate(ctx context.Context, p connector.Planning) ([]connector.Split, error) {
	splits, err := c.Numbers.Enumerate(ctx, p)
	if c.splits != nil {
		splits = c.splits(splits)
	}
	return splits, err
}

func (c changed) NewReader(_ context.Context, e connector.Environment) (connector.Reader[int64], error) {
	if c.reader == nil {
		return &numberReader{}, nil
	}
	return c.reader(&numberReader{}, e), nil
}

// with is a reader with some methods of its own.
type with struct {
	*numberReader
	open     func(ctx context.Context)
	poll     func() (int64, bool, error)
	position func(dst []byte) []byte
	close    func() error
}

func (w *with) Open(ctx context.Context, split connector.Split, position []byte) error {
	err := w.numberReader.Open(ctx, split, position)
	if w.open != nil {
		w.open(ctx)
	}
	return err
}

func (w *with) Poll() (int64, bool, error) {
	if w.poll != nil {
		return w.poll()
	}
	return w.numberReader.Poll()
}

func (w *with) Position(dst []byte) []byte {
	if w.position != nil {
		return w.position(dst)
	}
	return w.numberReader.Position(dst)
}

func (w *with) Close() error {
	if w.close != nil {
		return w.close()
	}
	return w.numberReader.Close()
}

// brokenReaders are the mistakes in readers, by the rule that they break.
var brokenReaders = map[string]struct {
	rule   connectortest.Rule
	reader func(r *numberReader, e connector.Environment) connector.Reader[int64]
}{
	"it does not end": {connectortest.ExactlyOnce, func(r *numberReader, _ connector.Environment) connector.Reader[int64] {
		return &with{numberReader: r, poll: func() (int64, bool, error) { return 1, true, nil }}
	}},
	"it loses the last element": {connectortest.ExactlyOnce, func(r *numberReader, _ connector.Environment) connector.Reader[int64] {
		return &with{numberReader: r, open: func(context.Context) { r.End-- }}
	}},
	"a split is read backwards by every second reader": {connectortest.Repeatable, func() func(r *numberReader, _ connector.Environment) connector.Reader[int64] {
		readers := 0
		return func(r *numberReader, _ connector.Environment) connector.Reader[int64] {
			if readers++; readers%2 == 1 {
				return r
			}
			return &with{numberReader: r, poll: func() (int64, bool, error) {
				if r.Next >= r.End {
					return 0, false, io.EOF
				}
				r.End--
				return r.End, true, nil
			}}
		}
	}()},
	"the end does not stay": {connectortest.EndStays, func(r *numberReader, _ connector.Environment) connector.Reader[int64] {
		w := &with{numberReader: r}
		ended := false
		w.open = func(context.Context) { ended = false }
		w.poll = func() (int64, bool, error) {
			if ended {
				return 0, false, errors.New("the split is closed")
			}
			n, found, err := r.Poll()
			ended = err != nil
			return n, found, err
		}
		return w
	}},
	"the position is that of the last element": {connectortest.Positions, func(r *numberReader, _ connector.Environment) connector.Reader[int64] {
		return &with{numberReader: r, position: func(dst []byte) []byte { return strconv.AppendInt(dst, r.Next-1, 10) }}
	}},
	"the position begins at the position": {connectortest.Positions, func(r *numberReader, _ connector.Environment) connector.Reader[int64] {
		begin := int64(0)
		return &with{
			numberReader: r, open: func(context.Context) { begin = r.Next },
			position: func(dst []byte) []byte {
				if begin%5 == 0 { // right for a split from its beginning
					return strconv.AppendInt(dst, r.Next, 10)
				}
				return strconv.AppendInt(dst, r.Next-begin, 10)
			},
		}
	}},
	"the position is not appended": {connectortest.Positions, func(r *numberReader, _ connector.Environment) connector.Reader[int64] {
		return &with{numberReader: r, position: func([]byte) []byte { return r.Position(nil) }}
	}},
	"to ask for the position moves it": {connectortest.Positions, func(r *numberReader, _ connector.Environment) connector.Reader[int64] {
		return &with{numberReader: r, position: func(dst []byte) []byte {
			r.Next = min(r.Next+1, r.End)
			return strconv.AppendInt(dst, r.Next-1, 10)
		}}
	}},
	"it finds nothing and does not wake the task": {connectortest.Wakes, func(r *numberReader, _ connector.Environment) connector.Reader[int64] {
		return &with{numberReader: r, poll: func() (int64, bool, error) { return 0, false, nil }}
	}},
	"its error hides the cause": {connectortest.Cancellation, func(r *numberReader, _ connector.Environment) connector.Reader[int64] {
		w := &with{numberReader: r}
		canceled := func() bool { return false }
		w.open = func(ctx context.Context) { canceled = func() bool { return ctx.Err() != nil } }
		w.poll = func() (int64, bool, error) {
			if canceled() {
				return 0, false, errors.New("connection lost")
			}
			return r.Poll()
		}
		return w
	}},
	"the second close fails": {connectortest.Closing, func(r *numberReader, _ connector.Environment) connector.Reader[int64] {
		closed := false
		return &with{numberReader: r, close: func() error {
			if closed {
				return errors.New("closed already")
			}
			closed = true
			return nil
		}}
	}},
}

// It would catch a kit that finds nothing.
func TestBrokenReadersAreFound(t *testing.T) {
	t.Parallel()
	for name, broken := range brokenReaders {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantViolation(t, broken.rule, changed{Numbers: Numbers{N: 40}, reader: broken.reader})
		})
	}
}

// wantViolation checks a source. In the bubble, a reader that nobody wakes costs no time.
func wantViolation(t *testing.T, rule connectortest.Rule, source connector.Source[int64]) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		err := connectortest.TestSource(ctx, connectortest.Source[int64]{New: func() connector.Source[int64] { return source }, Want: below(40)})
		if rules := violated(err); len(rules) == 0 || rules[0] != rule {
			t.Errorf("error %v, want one about %q", err, rule)
		}
	})
}

func TestBrokenSplitsAreFound(t *testing.T) {
	t.Parallel()
	for name, broken := range map[string]struct {
		rule   connectortest.Rule
		splits func([]connector.Split) []connector.Split
	}{
		"too much data": {connectortest.Splits, func(s []connector.Split) []connector.Split {
			s[1].Data = make([]byte, connector.MaxSplitData+1)
			return s
		}},
		"one is missing":     {connectortest.ExactlyOnce, func(s []connector.Split) []connector.Split { return s[1:] }},
		"one is there twice": {connectortest.ExactlyOnce, func(s []connector.Split) []connector.Split { return append(s, s[0]) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantViolation(t, broken.rule, changed{Numbers: Numbers{N: 40}, splits: broken.splits})
		})
	}
}

// remembering is a source that keeps in the driver what its readers need.
type remembering struct {
	n int64
	Numbers
}

func (r *remembering) Enumerate(ctx context.Context, p connector.Planning) ([]connector.Split, error) {
	r.N = r.n
	return r.Numbers.Enumerate(ctx, p)
}

func (r *remembering) NewReader(context.Context, connector.Environment) (connector.Reader[int64], error) {
	if r.N == 0 {
		return nil, errors.New("the source does not know its numbers")
	}
	return &numberReader{}, nil
}

// It would catch a kit whose readers share the source with the planner.
func TestReadersAreInAnotherProcess(t *testing.T) {
	t.Parallel()
	err := connectortest.TestSource(t.Context(), connectortest.Source[int64]{
		New: func() connector.Source[int64] { return &remembering{n: 40} }, Want: below(40),
	})
	if err == nil {
		t.Error("no error")
	}
}

// queue is a source whose numbers come later, from a goroutine.
type queue struct{ Numbers }

func (q queue) NewReader(_ context.Context, e connector.Environment) (connector.Reader[int64], error) {
	return &queueReader{wake: e.Wake}, nil
}

// queueReader asks for a number, finds nothing, and wakes its task when the number is there.
type queueReader struct {
	numberReader
	wake    func()
	asked   bool
	asking  sync.WaitGroup
	arrived chan struct{} // closed when the number is there
}

func (r *queueReader) Open(ctx context.Context, split connector.Split, position []byte) error {
	r.asked = false
	return r.numberReader.Open(ctx, split, position)
}

func (r *queueReader) Poll() (int64, bool, error) {
	if r.Next >= r.End {
		return 0, false, io.EOF
	}
	if !r.asked {
		r.asked, r.arrived = true, make(chan struct{})
		r.asking.Go(func() {
			close(r.arrived)
			r.wake()
		})
	}
	select {
	case <-r.arrived:
		r.asked = false
		return r.numberReader.Poll()
	default:
		return 0, false, nil
	}
}

func (r *queueReader) Close() error {
	r.asking.Wait()
	return nil
}

// It would catch a task that does not go on after Wake: the test would not end.
func TestASourceMayFindNothing(t *testing.T) {
	t.Parallel()
	err := connectortest.TestSource(t.Context(), connectortest.Source[int64]{
		New: func() connector.Source[int64] { return queue{Numbers{N: 40}} }, Want: below(40),
	})
	if err != nil {
		t.Error(err)
	}
	dataflowtest.Run(t, queued, t.Name(), dataflowtest.Options{Parallelism: 2})
	wantSquares(t, t.Name())
}
