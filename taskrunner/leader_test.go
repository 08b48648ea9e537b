package taskrunner

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/internal/ha"
)

// TestLooksShareAConnection would catch a connection for each look at the NameNode, and one that stays for ever.
func TestLooksShareAConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		var opened []*dfs.FS
		l := &lister{open: func() (*dfs.FS, error) {
			opened = append(opened, dfs.New(dfs.Options{}))
			return opened[len(opened)-1], nil
		}}
		retrieval := ha.NewRetrieval(l, dir)
		look := func(want error) {
			t.Helper()
			if _, err := retrieval.Leader(t.Context()); !errors.Is(err, want) {
				t.Errorf("got %v, want %v", err, want)
			}
		}
		look(ha.ErrNothing)
		if err := os.MkdirAll(filepath.Join(dir, "live-2"), 0o700); err != nil {
			t.Fatal(err)
		}
		for range 5 {
			time.Sleep(9 * time.Second)
			look(ha.ErrReplacing)
		}
		if err := os.WriteFile(filepath.Join(dir, "live-2", "am-2-n1.example-4711"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if leader, err := retrieval.Leader(t.Context()); err != nil || leader != (ha.Leader{Epoch: 2, Address: "n1.example:4711"}) {
			t.Errorf("the leader is %+v, %v", leader, err)
		}
		if len(opened) != 1 {
			t.Errorf("%d file systems were opened one after the other, want one for all looks", len(opened))
		}
		time.Sleep(11 * time.Second)
		if _, err := opened[0].List(context.WithoutCancel(t.Context()), dir); !errors.Is(err, dfs.ErrClosed) {
			t.Errorf("the idle file system gives %v, want that it is closed", err)
		}
		look(nil)
		if len(opened) != 2 {
			t.Errorf("%d file systems were opened, want a second one after the pause", len(opened))
		}
		l.close()
		if _, err := opened[1].List(t.Context(), dir); !errors.Is(err, dfs.ErrClosed) {
			t.Errorf("the file system gives %v after the end of the worker", err)
		}
	})
}
