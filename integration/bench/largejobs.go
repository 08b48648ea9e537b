package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
)

const (
	// groupKeys is the number of keys at the default size, each of which has two lines on average.
	groupKeys = 50_000_000
	// manifold and narrowMB are the sort of an input of many times the size, and its workers.
	manifold, narrowMB = 10, 1024
)

// growth are the factors of larger inputs.
func growth() []int64 { return []int64{2, 4} }

// linesOf is the number of lines in a number of MiB.
func linesOf(mib int64) int64 { return max(1, mib<<20/lineSize) }

// sortLines measures the sort of lines, beside Flink if it is there.
func sortLines(ctx context.Context, r *rig) (table, error) {
	size := int64(r.size())
	sorting := func(mib int64) contest {
		n := linesOf(mib)
		return contest{job: "sort", label: fmt.Sprintf("sort of %d MiB", mib), inputs: []lines{{count: n, key: each}}, results: n}
	}
	s := series{base: sorting(size), grown: func(factor int64) contest { return sorting(factor * size) }}
	t := table{
		title: "Sort, beside Flink",
		text: fmt.Sprintf("A sort of all lines of a file by their first %d bytes: `sort` of `integration/bench/jobs`, and Flink's `partitionByRange` with "+
			"`sortPartition`. The lines are of %d bytes, random, and hardly compress. The order and the lines of all outputs are checked.", keySize, lineSize),
	}
	if r.manifold {
		c := sorting(manifold * size)
		c.workerMB, c.turns = narrowMB, 1
		c.label += fmt.Sprintf(" in workers of %d MB", narrowMB)
		s.others = append(s.others, c)
		t.text += fmt.Sprintf(" The size of the workers is a part of the task in the sort of %d MiB: it must run in workers of %d MB. So no smallest worker is "+
			"searched for this sort.", manifold*size, narrowMB)
	}
	return s.measure(ctx, r, t)
}

// joinLines measures joins with a small and with a large side.
func joinLines(ctx context.Context, r *rig) (table, error) {
	size := int64(r.size())
	joining := func(left, right int64) contest {
		l, r := linesOf(left), linesOf(right)
		return contest{
			job: "join", label: fmt.Sprintf("join of %d MiB × %d MiB", left, right), results: l,
			inputs: []lines{{count: l, key: anyOf(r)}, {count: r, key: each}},
		}
	}
	small := max(1, size/manifold)
	s := series{
		base: joining(size, small), others: []contest{joining(size, size)},
		grown: func(factor int64) contest { return joining(factor*size, factor*small) },
	}
	return s.measure(ctx, r, table{
		title: "Join, beside Flink",
		text: fmt.Sprintf("An inner join of two files by the first %d bytes of their lines: `join` of `integration/bench/jobs`, and Flink's. The lines are of "+
			"%d bytes, and hardly compress. Each line of the second file has a key of its own, and each line of the first file has a random one of "+
			"them. The output has both lines. Each system chooses how to join by itself. The lines of all outputs are compared. perf measured the first join and the one of 4 times its size in one process, on 2026-12-01: to read "+
			"the slots and records of the tables takes 5.3 times as long, 16 %% and 15 %% of the processor time, because the processor's caches hold a smaller "+
			"part of a larger table. It is a part of the growth. Pages of 2 MiB for the tables would lessen it.", keySize, lineSize),
	})
}

// groupLines measures the count of the lines of many keys.
func groupLines(ctx context.Context, r *rig) (table, error) {
	size := int64(r.size())
	grouping := func(mib int64) contest {
		keys := max(1, groupKeys*mib/defaultSize)
		return contest{
			job: "group", label: fmt.Sprintf("group by with %d keys", keys), results: keys, inputs: []lines{{count: 2 * keys, key: allOf(keys), bare: true}},
		}
	}
	s := series{base: grouping(size), grown: func(factor int64) contest { return grouping(factor * size) }}
	return s.measure(ctx, r, table{
		title: "Group by, beside Flink",
		text: fmt.Sprintf("A count of the lines of each key: `group` of `integration/bench/jobs`, and Flink's. A line is a key of %d bytes. Each key has two lines "+
			"on average, at random places, so that hardly anything can be combined before the shuffle. The lines of all outputs are compared.", keySize),
	})
}

// series are contests of one kind.
type series struct {
	base   contest
	others []contest
	grown  func(factor int64) contest // base with an input of many times the size
}

// all are the contests to measure.
func (s *series) all(r *rig) []*contest {
	all := []*contest{&s.base}
	for i := range s.others {
		all = append(all, &s.others[i])
	}
	if r.growth {
		for _, factor := range growth() {
			c := s.grown(factor)
			c.alone = true
			all = append(all, &c)
		}
	}
	for _, c := range all {
		c.turns = cmp.Or(c.turns, r.runs(largeRuns))
		c.workerMB = cmp.Or(c.workerMB, workerMB)
	}
	return all
}

// measure runs all contests, and makes their rows.
func (s *series) measure(ctx context.Context, r *rig, t table) (table, error) {
	t.head = contestHead()
	version := "not installed here"
	var beside *flink
	if r.flink != "" {
		var err error
		if beside, _, err = installFlink(ctx, r, "", ""); err != nil {
			return t, err
		}
		if version, err = beside.version(); err != nil {
			return t, err
		}
	}
	t.text += s.method(r) + " Flink is " + version + "."
	all := s.all(r)
	err := s.run(ctx, r, beside, all)
	for _, c := range all {
		var base *contest
		if c.alone {
			base = &s.base
		}
		c.rows(&t, base)
	}
	return t, err
}

// run runs all contests, and then finds the smallest workers. Inputs for which none are sought are large, and go at once.
func (s *series) run(ctx context.Context, r *rig, beside *flink, all []*contest) (err error) {
	defer func() {
		for _, c := range all {
			err = errors.Join(err, c.remove(ctx, r))
		}
	}()
	for _, c := range all {
		if err := c.run(ctx, r, beside); err != nil {
			return err
		}
		if c.searched(r) {
			continue
		}
		if err := c.remove(ctx, r); err != nil {
			return err
		}
	}
	for _, c := range all {
		if !c.searched(r) {
			continue
		}
		if err := c.search(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// method says how all contests are measured.
func (s *series) method(r *rig) string {
	text := fmt.Sprintf(" All run in turns, %d times, as the word count above: in a cluster of their own with %d workers of one slot, with containers of %d MB for the "+
		"ApplicationMaster, and of %d MB for a worker if the row names no other size. Input and output are on HDFS. The processor time, the peak memory and the "+
		"bytes *written to disks* are those of all containers; the latter are data of the shuffle, what does not fit into memory, and logs. Flink "+
		"reuses objects. *DataSet* is its API of that name. The speed is that of the inputs' bytes. A row in bold misses a goal.",
		r.runs(largeRuns), parallelism, masterMB, workerMB)
	if r.smallest {
		text += smallestNote()
	}
	return text
}
