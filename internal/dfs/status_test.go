package dfs

import (
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"testing"
	"time"

	colinmarc "github.com/colinmarc/hdfs/v2"
	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
)

// told is a file as the library tells it.
type told struct {
	fs.FileInfo
	mode   fs.FileMode
	status *colinmarc.FileStatus
}

func (t told) Name() string       { return "x" }
func (t told) Size() int64        { return 7 }
func (t told) ModTime() time.Time { return time.UnixMilli(1) }
func (t told) IsDir() bool        { return t.mode.IsDir() }
func (t told) Mode() fs.FileMode  { return t.mode }
func (t told) Sys() any           { return t.status }

// TestHDFSTellsWhoMayWrite would catch a directory that is taken for one in which everybody may
// replace what others have, and an ACL's mask taken for what a group may do.
func TestHDFSTellsWhoMayWrite(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		perm  fs.FileMode
		flags uint32
		want  fs.FileMode
		acl   bool
	}{
		{0o755, 0, 0o755, false},
		{0o1777, 0, 0o777 | fs.ModeSticky, false},
		{0o770, 1 | 8, 0o770, true},
		{0o700, 2 | 4, 0o700, false},
	} {
		e := remoteEntry(told{mode: fs.ModeDir | c.perm, status: &colinmarc.FileStatus{Owner: proto.String("alice"), Flags: proto.Uint32(c.flags)}})
		if e.mode != c.want || e.acl != c.acl || e.ownedBy != "alice" {
			t.Errorf("permission %o with flags %d is %+v", c.perm, c.flags, e)
		}
	}
}

// TestTheDiskTellsWhoMayWrite would catch an owner that is not told, or who is somebody else.
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
