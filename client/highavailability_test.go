package client

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/internal/ha"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/staging"
	"github.com/bobbin-yarn/bobbin/yarnrpc/amrm"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hdfsfake"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnfake"
)

// application is the application of most tests.
var application = records.ApplicationID{ClusterTimestamp: 1, ID: 2} //nolint:gochecknoglobals // a constant

// onHDFS is alice's cluster with an HDFS, and without a ResourceManager.
func onHDFS(t *testing.T) (*Cluster, *hdfsfake.Fake) {
	t.Helper()
	hdfs := hdfsfake.Start(hdfsfake.Config{})
	t.Cleanup(hdfs.Stop)
	files := dfs.New(dfs.Options{Conf: hdfs.Conf(), User: "alice", Dial: hdfs.Dial})
	t.Cleanup(func() {
		if err := files.Close(); err != nil {
			t.Error(err)
		}
	})
	return &Cluster{Conf: hdfs.Conf(), User: "alice", Files: files, patience: time.Minute}, hdfs
}

// begun stages an application with these options until its files would be uploaded.
func begun(t *testing.T, c *Cluster, pairs ...string) (*Application, *plan, error) {
	t.Helper()
	p, err := c.plan(Deployment{Mode: launch.Session, Config: options(t, pairs...)})
	if err != nil {
		return nil, nil, err
	}
	app, err := c.begin(t.Context(), p, facts{id: application, ship: &shipment{}})
	return app, p, err
}

// lead makes an attempt of an application lead, and publishes an access file.
func lead(t *testing.T, files ha.FileSystem, dir string, attempt int, access launch.Access) ha.Store {
	t.Helper()
	term, err := ha.NewDirectory(ha.Options{Files: files, Dir: dir, Epoch: ids.Epoch(attempt)}).Lead(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	content, err := json.Marshal(access)
	if err == nil && access.Address != "" {
		err = term.Store.Publish(t.Context(), "node:4711", content)
	}
	if err != nil {
		t.Fatal(err)
	}
	return term.Store
}

// TestTheFirstAttemptFindsWhatItLeads would catch an application that no attempt can lead, one whose ApplicationMaster
// looks elsewhere, files that stay after a submission that has failed, and files for an application that nothing
// outlives.
func TestTheFirstAttemptFindsWhatItLeads(t *testing.T) {
	for name, c := range map[string]struct {
		options []string
		stored  string // "": nothing is stored
	}{
		"beside the staged files": {nil, "/user/alice/.bobbin/application_1_0002"},
		"elsewhere":               {[]string{"high-availability.storageDir=/ha/"}, "/ha/application_1_0002"},
		"not at all":              {[]string{"high-availability.type=NONE", "high-availability.storageDir=viewfs://cluster/ha"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			cluster, hdfs := onHDFS(t)
			app, p, err := begun(t, cluster, c.options...)
			if err != nil {
				t.Fatal(err)
			}
			on := staged{dir: app.dir, stored: app.stored, bobbin: launch.Resource{URI: "hdfs://nn/bobbin"}}
			made, err := p.launchContext(on, facts{grant: grant{credentials: creds.New()}})
			if err != nil {
				t.Fatal(err)
			}
			told, err := launch.Decode[launch.AppMaster](made.Environment[launch.Variable])
			want := ""
			if c.stored != "" {
				want = "hdfs://" + hdfs.Authority() + c.stored
			}
			if err != nil || told.HighAvailability != want {
				t.Fatalf("the ApplicationMaster is told %q, %v; want %q", told.HighAvailability, err, want)
			}
			if want != "" {
				lead(t, cluster.Files, want, 1, launch.Access{})
			}
			if err := app.discard(t.Context()); err != nil {
				t.Error(err)
			}
			if left := slices.DeleteFunc(hdfs.Paths(), func(p string) bool { return !strings.Contains(p, application.String()) }); len(left) > 0 {
				t.Errorf("left are %q", left)
			}
		})
	}
}

// TestStorageThatCannotLastIsRefused would catch an application that is uploaded, starts, and loses its jobs or cannot
// read them, and one refused without the way out. It would also catch files that stay.
func TestStorageThatCannotLastIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		storage string
		prepare func(*hdfsfake.Fake)
	}{
		"a view of file systems": {"viewfs://cluster/ha", nil},
		"an object store":        {"s3a://bucket/ha", nil},
		"a disk":                 {"file:///tmp/ha", nil},
		"an encryption zone":     {"/ha", func(h *hdfsfake.Fake) { h.Encrypt("/ha") }},
		"erasure coding":         {"/ha", func(h *hdfsfake.Fake) { h.Stripe("/ha") }},
	} {
		t.Run(name, func(t *testing.T) {
			cluster, hdfs := onHDFS(t)
			if name == "a disk" {
				c.storage = "file://" + t.TempDir() + "/ha"
			}
			cluster.storage = c.storage
			if c.prepare != nil {
				if err := cluster.Files.MkdirAll(t.Context(), "/ha"); err != nil {
					t.Fatal(err)
				}
				if err := cluster.Files.MkdirAll(t.Context(), "/user/alice/.bobbin"); err != nil {
					t.Fatal(err)
				}
				c.prepare(hdfs)
			}
			_, _, err := begun(t, cluster, "high-availability.storageDir="+c.storage)
			if !errors.Is(err, ha.ErrStorage) || !strings.Contains(err.Error(), "high-availability.type: NONE") {
				t.Errorf("got %v", err)
			}
			for _, p := range hdfs.Paths() {
				if strings.Contains(p, application.String()) {
					t.Errorf("left is %s", p)
				}
			}
		})
	}
}

// TestTheRemedyNamesTheDirectory would catch a refusal by HDFS that leaves the user without a way out.
func TestTheRemedyNamesTheDirectory(t *testing.T) {
	app, p := &Application{User: "alice"}, &plan{storage: "hdfs://nn/ha"}
	for cause, says := range map[error]string{
		fs.ErrPermission:   "create the directory hdfs://nn/ha for user alice, or name another (high-availability.storageDir)",
		staging.ErrExposed: "or name another directory (high-availability.storageDir)",
	} {
		if err := app.unkept(p, cause); !errors.Is(err, cause) || !strings.Contains(err.Error(), says) {
			t.Errorf("got %v", err)
		}
	}
}

// TestTheLeadersAccessIsRead would catch an owner who reaches the last ApplicationMaster instead of the present one, or
// an attempt that does not lead yet, and one who cannot reach an application of the last release or without high
// availability.
func TestTheLeadersAccessIsRead(t *testing.T) {
	cluster, _ := onHDFS(t)
	for name, storage := range map[string]string{"beside the staged files": "", "elsewhere": "/ha"} { // no command knows that
		t.Run(name, func(t *testing.T) {
			app, _, err := begun(t, cluster, "high-availability.storageDir="+storage)
			if err != nil {
				t.Fatal(err)
			}
			wants := func(address string, want error) {
				t.Helper()
				for from, read := range map[string]func() (launch.Access, error){
					"the submission": func() (launch.Access, error) { return app.Access(t.Context()) },
					"its id":         func() (launch.Access, error) { return cluster.Access(t.Context(), application) },
				} {
					if access, err := read(); !errors.Is(err, want) || (err == nil) != (want == nil) || access.Address != address {
						t.Errorf("by %s: %q, %v; want %q, %v", from, access.Address, err, address, want)
					}
				}
			}
			at := func(attempt int32) launch.Access {
				return launch.Access{Address: "h:" + string('0'+attempt), Attempt: attempt, Application: application.String()}
			}
			wants("", ErrReplacing)
			lead(t, cluster.Files, app.stored, 1, launch.Access{})
			wants("", ErrReplacing)
			lead(t, cluster.Files, app.stored, 1, at(1))
			wants("h:1", nil)
			lead(t, cluster.Files, app.stored, 2, launch.Access{}) // the file of the first is still there
			wants("", ErrReplacing)
			store := lead(t, cluster.Files, app.stored, 2, at(2))
			wants("h:2", nil)
			if err := store.End(t.Context(), ha.Outcome{}); err != nil {
				t.Fatal(err)
			}
			wants("", ErrEnding)
			if err := app.discard(t.Context()); err != nil {
				t.Fatal(err)
			}
		})
	}
	app, _, err := begun(t, cluster, "high-availability.type=NONE")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cluster.Access(t.Context(), application); !errors.Is(err, ErrReplacing) {
		t.Errorf("before it has started: %v", err)
	}
	content, err := json.Marshal(launch.Access{Address: "h:3", Application: application.String()})
	if err == nil {
		err = app.staged.Put(t.Context(), launch.AccessFile, content)
	}
	if err != nil {
		t.Fatal(err)
	}
	if access, err := cluster.Access(t.Context(), application); err != nil || access.Address != "h:3" {
		t.Errorf("without high availability: %+v, %v", access, err)
	}
	if err := app.discard(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := cluster.Access(t.Context(), application); !errors.Is(err, ErrNoAccess) || !strings.Contains(err.Error(), "yarn.staging-directory") {
		t.Errorf("of nothing: %v", err)
	}
}

// TestAPlantedLeaderIsNotFollowed is the attack of a user who may write to a directory with a leader's access file. It
// would catch a client that sends the programs of its user to the attacker's server.
func TestAPlantedLeaderIsNotFollowed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		storage bool
		place   string // that others may write to; it names the directories of the application by A and of the leader by L
		mode    fs.FileMode
		exposed bool
	}{
		"of the user's alone":            {false, "", 0, false},
		"in a directory of the leader":   {false, "A/L", 0o770, true},
		"that others may write":          {false, "A/L/access.json", 0o666, true},
		"in a directory of others":       {false, "A", 0o770, true},
		"in an area that is open":        {false, "", 0o775, true},
		"stored for the user alone":      {true, "", 0, false},
		"stored in a shared directory":   {true, "", 0o1777 | fs.ModeSticky, false},
		"stored where all may write":     {true, "", 0o777, true},
		"stored in a directory of many":  {true, "A", 0o770, true},
		"stored by an attempt of others": {true, "A/L", 0o707, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := dfs.New(dfs.Options{})
			t.Cleanup(func() { _ = files.Close() })
			home := t.TempDir()
			root := filepath.Join(home, staging.DirName)
			if c.storage {
				root = filepath.Join(home, "ha")
			}
			dir := filepath.Join(root, application.String())
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := ha.Stage(t.Context(), files, "file://"+dir); err != nil {
				t.Fatal(err)
			}
			lead(t, files, "file://"+dir, 1, launch.Access{Address: "mallory:1", Application: application.String()})
			if c.mode != 0 {
				place := strings.NewReplacer("A", application.String(), "L", "live-1").Replace(c.place)
				if err := os.Chmod(filepath.Join(root, place), c.mode); err != nil {
					t.Fatal(err)
				}
			}
			access, err := leadersAccess(t.Context(), files, "file://"+dir)
			if errors.Is(err, staging.ErrExposed) != c.exposed || !c.exposed && (err != nil || access.Address != "mallory:1") {
				t.Errorf("got %+v, %v", access, err)
			}
		})
	}
}

// TestStoredFilesAreCollected would catch jobs of ended applications that stay for ever, those of an application that
// runs on another cluster and are removed while it has no ApplicationMaster, and files of other users that are touched. It
// would also catch a script that repeats bobbin gc for ever (exit code 75).
func TestStoredFilesAreCollected(t *testing.T) {
	fake := fakeCluster(t, yarnfake.Config{})
	cluster, hdfs := onHDFS(t)
	cluster.YARN = seenBy(t, "alice", fake, fake.Conf()).YARN
	cluster.storage = "/ha"
	stored := func(id records.ApplicationID) string { return "hdfs://" + hdfs.Authority() + "/ha/" + id.String() }
	stage := func(id records.ApplicationID) string {
		t.Helper()
		if err := cluster.Files.MkdirAllMode(t.Context(), stored(id), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := ha.Stage(t.Context(), cluster.Files, stored(id)); err != nil {
			t.Fatal(err)
		}
		return stored(id)
	}
	running, _, _ := registeredMaster(t, fake, func(records.ApplicationAttemptID) amrm.RegisterRequest {
		return amrm.RegisterRequest{Host: "h", RPCPort: 1}
	})
	killed, _, _ := registeredMaster(t, fake, func(records.ApplicationAttemptID) amrm.RegisterRequest {
		return amrm.RegisterRequest{Host: "h", RPCPort: 1}
	})
	if err := cluster.YARN.Kill(t.Context(), killed, ""); err != nil {
		t.Fatal(err)
	}
	stage(running)
	stage(killed)
	unknown := func(n int32) records.ApplicationID { return records.ApplicationID{ClusterTimestamp: 1, ID: n} }
	stage(unknown(1))                                             // has never run
	lead(t, cluster.Files, stage(unknown(2)), 1, launch.Access{}) // the error is about the first one
	lead(t, cluster.Files, stage(unknown(3)), 1, launch.Access{Address: "127.0.0.1:1", Attempt: 1, Application: unknown(3).String()})
	ended := lead(t, cluster.Files, stage(unknown(4)), 1, launch.Access{})
	if err := ended.End(t.Context(), ha.Outcome{}); err != nil {
		t.Fatal(err)
	}
	bob := dfs.New(dfs.Options{Conf: hdfs.Conf(), User: "bob", Dial: hdfs.Dial})
	defer bob.Close() // a test's
	for _, dir := range []string{"/ha/notes", "/ha/application_9_0001"} {
		if err := bob.MkdirAll(t.Context(), dir); err != nil {
			t.Fatal(err)
		}
	}

	for _, dryRun := range []bool{true, false} {
		removed, err := cluster.Collect(t.Context(), options(t, "staging.gc.min-age=0"), dryRun)
		if !errors.Is(err, staging.ErrUnclear) || errors.Is(err, ErrReplacing) {
			t.Errorf("dry run %t: %v, want what is not clear, and nothing that a script repeats", dryRun, err)
		}
		var got []string
		for _, r := range removed {
			got = append(got, r.URI)
		}
		slices.Sort(got)
		want := []string{stored(unknown(1)), stored(unknown(4)), stored(killed)}
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("dry run %t: removed (-want +got):\n%s", dryRun, diff)
		}
	}
	for id, stays := range map[records.ApplicationID]bool{running: true, killed: false, unknown(1): false, unknown(2): true, unknown(3): true, unknown(4): false} {
		if _, err := cluster.Files.Stat(t.Context(), stored(id)); errors.Is(err, fs.ErrNotExist) == stays {
			t.Errorf("%s: %v, want it to stay: %t", id, err, stays)
		}
	}
	if _, err := cluster.Files.Stat(t.Context(), "/ha/application_9_0001"); err != nil {
		t.Errorf("bob's directory: %v", err)
	}
}

// TestAStorageThatCannotBeIsNoReasonToKeepTheRest would catch a bobbin gc that removes nothing, because of a directory that
// the options name and applications cannot use. Without high availability no application uses it.
func TestAStorageThatCannotBeIsNoReasonToKeepTheRest(t *testing.T) {
	for kind, want := range map[string]error{"NONE": nil, "yarn": ha.ErrStorage} {
		fake := fakeCluster(t, yarnfake.Config{})
		cluster, hdfs := onHDFS(t)
		cluster.YARN, cluster.storage = seenBy(t, "alice", fake, fake.Conf()).YARN, "s3://flink/recovery"
		dir := "hdfs://" + hdfs.Authority() + "/user/alice/.bobbin/application_1_0001"
		if err := cluster.Files.MkdirAllMode(t.Context(), dir, 0o700); err != nil {
			t.Fatal(err)
		}
		removed, err := cluster.Collect(t.Context(), options(t, "staging.gc.min-age=0", "high-availability.type="+kind), false)
		if !errors.Is(err, want) || len(removed) != 1 || removed[0].URI != dir {
			t.Errorf("%s: removed %v, %v; want %v", kind, removed, err, want)
		}
	}
}
