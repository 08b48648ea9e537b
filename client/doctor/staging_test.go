package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/internal/hadoopenv"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hdfs"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hdfsfake"
	"github.com/bobbin-yarn/bobbin/yarnrpc/sasl"
)

// shelf is a file system of one user, who may write in some directories.
type shelf struct {
	entries  map[string]string // content by URI; directories have none
	writable string            // the directory in which the user may create files
	full     error             // files cannot be written
	damaged  bool              // files are read with other content than written
	left     error             // nothing can be removed
	written  func()            // called after a file was written
}

func (s *shelf) Stat(_ context.Context, uri string) (filesystem.FileInfo, error) {
	if _, there := s.entries[uri]; !there {
		return filesystem.FileInfo{}, fmt.Errorf("stat %s: %w", uri, fs.ErrNotExist)
	}
	return filesystem.FileInfo{URI: uri, ModTime: time.Now()}, nil
}

func (s *shelf) MkdirMode(_ context.Context, dir string, mode fs.FileMode) error {
	if mode != 0o700 {
		return fmt.Errorf("mode %v is for all to see", mode)
	}
	if !strings.HasPrefix(dir, s.writable+"/") {
		return fmt.Errorf("mkdir %s: %w", dir, fs.ErrPermission)
	}
	s.entries[dir] = ""
	return nil
}

func (s *shelf) WriteFile(_ context.Context, uri string, content []byte, _ fs.FileMode) error {
	if s.full != nil {
		return s.full
	}
	s.entries[uri] = string(content)
	if s.written != nil {
		s.written()
	}
	return nil
}

func (s *shelf) ReadFile(_ context.Context, uri string, _ int64) ([]byte, error) {
	if s.damaged {
		return []byte("something else"), nil
	}
	return []byte(s.entries[uri]), nil
}

func (s *shelf) RemoveAll(ctx context.Context, uri string) error {
	if err := cmp.Or(ctx.Err(), s.left); err != nil {
		return err
	}
	for entry := range s.entries {
		if strings.HasPrefix(entry, uri) {
			delete(s.entries, entry)
		}
	}
	return nil
}

// The doctor tests the staging directory by using it. It would catch a test file that remains, a directory that
// the test creates, and a missing home that the user cannot create and that the doctor accepts.
func TestThePlaceForStagedFiles(t *testing.T) {
	const root, home = "hdfs://nn:8020/", "hdfs://nn:8020/user/alice"
	for name, tc := range map[string]struct {
		home         bool // home exists
		shelf        shelf
		status       Status
		text, remedy string
	}{
		"in order":                 {true, shelf{writable: home}, OK, "a file was written in " + home, ""},
		"can be made":              {false, shelf{writable: "hdfs://nn:8020/user"}, OK, "does not exist yet", ""},
		"cannot be made":           {false, shelf{writable: home}, Failed, home + " does not exist, and user alice may not create it", "hdfs dfs -mkdir -p /user/alice; hdfs dfs -chown alice /user/alice"},
		"another's":                {true, shelf{writable: "hdfs://nn:8020/user/bob"}, Failed, "user alice may not write to " + home, "yarn.staging-directory"},
		"full":                     {true, shelf{writable: home, full: errors.New("no DataNode has room")}, Failed, "no DataNode has room", "DataNodes run"},
		"of another protection":    {true, shelf{writable: home, full: fmt.Errorf("log in: %w", sasl.ErrProtection)}, Failed, "no common quality", "set dfs.data.transfer.protection"},
		"of another mind":          {true, shelf{writable: home, full: fmt.Errorf("EOF: %w", hdfs.ErrOtherProtection)}, Failed, "EOF", "set dfs.data.transfer.protection"},
		"damages what it is given": {true, shelf{writable: home, damaged: true}, Failed, "differs from what was written", "DataNodes"},
		"keeps what it has":        {true, shelf{writable: home, left: errors.New("read only")}, Warning, "cannot be removed: read only", "hdfs dfs -rm -r /user/alice/.bobbin-doctor-"},
	} {
		t.Run(name, func(t *testing.T) {
			s := tc.shelf
			s.entries = map[string]string{root: "", "hdfs://nn:8020/user": ""}
			if tc.home {
				s.entries[home] = ""
			}
			before := len(s.entries)
			v := &visit{Patient: Patient{Now: time.Now}, who: hadoopenv.Identity{User: "alice"}}
			found := v.tryStaging(t.Context(), &s, home)
			has := false
			for _, f := range found {
				has = has || f.Status == tc.status && strings.Contains(f.Text, tc.text) && strings.Contains(f.Remedy, tc.remedy)
			}
			if !has {
				t.Errorf("found %+v, want %s, %q -> %q", found, tc.status, tc.text, tc.remedy)
			}
			if tc.shelf.left == nil && len(s.entries) != before {
				t.Errorf("left behind: %v", s.entries)
			}
		})
	}
}

// The test file must not remain after Ctrl-C, or if a DataNode uses up all the time.
func TestTheTrialGoesWhereTheExaminationIsOver(t *testing.T) {
	const home = "hdfs://nn:8020/user/alice"
	ctx, cancel := context.WithCancel(t.Context())
	s := &shelf{entries: map[string]string{home: ""}, writable: home, written: cancel}
	v := &visit{Patient: Patient{Now: time.Now}, who: hadoopenv.Identity{User: "alice"}}
	v.tryStaging(ctx, s, home)
	if ctx.Err() == nil || len(s.entries) != 1 {
		t.Errorf("left behind: %v", s.entries)
	}
}

// TestWhatOutlivesAMasterHasAPlace would catch a doctor that finds no fault with a directory for which submissions are
// refused, a fault without the way out, and a test directory that remains.
func TestWhatOutlivesAMasterHasAPlace(t *testing.T) {
	for name, tc := range map[string]struct {
		storage string
		prepare func(*hdfsfake.Fake)
		status  Status
		text    string
	}{
		"in order":               {"", nil, OK, "jobs and results can be kept in hdfs://"},
		"elsewhere":              {"/ha", nil, OK, "/ha"},
		"in an encryption zone":  {"/zone", func(h *hdfsfake.Fake) { h.Encrypt("/zone") }, Failed, "neither encrypted nor erasure coded"},
		"with erasure coding":    {"/zone/below/it", func(h *hdfsfake.Fake) { h.Stripe("/zone") }, Failed, "neither encrypted nor erasure coded"},
		"on another file system": {"file:///ha", nil, Failed, "file:///ha, which is not on HDFS"},
		"in a view":              {"viewfs://cluster/ha", nil, Failed, "viewfs"},
		"open to everybody":      {"/open/", nil, Failed, "every user may replace what is in it"},
		"below an open one":      {"/open/ha", nil, OK, "/open/ha"},
		"where it may not be": {"/ha", func(h *hdfsfake.Fake) {
			h.Refuse("mkdirs", hdfsfake.Before, "org.apache.hadoop.security.AccessControlException", "no")
		}, Failed, "may not write to hdfs://"},
	} {
		t.Run(name, func(t *testing.T) {
			hdfs := hdfsfake.Start(hdfsfake.Config{})
			defer hdfs.Stop()
			fsys := dfs.New(dfs.Options{Conf: hdfs.Conf(), User: "alice", Dial: hdfs.Dial})
			defer fsys.Close()
			for dir, mode := range map[string]fs.FileMode{"/user/alice": 0o700, "/zone": 0o755, "/open": 0o777} {
				if err := fsys.MkdirAllMode(t.Context(), dir, mode); err != nil {
					t.Fatal(err)
				}
			}
			if tc.prepare != nil {
				tc.prepare(hdfs)
			}
			before := len(hdfs.Paths())
			options, err := config.New(config.Layer{Source: "-D", Values: map[string]string{"high-availability.storageDir": tc.storage}})
			if err != nil {
				t.Fatal(err)
			}
			v := &visit{Patient: Patient{Now: time.Now}, config: options, who: hadoopenv.Identity{User: "alice"}}
			f := v.tryStorage(t.Context(), fsys, "hdfs://"+hdfs.Authority()+"/user/alice")
			if f.Status != tc.status || !strings.Contains(f.Text, tc.text) || (f.Remedy != "") != (tc.status == Failed) {
				t.Errorf("found %+v, want %s, %q", f, tc.status, tc.text)
			}
			if tc.status == Failed && !strings.Contains(f.Remedy, "high-availability.storageDir") {
				t.Errorf("the remedy is %q", f.Remedy)
			}
			if after := len(hdfs.Paths()); after != before {
				t.Errorf("left behind: %q", hdfs.Paths())
			}
		})
	}
}
