package staging_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/internal/staging"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
)

// seen is a file system that reports another status for one place.
type seen struct {
	*dfs.FS
	changed string // URI
	change  func(*dfs.Status)
	written []string // URIs since the file system was made
}

func (s *seen) Status(ctx context.Context, uri string) (dfs.Status, error) {
	status, err := s.FS.Status(ctx, uri)
	if err == nil && status.URI == s.changed {
		s.change(&status)
	}
	return status, err
}

func (s *seen) CreateMode(ctx context.Context, uri string, o dfs.CreateOptions) (io.WriteCloser, error) {
	s.written = append(s.written, uri)
	return s.FS.CreateMode(ctx, uri, o)
}

// TestNothingIsStagedWhereOthersMayWrite plays an attacker who may write to a place in the area, or
// has made it. The attacker puts a program into the cache, and the victim's next containers run it
// with the victim's tokens. The test would catch a client that uses such an entry, or uploads
// anything to such a place.
func TestNothingIsStagedWhereOthersMayWrite(t *testing.T) {
	f := file(t, "binary")
	mallorys := func(s *dfs.Status) { s.Owner, s.Own = "mallory", false }
	mode := func(m fs.FileMode) func(*dfs.Status) { return func(s *dfs.Status) { s.Mode = m } }
	masked := func(s *dfs.Status) { s.Mode, s.ACL = 0o770, true }
	const root, application, cache = "/.bobbin", "/.bobbin/application_1_0002", "/.bobbin/cache"
	entry := cache + "/" + f.SHA256
	for name, c := range map[string]struct {
		place  string
		change func(*dfs.Status)
		texts  []string // in the error, in addition to the place
	}{
		"a home that is open to all":      {"", mode(0o777), []string{"drwxrwxrwx", "hadoop fs -chmod o-w"}},
		"another's area":                  {root, mallorys, []string{"mallory", "hadoop fs -rm -r"}},
		"an area that is open to all":     {root, mode(0o777), []string{"drwxrwxrwx", "hadoop fs -chmod go-w"}},
		"an area that is open to a group": {root, mode(0o770), []string{"drwxrwx---", "hadoop fs -chmod go-w", "rm -r", "/.bobbin/cache"}},
		"an area whose ACL lets write":    {root, masked, []string{"hadoop fs -setfacl -b"}},
		"a sticky area that is open":      {root, mode(0o777 | fs.ModeSticky), []string{"dtrwxrwxrwx"}},
		"another's directory of ours":     {application, mallorys, []string{"mallory"}},
		"a cache that is open":            {cache, mode(0o775), []string{"drwxrwxr-x"}},
		"another's cache":                 {cache, mallorys, []string{"mallory"}},
		"an entry that is open":           {entry, mode(0o722), []string{"drwx-w--w-"}},
		"another's entry":                 {entry, mallorys, []string{"mallory"}},
		"a file that is open":             {entry + "/bobbin", mode(0o777), []string{"-rwxrwxrwx"}},
		"another's file":                  {entry + "/bobbin", mallorys, []string{"mallory"}},
	} {
		for _, cached := range []bool{true, false} {
			a, home, files := area(t)
			if cached {
				if _, _, err := begin(t, a, "application_1_0001", f).Cache(t.Context(), f, func(int64) {}); err != nil {
					t.Fatal(err)
				}
			}
			if !cached && (c.place == entry+"/bobbin" || c.place == cache) { // this place does not exist yet
				continue
			}
			place := "file://" + home + c.place
			attacked := &seen{FS: files, changed: place, change: c.change}
			app, err := staging.New(attacked, "file://"+home, 0).Begin(t.Context(), "application_1_0002", f)
			if err == nil {
				attacked.written = nil // the refs do not count
				_, _, err = app.Cache(t.Context(), f, func(int64) {})
			}
			if !errors.Is(err, staging.ErrExposed) {
				t.Errorf("%s, the file is cached: %t: got %v, want %v", name, cached, err, staging.ErrExposed)
				continue
			}
			for _, text := range append(c.texts, place) {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("%s: %q is not in: %v", name, text, err)
				}
			}
			if len(attacked.written) > 0 {
				t.Errorf("%s: %q are written all the same", name, attacked.written)
			}
		}
	}
}

// TestAnAreaOfOnesOwnIsGood would catch a client that refuses a correct area of an administrator or
// an earlier release.
func TestAnAreaOfOnesOwnIsGood(t *testing.T) {
	f := file(t, "binary")
	for place, mode := range map[string]fs.FileMode{
		"":               0o777 | fs.ModeSticky, // such as /tmp
		"/.bobbin":       0o755,
		"/.bobbin/cache": 0o755,
	} {
		a, home, files := area(t)
		if _, _, err := begin(t, a, "application_1_0001", f).Cache(t.Context(), f, func(int64) {}); err != nil {
			t.Fatal(err)
		}
		other := &seen{FS: files, changed: "file://" + home + place, change: func(s *dfs.Status) { s.Mode = mode }}
		if _, cached, err := begin(t, staging.New(other, "file://"+home, 0), "application_1_0002", f).Cache(t.Context(), f, func(int64) {}); err != nil || !cached {
			t.Errorf("%s of mode %s: cached %t, %v", place, mode, cached, err)
		}
	}
}

// TestTheCacheIsClosedWhateverTheUmaskSays would catch a client that makes directories which it
// then refuses, for a user whose umask lets the group write.
func TestTheCacheIsClosedWhateverTheUmaskSays(t *testing.T) { // not parallel: the umask belongs to the process
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	files := dfs.New(dfs.Options{Conf: new(hadoopconf.Conf).With("test", map[string]string{"fs.permissions.umask-mode": "002"})})
	t.Cleanup(func() { _ = files.Close() })
	home := filepath.Join(t.TempDir(), "home")
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	a := staging.New(files, "file://"+home, 0)
	f := file(t, "binary")
	for _, application := range []string{"application_1_0001", "application_1_0002"} {
		if _, _, err := begin(t, a, application, f).Cache(t.Context(), f, func(int64) {}); err != nil {
			t.Errorf("%s: %v", application, err)
		}
	}
	info, err := os.Stat(filepath.Join(home, ".bobbin/cache", f.SHA256))
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the entry has mode %v, %v", info.Mode(), err)
	}
}
