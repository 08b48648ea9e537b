package connectortest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/bobbin-yarn/bobbin/dataflow/connector"
	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest"
	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
)

// Source describes a source to TestSource.
type Source[T any] struct {
	// New makes the source as a plan function does. Each call stands for a process, so the values must share nothing that
	// processes do not share.
	New func() connector.Source[T]
	// Want are all elements, in any order.
	Want []T
	// Text tells elements apart. The default is fmt.Sprint.
	Text func(T) string
	// FileSystem is that of the job. The default is an empty one in memory.
	FileSystem filesystem.FileSystem
	// Parallelism is that of the source, 2 by default.
	Parallelism int
}

// mostStops bounds the positions that are tried in a split.
const mostStops = 32

// TestSource checks a source. The time grows with the square of the elements in a split, up to 32 times their number. ctx
// bounds how long a reader may find nothing.
func TestSource[T any](ctx context.Context, s Source[T]) error {
	if s.FileSystem == nil {
		s.FileSystem = dataflowtest.NewFiles(nil)
	}
	if s.Text == nil {
		s.Text = func(v T) string { return fmt.Sprint(v) }
	}
	if s.Parallelism == 0 {
		s.Parallelism = 2
	}
	t := sourceTest[T]{s}
	splits, err := t.enumerate(ctx)
	if err != nil {
		return err
	}
	read, err := t.readAll(ctx, splits)
	if err != nil {
		return err
	}
	var faults []error
	for i, split := range splits {
		for _, check := range []func(context.Context, connector.Split, []string) error{t.again, t.positions, t.cancellation, t.closing} {
			if err := check(ctx, split, read[i]); err != nil {
				faults = append(faults, fmt.Errorf("split %d of %d: %w", i, len(splits), err))
			}
		}
	}
	return errors.Join(faults...)
}

type sourceTest[T any] struct{ Source[T] }

// enumerate returns the splits as another process gets them.
func (t sourceTest[T]) enumerate(ctx context.Context) ([]connector.Split, error) {
	splits, err := t.New().Enumerate(ctx, planning(t.FileSystem, t.Parallelism))
	if err != nil {
		return nil, fmt.Errorf("enumerate: %w", err)
	}
	var sent []connector.Split
	for i := range splits {
		if err := splits[i].Validate(); err != nil {
			return nil, &Violation{Splits, fmt.Errorf("split %d of %d: %w", i, len(splits), err)}
		}
	}
	text, err := json.Marshal(splits)
	if err == nil {
		err = json.Unmarshal(text, &sent)
	}
	if err != nil {
		return nil, &Violation{Splits, err}
	}
	return sent, nil
}

// reading is a reader and its task.
type reading[T any] struct {
	sourceTest[T]
	connector.Reader[T]
	wake chan struct{} // has a token after Wake
}

// reader makes a reader in a process of its own.
func (t sourceTest[T]) reader(ctx context.Context) (reading[T], error) {
	r := reading[T]{sourceTest: t, wake: make(chan struct{}, 1)}
	var err error
	r.Reader, err = t.New().NewReader(ctx, environment(t.FileSystem, 1, 0, 0, t.Parallelism, 0, func() {
		select {
		case r.wake <- struct{}{}:
		default:
		}
	}))
	if err != nil {
		return r, fmt.Errorf("new reader: %w", err)
	}
	return r, nil
}

// next gives the next element, or none at the end of the split.
func (r reading[T]) next(ctx context.Context) (text string, some bool, err error) {
	for {
		element, found, err := r.Poll()
		switch {
		case err == io.EOF: //nolint:errorlint // as Poll says
			return "", false, nil
		case err != nil:
			return "", false, fmt.Errorf("poll: %w", err)
		case found:
			_ = r.At()
			return r.Text(element), true, nil
		}
		select {
		case <-r.wake:
		case <-ctx.Done():
			return "", false, &Violation{Wakes, context.Cause(ctx)}
		}
	}
}

// read reads to the end of the split, but at most this many elements.
func (r reading[T]) read(ctx context.Context, most int) ([]string, error) {
	var all []string
	for len(all) < most {
		text, some, err := r.next(ctx)
		if err != nil || !some {
			return all, err
		}
		all = append(all, text)
	}
	return all, nil
}

// readAll reads all splits with one reader, as a subtask does.
func (t sourceTest[T]) readAll(ctx context.Context, splits []connector.Split) ([][]string, error) {
	r, err := t.reader(ctx)
	if err != nil {
		return nil, err
	}
	read := make([][]string, len(splits))
	for i, split := range splits {
		err := r.Open(ctx, split, nil)
		if err == nil {
			read[i], err = r.read(ctx, len(t.Want)+1) // a reader without an end gives one too many
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("split %d of %d: %w", i, len(splits), err), r.Close())
		}
	}
	if err := differ(texts(t.Text, t.Want), slices.Concat(read...)); err != nil {
		return nil, errors.Join(&Violation{ExactlyOnce, err}, r.Close())
	}
	return read, r.Close()
}

// again reads a split a second time, as the next attempt of a subtask does.
func (t sourceTest[T]) again(ctx context.Context, split connector.Split, want []string) error {
	r, err := t.reader(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }()
	if err := r.Open(ctx, split, nil); err != nil {
		return &Violation{Repeatable, fmt.Errorf("open: %w", err)}
	}
	got, err := r.read(ctx, len(want)+1)
	if err != nil || !slices.Equal(want, got) {
		return &Violation{Repeatable, fmt.Errorf("it gave %q, and now %q, error %w", want, got, err)}
	}
	for range 2 {
		if _, found, err := r.Poll(); found || err != io.EOF { //nolint:errorlint // as Poll says
			return &Violation{EndStays, fmt.Errorf("it finds an element: %v, error %w", found, err)}
		}
	}
	return nil
}

// positions stops at elements of a split, and goes on there.
func (t sourceTest[T]) positions(ctx context.Context, split connector.Split, all []string) error {
	step := max(1, (len(all)+mostStops-1)/mostStops)
	for stop := 0; stop <= len(all); stop += step {
		if err := t.position(ctx, split, all, stop); err != nil {
			return &Violation{Positions, fmt.Errorf("after %d of %d elements: %w", stop, len(all), err)}
		}
	}
	return nil
}

func (t sourceTest[T]) position(ctx context.Context, split connector.Split, all []string, stop int) error {
	first, err := t.reader(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = first.Close() }()
	if err := first.Open(ctx, split, nil); err != nil {
		return err
	}
	if _, err := first.read(ctx, stop); err != nil {
		return err
	}
	position, err := first.position()
	if err != nil {
		return err
	}
	if rest, err := first.read(ctx, len(all)+1); err != nil || !slices.Equal(all[stop:], rest) {
		return fmt.Errorf("the reader itself goes on with %q, want %q, error %w", rest, all[stop:], err)
	}
	second, err := t.reader(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = second.Close() }()
	if stop == len(all) { // the reader has given io.EOF meanwhile
		return second.goesOn(ctx, split, first.Position([]byte{}), nil)
	}
	// The position, and then the one that follows it.
	for want := all[stop:]; ; want = want[1:] {
		if err := second.goesOn(ctx, split, position, want); err != nil || len(want) < len(all)-stop {
			return err
		}
		if err := second.Open(ctx, split, position); err != nil {
			return err
		}
		if _, err := second.read(ctx, 1); err != nil {
			return err
		}
		if position, err = second.position(); err != nil {
			return err
		}
	}
}

// goesOn opens a split at a position, and then at the position of that.
func (r reading[T]) goesOn(ctx context.Context, split connector.Split, position []byte, want []string) error {
	for range 2 {
		if err := r.Open(ctx, split, position); err != nil {
			return fmt.Errorf("open at %q: %w", position, err)
		}
		same, err := r.position()
		if err != nil {
			return err
		}
		if rest, err := r.read(ctx, len(want)+1); err != nil || !slices.Equal(want, rest) {
			return fmt.Errorf("a reader at %q goes on with %q, want %q, error %w", position, rest, want, err)
		}
		position = same
	}
	return nil
}

// position returns a position, and checks that it is appended.
func (r reading[T]) position() ([]byte, error) {
	const before = "before"
	position, is := bytes.CutPrefix(r.Position([]byte(before)), []byte(before))
	if !is {
		return nil, errors.New("method Position changes what it should append to")
	}
	return append([]byte{}, position...), nil // not nil, which is the beginning
}

// cancellation ends the context within a split.
func (t sourceTest[T]) cancellation(ctx context.Context, split connector.Split, all []string) error {
	r, err := t.reader(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }()
	ctx, end := withEnd(ctx)
	defer end()
	if err := r.Open(ctx, split, nil); err != nil {
		return err
	}
	if _, err := r.read(ctx, len(all)/2); err != nil {
		return err
	}
	end()
	for range len(all) + 1 {
		_, found, err := r.Poll()
		switch {
		case err != nil && err != io.EOF && !errors.Is(err, ended{}) && !errors.Is(err, context.Canceled): //nolint:errorlint // as Poll says
			return &Violation{Cancellation, err}
		case err != nil || !found:
			return nil
		}
	}
	return nil
}

// closing closes readers: before a split, within it, twice.
func (t sourceTest[T]) closing(ctx context.Context, split connector.Split, all []string) error {
	for _, open := range []bool{false, true} {
		r, err := t.reader(ctx)
		if err != nil {
			return err
		}
		_ = r.At()
		if open {
			if err := r.Open(ctx, split, nil); err != nil {
				return err
			}
			if _, err := r.read(ctx, min(1, len(all))); err != nil {
				return err
			}
		}
		for range 2 {
			if err := r.Close(); err != nil {
				return &Violation{Closing, err}
			}
		}
		_ = r.At()
	}
	return nil
}
