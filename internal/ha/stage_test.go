package ha_test

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/internal/ha"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hdfsfake"
)

// The test would catch a directory in which another user can name a leader, or read the key of the authority.
func TestStageWantsADirectoryOfTheUserAlone(t *testing.T) {
	t.Parallel()
	files := dfs.New(dfs.Options{})
	defer files.Close()
	for mode, want := range map[fs.FileMode]error{0o700: nil, 0o750: ha.ErrExposed, 0o701: ha.ErrExposed, 0o777: ha.ErrExposed} {
		dir := t.TempDir()
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		for range 2 { // it may be repeated
			if err := ha.Stage(t.Context(), files, "file://"+dir); !errors.Is(err, want) {
				t.Errorf("%v: %v, want %v", mode, err, want)
			}
		}
		staged := []string{"live-0/", "live-0/jobs/", "live-0/result/"}
		if want != nil {
			staged = []string{}
		}
		if diff := cmp.Diff(staged, onDisk(t, dir)); diff != "" {
			t.Errorf("%v (-want +got):\n%s", mode, diff)
		}
		for _, name := range staged {
			if info, err := os.Stat(dir + "/" + name); err != nil || info.Mode().Perm() != 0o700 {
				t.Errorf("%s: %v, %v", name, info, err)
			}
		}
	}
	if err := ha.Stage(t.Context(), files, "file://"+t.TempDir()+"/none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a directory: %v", err)
	}
}

// The test would catch storage on which renames are not atomic, or whose files could not be read again, and a refusal that
// does not name the remedy.
func TestOnlyPlainHDFSIsStorage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fake := hdfsfake.Start(hdfsfake.Config{})
		defer fake.Stop()
		files := dfs.New(dfs.Options{Conf: fake.Conf(), User: "alice", Dial: fake.Dial})
		defer files.Close()
		for _, dir := range []string{"/plain", "/secret", "/striped"} {
			if err := files.MkdirAll(t.Context(), dir); err != nil {
				t.Fatal(err)
			}
		}
		fake.Encrypt("/secret")
		fake.Stripe("/striped")
		check := func(dir string) error { return ha.CheckStorage(t.Context(), files, dir, ids.Source{}) }
		if err := check("/plain"); err != nil {
			t.Error(err)
		}
		if err := check("/none"); !errors.Is(err, fs.ErrNotExist) || errors.Is(err, ha.ErrStorage) {
			t.Errorf("a missing directory: %v", err)
		}
		for _, dir := range []string{"/secret", "/striped", "file:///tmp", "viewfs://cluster/ha", "s3a://bucket/ha"} {
			if err := check(dir); !errors.Is(err, ha.ErrStorage) || !strings.Contains(err.Error(), "high-availability.type: NONE") || !strings.Contains(err.Error(), dir) {
				t.Errorf("%s: %v", dir, err)
			}
		}
		if diff := cmp.Diff([]string{"/plain", "/secret", "/striped"}, fake.Paths()); diff != "" {
			t.Errorf("what is left (-want +got):\n%s", diff)
		}
	})
}
