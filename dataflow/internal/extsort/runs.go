package extsort

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"

	"github.com/bobbin-yarn/bobbin/dataflow/internal/spill"
)

// checkEvery is the number of records between two looks at a context.
const checkEvery = 1 << 12

// run is a file of sorted records.
type run struct {
	*spill.Run
	level int // 0: from the arena; otherwise one more than those it was merged from
}

// spill writes the arena as a run, and merges runs if there are too many.
func (s *Sorter) spill(ctx context.Context) error {
	if len(s.arena.index) == 0 {
		return nil
	}
	s.arena.sort()
	if err := s.addRun(0, func() error { return s.copy(ctx, &resident{arena: &s.arena}) }); err != nil {
		return err
	}
	if s.account.budget.Excess() > 0 {
		s.arena.release()
	} else {
		s.arena.reset()
	}
	return s.mergeFull(ctx)
}

// addRun writes a run. It calls fill once more for each directory that fails.
func (s *Sorter) addRun(level int, fill func() error) error {
	if s.writer == nil {
		s.writer = s.dirs.NewWriter()
	}
	r, err := s.writer.Write(fill)
	if err != nil {
		return err
	}
	s.spilled += r.Size()
	s.runs = append(s.runs, run{r, level})
	return nil
}

// copy appends the records of a stream to the writer.
func (s *Sorter) copy(ctx context.Context, in stream) error {
	in = s.combined(in)
	for n := 0; ; n++ {
		if n%checkEvery == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		it, err := in.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := s.writer.Append(it.record); err != nil {
			return err
		}
	}
}

// mergeFull merges runs of the same level if there are many. This bounds the open
// files. It waits until there are twice as many as a merge takes, because the last
// merge takes that many without a copy.
func (s *Sorter) mergeFull(ctx context.Context) error {
	for level := 0; ; level++ {
		slices.SortStableFunc(s.runs, func(a, b run) int { return cmp.Compare(a.level, b.level) })
		from := slices.IndexFunc(s.runs, func(r run) bool { return r.level >= level })
		if from < 0 {
			return nil
		}
		to := from
		for to < len(s.runs) && s.runs[to].level == level {
			to++
		}
		if to-from < 2*s.fanIn {
			continue
		}
		s.arena.release() // the readers need its memory
		if err := s.merge(ctx, from, from+s.fanIn); err != nil {
			return err
		}
	}
}

// merge replaces runs by one: as many from the first on as the budget has readers for.
func (s *Sorter) merge(ctx context.Context, from, to int) error {
	fit, memory := s.fit(s.runs[from:to])
	defer s.account.give(memory)
	to = from + fit
	sources, level := slices.Clone(s.runs[from:to]), 0
	for _, r := range sources {
		level = max(level, r.level+1)
	}
	if err := s.addRun(level, func() error { return s.copy(ctx, newMerge(sources)) }); err != nil {
		return err
	}
	s.runs = slices.Delete(s.runs, from, to)
	return closeRuns(sources)
}

// fit takes the memory of readers of the first runs, of as many as the budget
// permits, but of two in any case.
func (s *Sorter) fit(runs []run) (n int, memory int64) {
	for n < min(len(runs), s.fanIn) {
		m := runs[n].ReaderMemory()
		if n < 2 {
			s.account.force(m)
		} else if !s.account.take(m) {
			break
		}
		memory += m
		n++
	}
	return n, memory
}

func closeRuns(runs []run) error {
	var errs []error
	for _, r := range runs {
		errs = append(errs, r.Close())
	}
	return errors.Join(errs...)
}
