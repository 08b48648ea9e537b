package staging_test

import (
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/internal/ha"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/staging"
)

// refusing does not remove what is at a place.
type refusing struct {
	*dfs.FS
	place string
}

func (r refusing) RemoveAll(ctx context.Context, uri string) error {
	if uri == r.place {
		return fs.ErrPermission
	}
	return r.FS.RemoveAll(ctx, uri)
}

// TestTheFileThatNamesAStorageOutlivesIt would catch keys and jobs that stay for ever, because nothing names them any more.
func TestTheFileThatNamesAStorageOutlivesIt(t *testing.T) {
	t.Parallel()
	_, home, files := area(t)
	storage := "file://" + filepath.Join(home, "ha", "application_1_0001")
	app := begin(t, staging.New(refusing{files, storage}, "file://"+home, 0), "application_1_0001")
	if err := app.PutStorage(t.Context(), storage); err != nil {
		t.Fatal(err)
	}
	if err := app.Discard(t.Context()); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("got %v", err)
	}
	if named, err := staging.Storage(t.Context(), files, app.Dir); err != nil || named != storage {
		t.Errorf("named is %q, %v", named, err)
	}
}

// TestAnOldMasterReleasesNothingOfItsSuccessor would catch a program that an ApplicationMaster, which was replaced while it
// was stopped, removes from the cache although its successor's jobs use it; and one that it holds for ever.
func TestAnOldMasterReleasesNothingOfItsSuccessor(t *testing.T) {
	t.Parallel()
	for name, elsewhere := range map[string]bool{"in the staging directory": false, "in a directory of its own": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, home, files := area(t)
			used, other := file(t, "binary"), file(t, "another")
			app := begin(t, a, "application_1_0001", used)
			storage := app.Dir
			if elsewhere {
				storage = "file://" + filepath.Join(home, "ha", "application_1_0001")
				if err := os.MkdirAll(strings.TrimPrefix(storage, "file://"), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			if err := errors.Join(app.PutStorage(t.Context(), storage), ha.Stage(t.Context(), files, storage)); err != nil {
				t.Fatal(err)
			}
			another := begin(t, a, "application_1_0002") // its submission puts files into the cache that only the session uses
			for _, f := range []staging.File{used, other} {
				if _, _, err := another.Cache(t.Context(), f, func(int64) {}); err != nil {
					t.Fatal(err)
				}
			}
			var terms []*staging.Running
			for epoch := ids.Epoch(1); epoch <= 2; epoch++ {
				term, err := ha.NewDirectory(ha.Options{Files: files, Dir: storage, Epoch: epoch}).Lead(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				terms = append(terms, staging.Resume(files, app.Dir, term.Store.Dir(), 0, ids.Source{}))
				if epoch == 1 {
					if err := terms[0].Hold(t.Context(), other.SHA256); err != nil {
						t.Fatal(err)
					}
				}
			}
			old, now := terms[0], terms[1]
			if held, err := now.Holds(t.Context()); err != nil || len(held) != 1 || held[0] != other.SHA256 {
				t.Errorf("the successor holds %q, %v; want what the first one held", held, err)
			}
			if err := old.Release(t.Context(), other.SHA256); err != nil {
				t.Errorf("the old one releases what it held: %v", err)
			}
			if err := old.Hold(t.Context(), used.SHA256); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the old one holds another: %v, want %v", err, fs.ErrNotExist)
			}
			if _, err := old.Receive(t.Context(), strings.NewReader("binary")); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the old one receives a file: %v, want %v", err, fs.ErrNotExist)
			}
			if err := another.Discard(t.Context()); err != nil {
				t.Fatal(err)
			}
			if _, err := now.Find(t.Context(), other.SHA256); err != nil {
				t.Errorf("the successor's program: %v", err)
			}
			if err := now.Release(t.Context(), other.SHA256); err != nil {
				t.Fatal(err)
			}
			if _, err := now.Find(t.Context(), other.SHA256); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("after the release: %v, want %v", err, fs.ErrNotExist)
			}
			if err := app.Discard(t.Context()); err != nil {
				t.Fatal(err)
			}
			if left, err := files.Stat(t.Context(), storage); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%v is left, %v", left, err)
			}
		})
	}
}

// leading is a file system on which new leaders take over before some calls. It counts the calls.
type leading struct {
	*dfs.FS
	lead  func(uri string) // before a call
	calls int
}

func (l *leading) call(uri string) {
	l.calls++
	l.lead(uri)
}

func (l *leading) List(ctx context.Context, dir string) ([]filesystem.FileInfo, error) {
	l.call(dir)
	return l.FS.List(ctx, dir)
}

func (l *leading) Load(ctx context.Context, uri string, limit int64) ([]byte, filesystem.FileInfo, error) {
	l.call(uri)
	return l.FS.Load(ctx, uri, limit)
}

func (l *leading) Open(ctx context.Context, uri string) (filesystem.File, error) {
	l.call(uri)
	return l.FS.Open(ctx, uri)
}

// TestWhatALeaderHoldsStaysWhileTheNextOneTakesOver would catch a program that a clean-up removes because it looks for a
// record while the directory with it gets another name, and a clean-up that asks HDFS for each application again and again.
func TestWhatALeaderHoldsStaysWhileTheNextOneTakesOver(t *testing.T) {
	t.Parallel()
	content := file(t, "binary")
	collect := func(f staging.FileSystem, home string) error {
		_, err := staging.New(f, "file://"+home, 0).Collect(t.Context(), staging.Collection{
			Over: func(context.Context, string) (bool, error) { return false, nil }, Now: time.Now().Add(time.Hour),
		})
		return err
	}
	for _, elsewhere := range []bool{false, true} {
		a, home, files := area(t)
		session := begin(t, a, "application_1_0001")
		storage := session.Dir
		if elsewhere {
			storage = "file://" + filepath.Join(home, "ha", "application_1_0001")
			if err := os.MkdirAll(strings.TrimPrefix(storage, "file://"), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(session.PutStorage(t.Context(), storage), ha.Stage(t.Context(), files, storage)); err != nil {
			t.Fatal(err)
		}
		epoch := ids.Epoch(0)
		lead := func() *staging.Running {
			epoch++
			term, err := ha.NewDirectory(ha.Options{Files: files, Dir: storage, Epoch: epoch}).Lead(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return staging.Resume(files, session.Dir, term.Store.Dir(), 0, ids.Source{})
		}
		leader := lead()
		other := begin(t, a, "application_1_0002", content)
		if _, _, err := other.Cache(t.Context(), content, func(int64) {}); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(leader.Hold(t.Context(), content.SHA256), files.RemoveAll(t.Context(), other.Dir)); err != nil {
			t.Fatal(err)
		}

		alone := &leading{FS: files, lead: func(string) {}}
		if err := collect(alone, home); err != nil {
			t.Fatal(err)
		}
		most := 7 // the area, the application's directory, its refs, its term and the records there, the cache
		if elsewhere {
			most += 2
		}
		if alone.calls > most {
			t.Errorf("elsewhere %t: a clean-up makes %d calls for one application, want at most %d", elsewhere, alone.calls, most)
		}
		for seed := range uint64(200) {
			random := rand.New(rand.NewPCG(seed, 1))
			moving := &leading{FS: files, lead: func(uri string) {
				if strings.Contains(uri, "/live-") && random.IntN(4) == 0 {
					leader = lead()
				}
			}}
			if err := collect(moving, home); err != nil {
				t.Errorf("elsewhere %t, seed %d: %v", elsewhere, seed, err)
			}
			if _, err := leader.Find(t.Context(), content.SHA256); err != nil {
				t.Fatalf("elsewhere %t, seed %d: leaders lose what they hold: %v", elsewhere, seed, err)
			}
		}
		always := &leading{FS: files, lead: func(uri string) {
			if strings.Contains(uri, "/live-") {
				leader = lead()
			}
		}}
		if err := collect(always, home); err == nil {
			t.Errorf("elsewhere %t: a clean-up knows what is held by leaders that always move", elsewhere)
		}
		if _, err := leader.Find(t.Context(), content.SHA256); err != nil {
			t.Errorf("elsewhere %t: after a clean-up that does not know: %v", elsewhere, err)
		}
	}
}
