package client

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/program"
	"github.com/bobbin-yarn/bobbin/internal/staging"
)

// remote is a directory of this machine that looks like an HDFS.
type remote struct {
	*dfs.FS
	root string
}

const remoteRoot = "hdfs://nn:8020"

func (r remote) local(uri string) string {
	return "file://" + r.root + strings.TrimPrefix(strings.TrimPrefix(uri, remoteRoot), "hdfs://")
}

func (r remote) seen(info filesystem.FileInfo) filesystem.FileInfo {
	info.URI = remoteRoot + strings.TrimPrefix(info.URI, "file://"+r.root)
	return info
}

func (r remote) Qualify(uri string) (string, error) {
	return remoteRoot + path.Clean(strings.TrimPrefix(strings.TrimPrefix(uri, remoteRoot), "hdfs://")), nil
}

func (r remote) Stat(ctx context.Context, uri string) (filesystem.FileInfo, error) {
	info, err := r.FS.Stat(ctx, r.local(uri))
	return r.seen(info), err
}

func (r remote) Status(ctx context.Context, uri string) (dfs.Status, error) {
	status, err := r.FS.Status(ctx, r.local(uri))
	status.FileInfo = r.seen(status.FileInfo)
	return status, err
}

func (r remote) List(ctx context.Context, dir string) ([]filesystem.FileInfo, error) {
	infos, err := r.FS.List(ctx, r.local(dir))
	for i := range infos {
		infos[i] = r.seen(infos[i])
	}
	return infos, err
}

func (r remote) Open(ctx context.Context, uri string) (filesystem.File, error) {
	return r.FS.Open(ctx, r.local(uri))
}

// write makes files, by their names and contents.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// shipping is a directory of this machine, and an HDFS, with files on both.
func shipping(t *testing.T) (dir string, files remote, own program.Program) {
	t.Helper()
	dir = t.TempDir()
	files = remote{FS: dfs.New(dfs.Options{}), root: t.TempDir()}
	t.Cleanup(func() { _ = files.Close() })
	write(t, dir, map[string]string{"conf/a.txt": "a", "conf/deep/b.txt": "b", "one.txt": "1", "model.tar.gz": "packed", "self": "binary"})
	write(t, files.root, map[string]string{
		"lib/bobbin": "binary", "lib/dict/words": "w", "old/bobbin": "other!", "data/c.txt": "c", "data/x.zip": "z",
		"apps/usrlib/m/model": "m", "dist/bobbin": string(executable(t)),
	})
	return dir, files, program.Program{Path: filepath.Join(dir, "self"), Size: int64(len("binary"))}
}

// named is the manifest of options.
func named(t *testing.T, pairs ...string) manifest {
	t.Helper()
	c := options(t, pairs...)
	_, bobbin := distribution(c)
	return manifestOf(c, bobbin)
}

// executable begins like an executable file of this machine.
func executable(t *testing.T) []byte {
	t.Helper()
	self, err := os.Open(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	defer self.Close() // read only: nothing to lose
	head := make([]byte, program.HeadSize)
	if _, err := io.ReadFull(self, head); err != nil {
		t.Fatal(err)
	}
	return head
}

// TestTheClustersBinary would catch a cluster that runs the client's own file although an option names another,
// and a file that cannot run there.
func TestTheClustersBinary(t *testing.T) {
	dir, own := t.TempDir(), os.Args[0]
	another := filepath.Join(dir, "bobbin")
	if err := os.WriteFile(another, executable(t), 0o700); err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(dir, "script")
	if err := os.WriteFile(script, []byte("#!/bin/sh"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, option, want, uri string
		err                     error
	}{
		{"none is named", "", own, "", nil},
		{"another of this machine", another, another, "", nil},
		{"another of this machine, as a URI", "file://" + another, another, "", nil},
		{"one on HDFS, which Deploy looks for", "hdfs:///dist/bobbin", own, "hdfs:///dist/bobbin", nil},
		{"one that is not there", another + "s", "", "", fs.ErrNotExist},
		{"one that is none", script, "", "", program.ErrNoProgram},
	} {
		got, err := Binary(own, options(t, "yarn.flink-dist-jar="+c.option))
		if want, _ := filepath.Abs(c.want); !errors.Is(err, c.err) || err == nil && (got.Path != want || got.URI != c.uri) {
			t.Errorf("%s: %q, %q, %v; want %q, %q, %v", c.name, got.Path, got.URI, err, c.want, c.uri, c.err)
		}
		if err != nil && !strings.Contains(err.Error(), "yarn.flink-dist-jar") {
			t.Errorf("%s: %v does not name the option", c.name, err)
		}
	}
}

// TestNamesWithASchemeAreOnTheCluster would catch a file that the client looks for on the wrong side.
func TestNamesWithASchemeAreOnTheCluster(t *testing.T) {
	for name, want := range map[string]bool{
		"hdfs://nn:8020/a": true, "hdfs:///a": true, "hdfs:/a": true,
		"a": false, "/a": false, "./a:/b": false, "a:b": false, "file:///a": false, "file:/a": false, ":/a": false,
	} {
		if got := isRemote(name); got != want {
			t.Errorf("isRemote(%q) = %t", name, got)
		}
	}
}

// TestShipment would catch a file that containers do not find, or not under the name that users of Flink
// expect; an upload of a file that is already on HDFS; and a provided binary of another release that containers
// run.
func TestShipment(t *testing.T) {
	for _, c := range []struct {
		name    string
		options []string // DIR is the directory of this machine
		remote  []string // links of files on HDFS
		local   []string
		bobbin  string // that on HDFS which is run; "": ours is staged
	}{
		{"nothing", nil, nil, nil, ""},
		{"files and directories", []string{"yarn.ship-files=DIR/one.txt; DIR/conf/;"}, nil, []string{"conf/a.txt", "conf/deep/b.txt", "one.txt"}, ""},
		{"what lies on HDFS", []string{"yarn.ship-files=hdfs:///data;hdfs://nn:8020/lib/dict/words"}, []string{"data/c.txt", "data/x.zip", "words"}, nil, ""},
		{"archives", []string{"yarn.ship-archives=DIR/model.tar.gz;hdfs:///data/x.zip"}, []string{"x.zip"}, []string{"model.tar.gz"}, ""},
		{"libraries for everybody", []string{"yarn.provided.lib.dirs=/lib"}, []string{"dict/words"}, nil, "/lib/bobbin"},
		{"another binary is not for us", []string{"yarn.provided.lib.dirs=/old"}, nil, nil, ""},
		{"what a program finds in usrlib", []string{"yarn.provided.usrlib.dir=/apps/usrlib/"}, []string{"usrlib/m/model"}, nil, ""},
		{"another binary that is named", []string{"yarn.flink-dist-jar=hdfs:///dist/bobbin"}, nil, nil, "/dist/bobbin"},
		{"a named binary before a provided one", []string{"yarn.provided.lib.dirs=/lib", "yarn.flink-dist-jar=hdfs:///dist/bobbin"}, []string{"dict/words"}, nil, "/dist/bobbin"},
		{"a named binary of this machine", []string{"yarn.flink-dist-jar=DIR/self"}, nil, nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, files, own := shipping(t)
			for i, option := range c.options {
				c.options[i] = strings.ReplaceAll(option, "DIR", dir)
			}
			s, err := readShipment(t.Context(), files, named(t, c.options...), own)
			if err != nil {
				t.Fatal(err)
			}
			links := func(all []launch.Shipped) (links []string) {
				for _, one := range all {
					links = append(links, one.Link)
					if one.Archive != strings.Contains(strings.Join(c.options, ""), "archives") || one.Resource.Public != (strings.HasPrefix(one.Link, "dict/") || strings.HasPrefix(one.Link, "usrlib/")) {
						t.Errorf("%s is shipped as %+v", one.Link, one)
					}
				}
				slices.Sort(links)
				return links
			}
			if diff := cmp.Diff(c.remote, links(s.remote)); diff != "" {
				t.Errorf("on HDFS (-want +got):\n%s", diff)
			}
			staged := make([]launch.Resource, len(s.files()))
			for i, f := range s.files() {
				staged[i].URI = "hdfs://nn:8020/cache/" + f.Name
			}
			uploaded := s.shipped(staged)[len(s.remote):]
			if diff := cmp.Diff(c.local, links(uploaded)); diff != "" {
				t.Errorf("uploaded (-want +got):\n%s", diff)
			}
			for _, one := range uploaded {
				if filepath.Base(one.Link) != filepath.Base(one.Resource.URI) {
					t.Errorf("%s is %s", one.Link, one.Resource.URI)
				}
			}
			var bobbin launch.Resource
			if s.bobbin != nil {
				bobbin = *s.bobbin
			}
			if public := c.bobbin == "/lib/bobbin"; strings.TrimPrefix(bobbin.URI, remoteRoot) != c.bobbin || bobbin.Public != public {
				t.Errorf("bobbin on HDFS is %+v, want %q, for everybody: %t", bobbin, c.bobbin, public)
			}
		})
	}
}

// TestWhatOthersMayNotReadIsNotProvided would catch an application that fails on its first node, where YARN
// does not say which permissions to change.
func TestWhatOthersMayNotReadIsNotProvided(t *testing.T) {
	for closed, c := range map[string]struct {
		option string
		mode   fs.FileMode
		says   string
	}{
		"lib/dict/words":      {"yarn.provided.lib.dirs=/lib", 0o640, "(-rw-r-----) denies access to other users: hadoop fs -chmod o+r " + remoteRoot + "/lib/dict/words"},
		"lib/dict":            {"yarn.provided.lib.dirs=/lib", 0o750, "-chmod o+x " + remoteRoot + "/lib/dict"},
		"apps":                {"yarn.provided.usrlib.dir=/apps/usrlib", 0o754, "-chmod o+x " + remoteRoot + "/apps"},
		"apps/usrlib/m/model": {"yarn.provided.usrlib.dir=/apps/usrlib", 0o600, "-chmod o+r " + remoteRoot + "/apps/usrlib/m/model"},
	} {
		_, files, own := shipping(t)
		if _, err := readShipment(t.Context(), files, named(t, c.option), own); err != nil {
			t.Errorf("%s: %v", c.option, err)
		}
		if err := os.Chmod(filepath.Join(files.root, closed), c.mode); err != nil {
			t.Fatal(err)
		}
		if _, err := readShipment(t.Context(), files, named(t, c.option), own); !errors.Is(err, errShip) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s with %s closed: %v, want %q", c.option, closed, err, c.says)
		}
	}
}

// TestWhatOthersMayWriteIsNotProvided is the attack of a user who may write where libraries, or bobbin, are
// provided for all users. It would catch a client whose containers run that user's files, and one that refuses
// directories with correct permissions.
func TestWhatOthersMayWriteIsNotProvided(t *testing.T) {
	const lib, usrlib, dist = "yarn.provided.lib.dirs=/lib", "yarn.provided.usrlib.dir=/apps/usrlib", "yarn.flink-dist-jar=hdfs:///dist/bobbin"
	for _, c := range []struct {
		option, place string
		mode          fs.FileMode
		says          string // "": it is good
	}{
		{lib, "lib/dict/words", 0o664, "hdfs://nn:8020/lib/dict/words (owner"},
		{lib, "lib/bobbin", 0o757, "mode -rwxr-xrwx"},
		{lib, "lib/dict", 0o777, "hadoop fs -chmod go-w hdfs://nn:8020/lib/dict"},
		{lib, "lib", 0o775, "hadoop fs -chmod go-w hdfs://nn:8020/lib"},
		{lib, "lib", 0o777 | fs.ModeSticky, "mode dtrwxrwxrwx"}, // others could add files
		{lib, "", 0o777, "hadoop fs -chmod o-w hdfs://nn:8020"},
		{lib, "", 0o777 | fs.ModeSticky, ""},
		{usrlib, "apps/usrlib/m", 0o757, "hadoop fs -chmod go-w hdfs://nn:8020/apps/usrlib/m"},
		{usrlib, "apps", 0o777, "hadoop fs -chmod o-w hdfs://nn:8020/apps"},
		{usrlib, "", 0o777, "hadoop fs -chmod o-w hdfs://nn:8020"}, // /apps could be another one
		{usrlib, "", 0o777 | fs.ModeSticky, ""},
		{usrlib, "apps", 0o775, ""}, // users that its owner trusts
		{dist, "dist/bobbin", 0o775, "hadoop fs -chmod go-w hdfs://nn:8020/dist/bobbin"},
		{dist, "dist", 0o775, "hadoop fs -chmod go-w hdfs://nn:8020/dist"}, // the owner's group could replace it
		{dist, "dist", 0o777 | fs.ModeSticky, "mode dtrwxrwxrwx"},
		{dist, "", 0o777, "hadoop fs -chmod o-w hdfs://nn:8020"},
		{dist, "", 0o777 | fs.ModeSticky, ""},
		{"yarn.provided.lib.dirs=/", "dist/bobbin", 0o775, "hadoop fs -chmod go-w hdfs://nn:8020/dist/bobbin"},
	} {
		_, files, own := shipping(t)
		if err := os.Chmod(filepath.Join(files.root, c.place), c.mode); err != nil {
			t.Fatal(err)
		}
		_, err := readShipment(t.Context(), files, named(t, c.option), own)
		name, _, _ := strings.Cut(c.option, "=")
		if c.says == "" && err != nil || c.says != "" && (!errors.Is(err, staging.ErrExposed) || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), name)) {
			t.Errorf("%s with /%s of mode %s: %v, want %q", c.option, c.place, c.mode, err, c.says)
		}
	}
}

// TestWhatOthersMayWriteIsNotShipped is the same attack on files that a user names: a program on HDFS, and
// files and archives to ship from there.
func TestWhatOthersMayWriteIsNotShipped(t *testing.T) {
	const program, file, dir, archive = "program", "yarn.ship-files=hdfs:///data/c.txt", "yarn.ship-files=hdfs:///lib/", "yarn.ship-archives=hdfs:///data/x.zip"
	for _, c := range []struct {
		option, place string
		mode          fs.FileMode
		good          bool
	}{
		{program, "dist/bobbin", 0o755, true},
		{program, "dist/bobbin", 0o775, false},
		{program, "dist", 0o777, false},
		{file, "data/c.txt", 0o664, false},
		{file, "data", 0o777, false},
		{file, "data/x.zip", 0o666, true}, // another one
		{archive, "data/x.zip", 0o646, false},
		{archive, "data", 0o757, false},
		{dir, "lib/dict/words", 0o646, false},
		{dir, "lib/dict", 0o775, false}, // a group could add files, or replace them
		{dir, "lib", 0o775, false},
		{dir, "", 0o777, false},
		{dir, "data", 0o777, true},
	} {
		_, files, own := shipping(t)
		if err := os.Chmod(filepath.Join(files.root, c.place), c.mode); err != nil {
			t.Fatal(err)
		}
		var shipped []string
		if c.option != program {
			shipped = []string{c.option}
		}
		s, err := readShipment(t.Context(), files, named(t, shipped...), own)
		if c.option == program && err == nil {
			_, err = s.program(t.Context(), files, "hdfs:///dist/bobbin")
		}
		name, _, _ := strings.Cut(c.option, "=")
		if c.good && err != nil || !c.good && (!errors.Is(err, staging.ErrExposed) || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), strings.TrimSuffix(remoteRoot+"/"+c.place, "/")+" (owner")) {
			t.Errorf("%s with /%s of mode %s: %v, want it taken: %t", c.option, c.place, c.mode, err, c.good)
		}
	}
}

// TestShipmentIsRefused would catch files that replace each other, or files of ours, in a container, and
// archives that YARN does not unpack.
func TestShipmentIsRefused(t *testing.T) {
	for _, c := range []struct{ name, option, says string }{
		{"a file that is not there", "yarn.ship-files=DIR/none", "no such file"},
		{"two of one name", "yarn.ship-files=DIR/one.txt;DIR/one.txt", "one.txt"},
		{"a file in place of a directory", "yarn.ship-files=DIR/conf;DIR/sub/conf", "conf"},
		{"one of our names", "yarn.ship-files=hdfs:///old/bobbin", "Bobbin's"},
		{"no archive", "yarn.ship-archives=DIR/one.txt", ".tar.gz"},
		{"a directory in place of an archive", "yarn.ship-archives=DIR/conf.zip", "directory"},
		{"libraries under another name", "yarn.provided.usrlib.dir=/apps", "called usrlib"},
		{"a name that a shell reads", "yarn.ship-files=DIR/$HOME", "rename"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, files, own := shipping(t)
			write(t, dir, map[string]string{"conf.zip/a": "", "sub/conf": "", "$HOME": ""})
			_, err := readShipment(t.Context(), files, named(t, strings.ReplaceAll(c.option, "DIR", dir)), own)
			if err == nil || !strings.Contains(err.Error(), c.says) || !errors.Is(err, errShip) && !errors.Is(err, os.ErrNotExist) {
				t.Errorf("error %v, want one that says %q", err, c.says)
			}
		})
	}
}
