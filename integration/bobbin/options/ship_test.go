package options

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
)

// library makes directories on HDFS that all users may read: one with bobbin and a word list, and
// one with the name usrlib.
func library(t *testing.T, u *bobbintest.User) (lib, usrlib string) {
	t.Helper()
	local := t.TempDir()
	binary, err := os.ReadFile(suite.Bobbin(t))
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"bobbin": binary, "words.txt": []byte("abc\n")} {
		if err := os.WriteFile(filepath.Join(local, name), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	dir := u.Scratch(t)
	lib, usrlib = dir+"/lib", dir+"/usrlib"
	u.Put(t, local, lib)
	rules := t.TempDir()
	if err := os.WriteFile(filepath.Join(rules, "rules.txt"), []byte("rules"), 0o644); err != nil {
		t.Fatal(err)
	}
	u.Put(t, rules, usrlib)
	return lib, usrlib
}

// tarball makes a packed tar with one file.
func tarball(t *testing.T, path, name, content string) {
	t.Helper()
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	w := tar.NewWriter(z)
	err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(content))})
	if err == nil {
		_, err = w.Write([]byte(content))
	}
	if err = cmp.Or(err, w.Close(), z.Close()); err == nil {
		err = os.WriteFile(path, packed.Bytes(), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// archive makes a zip with one file.
func archive(t *testing.T, path, name, content string) {
	t.Helper()
	var packed bytes.Buffer
	w := zip.NewWriter(&packed)
	file, err := w.Create(name)
	if err == nil {
		_, err = file.Write([]byte(content))
	}
	if err == nil {
		err = w.Close()
	}
	if err == nil {
		err = os.WriteFile(path, packed.Bytes(), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestFilesAreShipped would catch files that containers do not find, archives that are not
// unpacked, and libraries that each application uploads or localizes again.
func TestFilesAreShipped(t *testing.T) {
	t.Parallel()
	alice := suite.User(t, bobbintest.Alice)
	local := t.TempDir()
	if err := os.MkdirAll(filepath.Join(local, "conf"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(local, "conf/site.txt"), []byte("site"), 0o600); err != nil {
		t.Fatal(err)
	}
	archive(t, filepath.Join(local, "model.zip"), "weights.txt", "weights")
	tarball(t, filepath.Join(local, "older.tar.gz"), "weights.txt", "old weights")
	remote := alice.Scratch(t) + "/remote.txt"
	alice.Write(t, remote, "remote")
	lib, usrlib := library(t, alice)
	flags := slices.Concat(
		option("yarn.ship-files", filepath.Join(local, "conf")+";hdfs://"+remote),
		option("yarn.ship-archives", filepath.Join(local, "model.zip")+";"+filepath.Join(local, "older.tar.gz")),
		option("yarn.provided.lib.dirs", lib),
		option("yarn.provided.usrlib.dir", usrlib),
	)
	tool := filepath.Join(local, "tool")
	if err := os.WriteFile(tool, []byte("#!/bin/sh"), 0o600); err != nil {
		t.Fatal(err)
	}
	flags = append(flags, option("pipeline.cached-files", "name:tool,path:"+tool+",executable:true;name:far,path:hdfs://"+remote)...)
	d := suite.Dawdle(t, alice, flags...)
	want := map[string]string{"conf/site.txt": "site", "remote.txt": "remote", "model.zip/weights.txt": "weights", "older.tar.gz/weights.txt": "old weights", "words.txt": "abc\n", "usrlib/rules.txt": "rules"}
	places := make(map[string]bool) // path of words.txt on the nodes
	for _, role := range []bobbintest.Role{bobbintest.ApplicationMaster, bobbintest.TaskExecutor, bobbintest.TaskHost} {
		process := d.First(t, role)
		dir, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(process.PID), "cwd"))
		if err != nil {
			t.Fatal(err)
		}
		for name, content := range want {
			got, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil || string(got) != content {
				t.Errorf("%s has %s with %q, %v; want %q", role, name, got, err, content)
			}
		}
		for name, public := range map[string]bool{"words.txt": true, "bobbin": true, "usrlib/rules.txt": true, "conf/site.txt": false, "model.zip": false} {
			place, err := filepath.EvalSymlinks(filepath.Join(dir, name))
			if err != nil || strings.Contains(place, "/usercache/") == public {
				t.Errorf("%s has %s at %s, %v; want it in everybody's cache: %t", role, name, place, err, public)
			}
			if name == "words.txt" {
				places[place] = true
			}
		}
	}
	cached := cachedFiles(t, d.First(t, bobbintest.TaskExecutor))
	if diff := gocmp.Diff(map[string]string{"tool": "-r-x------ #!/bin/sh", "remote.txt": "-r-------- remote"}, cached.found); diff != "" {
		t.Errorf("cached files (-want +got):\n%s", diff)
	}
	for _, entry := range submitted(t, alice, d.Application).GetAmContainerSpec().GetLocalResources() {
		public := slices.Contains([]string{"words.txt", "bobbin", "usrlib/rules.txt"}, entry.GetKey())
		if got := entry.GetValue().GetVisibility(); public != (got == yarnpb.LocalResourceVisibilityProto_PUBLIC) {
			t.Errorf("by the ResourceManager, %s is %s", entry.GetKey(), got)
		}
	}

	// Another user's application on the same nodes has the same copies. It runs the bobbin that it
	// names, and not the provided one.
	dist := alice.Scratch(t) + "/another"
	alice.Put(t, suite.Bobbin(t), dist)
	other := suite.Dawdle(t, suite.User(t, clusters.Bob), slices.Concat(option("yarn.provided.lib.dirs", lib), option("yarn.flink-dist-jar", "hdfs://"+dist))...)
	for _, entry := range submitted(t, alice, other.Application).GetAmContainerSpec().GetLocalResources() {
		if file := entry.GetValue().GetResource().GetFile(); entry.GetKey() == "bobbin" && file != dist {
			t.Errorf("the ApplicationMaster's bobbin is localized from %s, want %s", file, dist)
		}
	}
	for _, cached := range other.User.Staging(t).Cache {
		if strings.HasSuffix(cached, "/bobbin") {
			t.Errorf("bobbin was uploaded, though it was there: %s", cached)
		}
	}
	for _, role := range []bobbintest.Role{bobbintest.ApplicationMaster, bobbintest.TaskExecutor} {
		dir, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(other.First(t, role).PID), "cwd"))
		if err != nil {
			t.Fatal(err)
		}
		place, err := filepath.EvalSymlinks(filepath.Join(dir, "words.txt"))
		if err != nil {
			t.Fatal(err)
		}
		node, _, _ := strings.Cut(place, "/filecache/")
		for first := range places {
			if strings.HasPrefix(first, node+"/") && first != place {
				t.Errorf("a node has copies at %s and %s", first, place)
			}
		}
	}
	d.CheckSucceeds(t)
	if left := cached.left(); len(left) > 0 {
		t.Errorf("after the job there are %v", left)
	}
	other.CheckSucceeds(t)
}

// copies are the cached files of a TaskExecutor.
type copies struct {
	pattern string            // of their paths
	found   map[string]string // mode and content by name
}

func (c copies) left() []string {
	paths, _ := filepath.Glob(c.pattern) // the pattern is well-formed
	return paths
}

func cachedFiles(t *testing.T, worker bobbintest.Process) copies {
	t.Helper()
	dirs := strings.ReplaceAll(worker.Variable(t, "LOCAL_DIRS"), ",", " ")
	if strings.Contains(dirs, " ") {
		t.Fatalf("the node has several disks: %s", dirs)
	}
	c := copies{filepath.Join(dirs, worker.Variable(t, "CONTAINER_ID"), "artifacts/*/*"), make(map[string]string)}
	for _, path := range c.left() {
		content, err := os.ReadFile(path)
		info, failed := os.Stat(path)
		if err := errors.Join(err, failed); err != nil {
			t.Fatal(err)
		}
		c.found[filepath.Base(path)] = info.Mode().String() + " " + string(content)
	}
	return c
}

// TestWhereAndHowFilesAreStaged would catch files that go to the home directory nevertheless, and
// copies that the administrator did not ask for.
func TestWhereAndHowFilesAreStaged(t *testing.T) {
	t.Parallel()
	alice := suite.User(t, bobbintest.Alice)
	dir := alice.Scratch(t)
	alice.Put(t, suite.Generate(t, "-size", "20k", "-files", "1"), dir+"/text")
	flags := slices.Concat(option("yarn.staging-directory", dir), option("yarn.file-replication", 2), option("flink.hadoop.dfs.replication", 3),
		[]string{suite.Program(t, "wordcount"), "--input", dir + "/text", "--output", dir + "/counts"})
	got := alice.Run(t, bobbintest.Small(flags...)...)
	if got.Code != 0 {
		t.Fatal(got)
	}
	application := got.Application(t)
	for _, entry := range submitted(t, alice, application).GetAmContainerSpec().GetLocalResources() {
		if file := entry.GetValue().GetResource().GetFile(); !strings.HasPrefix(file, dir+"/.bobbin/cache/") {
			t.Errorf("%s is localized from %s, want it from %s", entry.GetKey(), file, dir)
		}
	}
	hdfs := rpctest.HDFS(t, alice.Cluster)
	list := func(dir string) []cluster.FileStatus {
		t.Helper()
		return wait.Answer(t, "the NameNode's list", func() ([]cluster.FileStatus, error) { return hdfs.List(t.Context(), dir) })
	}
	entries := alice.Names(t, dir+"/.bobbin/cache")
	for _, entry := range entries {
		if files := list(dir + "/.bobbin/cache/" + entry); len(files) != 1 || files[0].Replication != 2 {
			t.Errorf("the NameNode has %+v; want one file with 2 copies", files)
		}
	}
	for _, file := range list(dir + "/counts") {
		if strings.HasPrefix(file.Name, "part-") && file.Replication != 3 {
			t.Errorf("a task wrote %+v, want 3 copies", file)
		}
	}
	if len(entries) != 2 {
		t.Errorf("the cache has %q, want bobbin and wordcount", entries)
	}
	alice.CheckGone(t, application)
}
