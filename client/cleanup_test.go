package client

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/staging"
	"github.com/bobbin-yarn/bobbin/yarnrpc/amrm"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnfake"
)

// TestWhatIsOver would catch that the files of a running application are removed, above all of one that this
// ResourceManager does not know because it runs on another cluster, and that the files of an ended application
// stay forever. It would also catch that files stay for ever without a word.
func TestWhatIsOver(t *testing.T) {
	fake := fakeCluster(t, yarnfake.Config{})
	alice := seenBy(t, "alice", fake, fake.Conf())
	alice.Files = dfs.New(dfs.Options{})
	t.Cleanup(func() { _ = alice.Files.Close() })
	home := "file://" + t.TempDir()
	application := func() records.ApplicationID {
		id, _ := registered(t, fake, func(records.ApplicationAttemptID) amrm.RegisterRequest {
			return amrm.RegisterRequest{Host: "h", RPCPort: 1}
		})
		return id
	}
	running, killed := application(), application()
	if err := alice.YARN.Kill(t.Context(), killed, ""); err != nil {
		t.Fatal(err)
	}
	listening := func() net.Listener {
		l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		return l
	}
	forgotten := running
	announced := func(content string) records.ApplicationID {
		forgotten.ID += 1000
		content = strings.ReplaceAll(content, "APPLICATION", forgotten.String())
		staged, err := staging.New(alice.Files, home, 0).Begin(t.Context(), forgotten.String())
		if err == nil && content != "" {
			err = staged.Put(t.Context(), launch.AccessFile, []byte(content))
		}
		if err != nil {
			t.Fatal(err)
		}
		return forgotten
	}
	at := func(l net.Listener) string {
		content, err := json.Marshal(launch.Access{Address: l.Addr().String(), Application: "APPLICATION"})
		if err != nil {
			t.Fatal(err)
		}
		return string(content)
	}
	gone := listening()
	if err := gone.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, application string
		over              bool
	}{
		{"one that runs", running.String(), false},
		{"one that was killed", killed.String(), true},
		{"one that YARN does not know and that never ran", announced("").String(), true},
		{"one that YARN does not know, whose ApplicationMaster is gone", announced(at(gone)).String(), true},
		{"one that YARN does not know, whose ApplicationMaster answers", announced(at(listening())).String(), false},
		{"one that YARN does not know, whose ApplicationMaster died as it began", announced(`{"Address":"127.0`).String(), true},
		{"a directory of somebody else's", "application_notes", false},
	} {
		if over, err := alice.over(t.Context(), staging.Dir(home, c.application), alice.access); err != nil || over != c.over {
			t.Errorf("%s: over is %t, %v", c.name, over, err)
		}
	}
	exposed := announced(at(gone)).String()
	if err := os.Chmod(strings.TrimPrefix(staging.Dir(home, exposed), "file://"), 0o777); err != nil {
		t.Fatal(err)
	}
	for application, remedy := range map[string]string{
		exposed: "chmod", // whatever status it announced
		announced(`{"Address":"h:1","Application":"application_1_1"}`).String(): "remove ",
		announced(`{}`).String():            "remove ",
		announced(`{"Address":1}`).String(): "remove ",
		announced(`{"Address":"nowhere.invalid:1","Application":"APPLICATION"}`).String(): "remove ", // a machine that is not known here
		announced(strings.Repeat(" ", 1<<20)).String():                                    "remove ",
	} {
		over, err := alice.over(t.Context(), staging.Dir(home, application), alice.access)
		if over || !errors.Is(err, staging.ErrUnclear) || !strings.Contains(err.Error(), application) || !strings.Contains(err.Error(), remedy) {
			t.Errorf("over is %t, %v; want staging.ErrUnclear of %s with %q", over, err, application, remedy)
		}
	}
}

// TestFilesGoOnceYARNHasTheEnd is the end of an ApplicationMaster that dies after it has unregistered and
// before it removes its files. It would catch that the files stay forever, or that files are removed that
// another attempt needs.
func TestFilesGoOnceYARNHasTheEnd(t *testing.T) {
	fake := fakeCluster(t, yarnfake.Config{})
	alice := seenBy(t, "alice", fake, fake.Conf())
	alice.Files = dfs.New(dfs.Options{})
	t.Cleanup(func() { _ = alice.Files.Close() })
	id, rm, _ := registeredMaster(t, fake, func(records.ApplicationAttemptID) amrm.RegisterRequest {
		return amrm.RegisterRequest{Host: "h", RPCPort: 1}
	})
	home := "file://" + t.TempDir()
	area := staging.New(alice.Files, home, 0)
	staged, err := area.Begin(t.Context(), id.String())
	if err == nil {
		err = staged.Put(t.Context(), launch.StagedFile, []byte("{}"))
	}
	if err != nil {
		t.Fatal(err)
	}
	collect := func() []staging.Removed {
		removed, err := area.Collect(t.Context(), staging.Collection{
			Over: func(ctx context.Context, application string) (bool, error) {
				return alice.over(ctx, staging.Dir(home, application), alice.access)
			},
			Now: time.Now(),
		})
		if err != nil {
			t.Fatal(err)
		}
		return removed
	}
	if removed := collect(); len(removed) > 0 {
		t.Errorf("removed while it runs: %v", removed)
	}
	if err := rm.Finish(t.Context(), records.FinalSucceeded, "", ""); err != nil {
		t.Fatal(err)
	}
	if removed := collect(); len(removed) != 1 || removed[0].URI != staged.Dir {
		t.Errorf("removed %v, want %s", removed, staged.Dir)
	}
	if _, err := alice.Files.Stat(t.Context(), staged.Dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is there: %v", staged.Dir, err)
	}
}
