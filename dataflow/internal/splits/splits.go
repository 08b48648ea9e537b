// Package splits lists the input of a text source and cuts it into splits. The
// planner does this once for each job.
//
// Plan lists several directories at a time, in goroutines that end before it
// returns. For each file it needs some hundred bytes of memory. The splits need about
// the same amount again.
package splits

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
)

// ErrCompressed says that the name of an input is that of an archive, or of a file in a compressed format
// that package compress does not read.
var ErrCompressed = errors.New("compressed files can be read if they end in .gz, .zst or .bz2 and are no archives: decompress this file, or compress its text in another format")

const (
	// smallest and largest bound the size of splits, in bytes. A smaller split
	// costs more to hand out than to read. With larger splits, a job waits longer
	// for its last split.
	smallest = 128 << 10
	largest  = 64 << 20
	// openCost is the number of bytes that a reader reads in the time to open a file,
	// a millisecond or two. It is like Spark's spark.sql.files.openCostInBytes, for a
	// file system in the same network. A split has at most largest/openCost files.
	openCost = 256 << 10
	// perSubtask is the number of splits for each subtask if there is enough input.
	// With several splits, a slow subtask can take fewer.
	perSubtask = 4
	// calls is the number of inputs, or directories of one input, listed at a time.
	calls = 16
)

// Plan returns the splits of all files that the inputs name, the largest first. An
// input is a file, a directory or a glob. In a directory, Plan takes all files except
// those whose names begin with "_" or "."; it takes no subdirectories. The same rules
// apply to the matches of a glob. Each input must exist, and each file must be readable
// and of a format that package compress reads; an error names the input or file that is not.
// Small files share splits. A compressed file is in one split as a whole. While it works, Plan calls listed with the number of files found since the
// last call, from several goroutines.
func Plan(ctx context.Context, fsys filesystem.FileSystem, inputs []string, parallelism int, listed func(more int)) ([]jobgraph.Split, error) {
	l := newLister(fsys, listed)
	found := make([][]file, len(inputs))
	err := parallel(ctx, len(inputs), func(ctx context.Context, i int) (err error) {
		if found[i], err = l.list(ctx, inputs[i]); err != nil {
			return refused(inputs[i], err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return share(slices.Concat(found...), parallelism), nil
}

// share cuts files into splits, the largest first.
func share(files []file, parallelism int) []jobgraph.Split {
	total := int64(0)
	for _, f := range files {
		total += f.cost()
	}
	target := min(max(total/int64(perSubtask*parallelism), smallest), largest)
	var all []jobgraph.Split
	p := packer{target: target}
	for _, f := range files {
		if f.size > 0 && f.cost() <= target {
			p.add(f)
		} else {
			all = append(all, f.cut(target)...)
		}
	}
	all = append(all, p.finish()...)
	slices.SortStableFunc(all, func(a, b jobgraph.Split) int { return cmp.Compare(costOf(&b), costOf(&a)) })
	return all
}

// cost is the time to read a file, measured in bytes.
func (f *file) cost() int64 {
	if f.size == 0 { // it is not opened
		return 0
	}
	return f.size + openCost
}

func costOf(s *jobgraph.Split) int64 { return s.Bytes() + int64(len(s.Parts))*openCost }

// parallel calls do for the numbers below n, up to calls at a time, until a call fails.
func parallel(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	group, working := errgroup.WithContext(ctx)
	group.SetLimit(calls)
	for i := range n {
		if working.Err() != nil {
			break
		}
		group.Go(func() error { return do(working, i) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return context.Cause(ctx)
}

// refused adds the input to the error, and a remedy if the error has none.
func refused(input string, err error) error {
	remedy := ""
	switch {
	case errors.Is(err, fs.ErrNotExist):
		remedy = ": name an existing file or directory, or a pattern that matches"
	case errors.Is(err, fs.ErrPermission):
		remedy = ": ask for permission to read it, or choose another input"
	}
	return fmt.Errorf("input %s: %w%s", input, err, remedy)
}
