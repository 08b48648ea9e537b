package client

import (
	"encoding/json"
	"net"
	"testing"

	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/staging"
	"github.com/bobbin-yarn/bobbin/yarnrpc/amrm"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnfake"
)

// TestWhatIsOver would catch the files of a living application that are removed, above all of
// one that this ResourceManager does not know since it is another cluster's, and those of a
// dead one that stay for ever.
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
		content, err := json.Marshal(launch.Access{Address: l.Addr().String()})
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
		{"one that YARN does not know, on a machine that is not known here", announced(`{"Address":"nowhere.invalid:1"}`).String(), false},
		{"one that YARN does not know, whose ApplicationMaster died as it began", announced(`{"Address":"127.0`).String(), true},
		{"a directory of somebody else's", "application_notes", false},
	} {
		if over, err := alice.over(t.Context(), home, c.application); err != nil || over != c.over {
			t.Errorf("%s: over is %t, %v", c.name, over, err)
		}
	}
}
