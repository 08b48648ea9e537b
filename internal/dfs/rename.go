package dfs

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
)

// renamesAtOnce is the number of renames that RenameAll keeps under way. A NameNode takes about a
// millisecond for one, most of which is the way there and its log; with more than this, the other users of
// the NameNode would notice.
const renamesAtOnce = 16

// RenameAll does what Rename does for each move, renamesAtOnce at a time. See filesystem.FileSystem.
func (f *FS) RenameAll(ctx context.Context, moves []filesystem.Move) error {
	var (
		group  errgroup.Group
		mu     sync.Mutex // guards faults
		faults []error
	)
	failed := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(faults) > 0
	}
	group.SetLimit(renamesAtOnce)
	for _, m := range moves {
		if failed() {
			break
		}
		group.Go(func() error { // it waits while renamesAtOnce are under way
			if failed() {
				return nil
			}
			if err := f.Rename(ctx, m.From, m.To); err != nil {
				mu.Lock()
				defer mu.Unlock()
				faults = append(faults, err)
			}
			return nil
		})
	}
	_ = group.Wait() // the errors are in faults
	if len(faults) > 0 {
		return fmt.Errorf("rename %d files: %w", len(moves), errors.Join(faults...))
	}
	return nil
}
