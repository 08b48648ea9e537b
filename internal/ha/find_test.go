package ha_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/integration/sim/dfsmodel"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/internal/ha"
	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// interrupted is a file system on which something happens before each list.
type interrupted struct {
	*dfsmodel.FileSystem
	before func(list int)
	lists  int
}

func (i *interrupted) List(ctx context.Context, dir string) ([]filesystem.FileInfo, error) {
	i.before(i.lists)
	i.lists++
	return i.FileSystem.List(ctx, dir)
}

// Attempts lead while a client looks. The test would catch a client that finds nothing, or an address of a master that was
// replaced.
func TestFindLooksAgainWhileTheLeaderChanges(t *testing.T) {
	t.Parallel()
	for changes := range 12 { // each before another list
		w := newWorld(t, 1)
		w.alone(t, func(ctx context.Context, files *dfsmodel.FileSystem) {
			epoch := ids.Epoch(1)
			lead := func(publish bool) {
				term, err := attempt(files, home, epoch).Lead(ctx)
				if err == nil && publish {
					err = term.Store.Publish(ctx, fmt.Sprintf("host:%d", epoch), nil)
				}
				if err != nil {
					t.Error(err)
				}
			}
			lead(true)
			look := &interrupted{FileSystem: files, before: func(list int) {
				if list%2 == 1 && list < 2*changes { // between the two looks
					epoch++
					lead(true)
				}
			}}
			live, err := ha.Find(ctx, look, home)
			if changes >= 10 {
				if !errors.Is(err, ha.ErrReplacing) {
					t.Errorf("%d changes: %+v, %v", changes, live, err)
				}
				return
			}
			want := ha.Live{Dir: fmt.Sprintf("%s/live-%d", home, epoch), Epoch: epoch, Address: fmt.Sprintf("host:%d", epoch)}
			if err != nil || live != want {
				t.Errorf("%d changes: %+v, %v, want %+v", changes, live, err, want)
			}
		})
	}
}

// The test would catch a client that does not know an application's end from its beginning.
func TestFindTellsHowFarTheApplicationIs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	w.alone(t, func(ctx context.Context, files *dfsmodel.FileSystem) {
		look := func(want ha.Live, wantClass string) {
			t.Helper()
			if got, err := ha.Find(ctx, files, home); got != want || class(err) != wantClass {
				t.Errorf("it finds %+v, %v, want %+v, %s", got, err, want, wantClass)
			}
		}
		look(ha.Live{Dir: home + "/live-0"}, "replacing")
		term, err := attempt(files, home, 2).Lead(ctx)
		if err != nil {
			t.Error(err)
			return
		}
		look(ha.Live{Dir: home + "/live-2", Epoch: 2}, "replacing")
		if err := term.Store.Publish(ctx, "host:1", nil); err != nil {
			t.Error(err)
		}
		look(ha.Live{Dir: home + "/live-2", Epoch: 2, Address: "host:1"}, "")
		if err := term.Store.End(ctx, end); err != nil {
			t.Error(err)
		}
		look(ha.Live{Dir: home + "/ended-2", Epoch: 2, Ended: true}, "")
		if err := term.Store.Remove(ctx); err != nil {
			t.Error(err)
		}
		look(ha.Live{}, "nothing")
		if err := files.Close(); err != nil {
			t.Error(err)
		}
		if _, err := ha.Find(ctx, files, home); !errors.Is(err, dfs.ErrClosed) {
			t.Errorf("without access: %v", err)
		}
	})
}
