package dfs

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hdfsfake"
)

// TestRenamesAreUnderWayTogether would catch renames that wait for each other's way to the NameNode: the commit of a
// thousand files would take as many round trips. It would also catch more of them than other users should notice.
func TestRenamesAreUnderWayTogether(t *testing.T) {
	t.Parallel()
	onHDFS(t, hdfsfake.Config{}, func(t *testing.T, f *FS, fake *hdfsfake.Fake) {
		var moves []filesystem.Move
		for i := range 2 * 16 {
			m := filesystem.Move{From: fmt.Sprintf("/from-%d", i), To: fmt.Sprintf("/to-%d", i)}
			fake.WriteFile(m.From, pattern(1))
			fake.Delay("rename2", 100*time.Millisecond)
			moves = append(moves, m)
		}
		start := time.Now() // of the bubble's clock
		if err := f.RenameAll(t.Context(), moves); err != nil {
			t.Error(err)
		}
		if took := time.Since(start); took != 200*time.Millisecond {
			t.Errorf("32 renames of 100 ms took %v, want 200 ms: 16 at a time", took)
		}
	})
}

// TestManyFilesAreRenamed would catch a rename that is forgotten, an error that does not name its file or
// hides its cause, renames that go on after an error, and a set that cannot be repeated.
func TestManyFilesAreRenamed(t *testing.T) {
	t.Parallel()
	onHDFS(t, hdfsfake.Config{}, func(t *testing.T, f *FS, fake *hdfsfake.Fake) {
		const files = 4 * renamesAtOnce
		var moves []filesystem.Move
		for i := range files {
			m := filesystem.Move{From: fmt.Sprintf("/from-%d", i), To: fmt.Sprintf("/to-%d", i)}
			if i >= renamesAtOnce { // so all of the first moves fail
				fake.WriteFile(m.From, pattern(1))
			}
			moves = append(moves, m)
		}
		err := f.RenameAll(t.Context(), moves)
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("without the first files: %v, want %v", err, fs.ErrNotExist)
		}
		if n := fake.Executed("rename2"); n > renamesAtOnce {
			t.Errorf("%d renames began, though the first %d failed", n, renamesAtOnce)
		}
		var left []filesystem.Move
		for _, m := range moves[renamesAtOnce:] {
			if _, err := f.Stat(t.Context(), m.From); err == nil {
				left = append(left, m)
			}
		}
		if err := f.RenameAll(t.Context(), left); err != nil {
			t.Error(err)
		}
		for _, m := range moves[renamesAtOnce:] {
			if _, err := f.Stat(t.Context(), m.To); err != nil {
				t.Error(err)
			}
		}
	})
}
