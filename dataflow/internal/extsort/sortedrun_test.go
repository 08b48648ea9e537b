package extsort

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/bobbin-yarn/bobbin/dataflow/internal/spill"
)

// A table that is full writes its keys in their order. It would catch a run that is lost, one whose records of the same key are not
// combined with those of others, and memory that the run needs.
func TestRunsThatAreSortedAlready(t *testing.T) {
	t.Parallel()
	budget := &limit{free: MinMemory}
	s, err := New(Config{Budget: budget, Dirs: spill.NewDirs(spill.OS{}, spill.S2, t.TempDir()), Combiner: new(concat)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const runs, keys = 20, 500
	for run := range runs {
		err := s.AddRun(t.Context(), func(add func(key, value []byte) error) error {
			for key := range keys {
				if err := add(fmt.Appendf(nil, "key %04d", key), []byte{byte('a' + run)}); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	sorted, err := s.Sort(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for key := range keys {
		got, value, err := sorted.Next()
		if err != nil || string(got) != fmt.Sprintf("key %04d", key) || len(value) != runs {
			t.Fatalf("record %q with %q, error %v; want key %d with %d letters", got, value, err, key, runs)
		}
	}
	if _, _, err := sorted.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("error %v, want io.EOF", err)
	}
	if budget.peak > MinMemory {
		t.Errorf("%d bytes were taken", budget.peak)
	}
}

// A cancelled task must not write the rest of its table.
func TestARunEndsWithItsContext(t *testing.T) {
	t.Parallel()
	s, err := New(Config{Budget: &limit{free: MinMemory}, Dirs: spill.NewDirs(spill.OS{}, spill.S2, t.TempDir())})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	cause := errors.New("region restarts")
	ctx, cancel := context.WithCancelCause(t.Context())
	added := 0
	err = s.AddRun(ctx, func(add func(key, value []byte) error) error {
		for ; ; added++ {
			if added == 10 {
				cancel(cause)
			}
			if err := add(fmt.Appendf(nil, "%010d", added), nil); err != nil {
				return err
			}
		}
	})
	if !errors.Is(err, cause) || added > 2*checkEvery {
		t.Errorf("error %v after %d records, want the cause", err, added)
	}
}
