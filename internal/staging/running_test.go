package staging_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/staging"
)

// TestARunningApplicationTakesNothingThatOthersMayWrite plays an attacker who may write to a place
// in the area, or has made it, and puts a program into the cache of a session's owner. It would
// catch a session that runs the program.
func TestARunningApplicationTakesNothingThatOthersMayWrite(t *testing.T) {
	t.Parallel()
	f := file(t, "binary")
	mallorys := func(s *dfs.Status) { s.Owner, s.Own = "mallory", false }
	mode := func(m fs.FileMode) func(*dfs.Status) { return func(s *dfs.Status) { s.Mode = m } }
	const root, application, cache = "/.bobbin", "/.bobbin/application_1_0001", "/.bobbin/cache"
	entry := cache + "/" + f.SHA256
	for name, c := range map[string]struct {
		place  string
		change func(*dfs.Status)
	}{
		"a home that is open to all":  {"", mode(0o777)},
		"another's area":              {root, mallorys},
		"another's directory of ours": {application, mallorys},
		"a cache that is open":        {cache, mode(0o775)},
		"another's entry":             {entry, mallorys},
		"an entry that is open":       {entry, mode(0o722)},
		"another's file":              {entry + "/bobbin", mallorys},
		"a file that is open":         {entry + "/bobbin", mode(0o777)},
	} {
		a, home, files := area(t)
		app := begin(t, a, "application_1_0001", f)
		if _, _, err := app.Cache(t.Context(), f, func(int64) {}); err != nil {
			t.Fatal(err)
		}
		attacked := &seen{FS: files, changed: "file://" + home + c.place, change: c.change}
		running := staging.Resume(attacked, app.Dir, app.Dir, 0, ids.Source{})
		if found, err := running.Find(t.Context(), f.SHA256); !errors.Is(err, staging.ErrExposed) || !strings.Contains(err.Error(), attacked.changed) {
			t.Errorf("%s: it is found as %+v, %v; want %v", name, found, err, staging.ErrExposed)
		}
		temporary, err := running.Receive(t.Context(), strings.NewReader("binary"))
		if err != nil {
			t.Fatal(err)
		}
		if filed, err := running.File(t.Context(), temporary, f.SHA256, "bobbin"); !errors.Is(err, staging.ErrExposed) {
			t.Errorf("%s: it is filed as %+v, %v; want %v", name, filed, err, staging.ErrExposed)
		}
		if _, err := os.Stat(strings.TrimPrefix(temporary, "file://")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: what was received is still there: %v", name, err)
		}
	}
}

// TestAnEntryThatLacksBytesIsNoProgram would catch a session that uses a program which a full disk
// has truncated, instead of the complete program that a user has just sent.
func TestAnEntryThatLacksBytesIsNoProgram(t *testing.T) {
	t.Parallel()
	a, home, files := area(t)
	f := file(t, "binary")
	app := begin(t, a, "application_1_0001", f)
	if _, _, err := app.Cache(t.Context(), f, func(int64) {}); err != nil {
		t.Fatal(err)
	}
	running := staging.Resume(files, app.Dir, app.Dir, 0, ids.Source{})
	for _, c := range []struct {
		size int64
		want string // in the error
	}{{f.Size, ""}, {3, "has 3 bytes, want 6: remove it"}} {
		cached := filepath.Join(home, ".bobbin/cache", f.SHA256, f.Name)
		if err := errors.Join(os.Chmod(cached, 0o700), os.Truncate(cached, c.size)); err != nil {
			t.Fatal(err)
		}
		temporary, err := running.Receive(t.Context(), strings.NewReader("binary"))
		if err != nil {
			t.Fatal(err)
		}
		entry, err := running.File(t.Context(), temporary, f.SHA256, f.Name)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) || err == nil && entry.Size != f.Size {
			t.Errorf("beside an entry of %d bytes: %+v, %v; want %q", c.size, entry, err, c.want)
		}
	}
}

// TestANameThatIsNoHashChangesNothing would catch a cache that holds, finds or removes a place outside itself,
// because a client sent a path as a hash.
func TestANameThatIsNoHashChangesNothing(t *testing.T) {
	t.Parallel()
	a, home, files := area(t)
	app := begin(t, a, "application_1_0001", file(t, "binary"))
	precious := filepath.Join(home, "precious", "results.csv")
	if err := os.Mkdir(filepath.Dir(precious), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(precious, []byte("1"), 0o600); err != nil {
		t.Fatal(err)
	}
	running := staging.Resume(files, app.Dir, app.Dir, 0, ids.Source{})
	for _, name := range []string{"", "../../precious", strings.Repeat("F", 64), strings.Repeat("0", 63) + "/"} {
		if _, err := running.Find(t.Context(), name); !errors.Is(err, staging.ErrNoHash) {
			t.Errorf("find %q: %v, want %v", name, err, staging.ErrNoHash)
		}
		if err := running.Hold(t.Context(), name); !errors.Is(err, staging.ErrNoHash) {
			t.Errorf("hold %q: %v, want %v", name, err, staging.ErrNoHash)
		}
		if err := running.Release(t.Context(), name); !errors.Is(err, staging.ErrNoHash) {
			t.Errorf("release %q: %v, want %v", name, err, staging.ErrNoHash)
		}
	}
	if _, err := os.Stat(precious); err != nil {
		t.Errorf("a file of the owner is gone: %v", err)
	}
}
