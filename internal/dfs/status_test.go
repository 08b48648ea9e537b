package dfs

import (
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
)

// TestTheDiskTellsWhoMayWrite would catch a missing or a wrong owner.
func TestTheDiskTellsWhoMayWrite(t *testing.T) {
	t.Parallel()
	f, dir := newLocal(t)
	write(t, f, dir+"/file", "content")
	if err := os.Chmod(filepath.Join(dir, "file"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o777|fs.ModeSticky); err != nil {
		t.Fatal(err)
	}
	owner, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]Status{
		dir + "/file": {FileInfo: filesystem.FileInfo{URI: "file://" + dir + "/file", Size: 7}, Owner: owner.Username, Own: true, Mode: 0o640},
		dir:           {FileInfo: filesystem.FileInfo{URI: "file://" + dir, IsDir: true}, Owner: owner.Username, Own: true, Mode: 0o777 | fs.ModeSticky},
	} {
		got, err := f.Status(t.Context(), path)
		got.ModTime = time.Time{}
		if err != nil || got != want {
			t.Errorf("%s is %+v, %v, want %+v", path, got, err, want)
		}
	}
	if _, own := (local{}).owner(entry{ownedBy: "4294967290"}); own {
		t.Error("another's file is taken for one's own")
	}
	if name, _ := (local{}).owner(entry{ownedBy: "4294967290"}); name != "4294967290" {
		t.Errorf("a user without a name is %q", name)
	}
}
