package staging_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/internal/ha"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/staging"
)

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
