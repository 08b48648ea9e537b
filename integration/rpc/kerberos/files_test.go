package kerberos

import (
	"crypto/rand"
	"errors"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
)

// filesAreProtected works with files by each way to log in, and looks at the bytes on all sockets,
// also those to DataNodes. It would catch calls that the HDFS library sends itself without
// protection under privacy.
func filesAreProtected(t *testing.T, c *cluster.Cluster, readable bool) {
	const text = "what-nobody-may-read"
	name := "a-file-that-nobody-may-hear-of-" + rand.Text()
	t.Run("with kerberos", func(t *testing.T) {
		var socket bobbintest.Tap
		o := rpctest.FSOptions(t, c, alice)
		o.Dial = socket.Dial
		f := rpctest.FS(t, o)
		uri := anew(t, c, f, "/tmp/"+name, text, alice)
		if content, err := f.ReadFile(t.Context(), uri, 100); err != nil || string(content) != text {
			t.Errorf("the file holds %q, %v", content, err)
		}
		if _, err := f.Stat(t.Context(), uri); err != nil {
			t.Error(err)
		}
		for _, secret := range []string{name, text, "getFileInfo", "rename2"} {
			sent, got := socket.Saw(secret)
			if sent != readable || got && !readable {
				t.Errorf("%q is in the requests: %t, in the answers: %t; want %t", secret, sent, got, readable)
			}
		}
		if sent, got := socket.Saw("GSSAPI"); !sent || !got {
			t.Error("the login was not recorded")
		}
	})
	t.Run("with a token alone", func(t *testing.T) {
		token, cancel := fileToken(t, c)
		all := &creds.Credentials{Tokens: map[string]*creds.Token{"": token}}
		o := dfs.Options{Conf: rpctest.Conf(t, c), User: alice, Credentials: func() *creds.Credentials { return all }}
		f := rpctest.FS(t, o)
		uri := anew(t, c, f, "/tmp/"+name+"-of-a-container", text, alice)
		if content, err := f.ReadFile(t.Context(), uri, 100); err != nil || string(content) != text {
			t.Errorf("the file holds %q, %v", content, err)
		}
		cancel()
		if _, err := rpctest.FS(t, o).Stat(t.Context(), uri); !errors.Is(err, yarnrpc.ErrInvalidToken) {
			t.Errorf("with a cancelled token: %v", err)
		}
	})
	t.Run("as a proxy user", func(t *testing.T) {
		o := rpctest.FSOptions(t, c, alice)
		o.User, o.RealUser = bob, alice
		anew(t, c, rpctest.FS(t, o), "/tmp/"+name+"-for-bob", text, bob)
		o = rpctest.FSOptions(t, c, bob)
		o.User, o.RealUser = alice, bob
		_, err := rpctest.FS(t, o).Stat(t.Context(), "/tmp")
		if err == nil || !strings.Contains(err.Error(), "not allowed to impersonate alice") {
			t.Errorf("bob acts for alice: %v", err)
		}
	})
	t.Run("without a login", func(t *testing.T) {
		if _, err := rpctest.FS(t, dfs.Options{Conf: rpctest.Conf(t, c), User: alice}).Stat(t.Context(), "/tmp"); !errors.Is(err, yarnrpc.ErrNoLogin) {
			t.Errorf("error is %v", err)
		}
	})
}

// anew creates a file under another name, renames it, and checks its owner.
func anew(t *testing.T, c *cluster.Cluster, f *dfs.FS, path, text, owner string) (uri string) {
	t.Helper()
	uri, err := f.Qualify(path)
	if err != nil {
		t.Fatal(err)
	}
	w, err := f.Create(t.Context(), uri+"-under-way", filesystem.ExistingParents)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Rename(t.Context(), uri+"-under-way", uri); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.RemoveAll(wait.Context(t), uri); err != nil && !errors.Is(err, yarnrpc.ErrInvalidToken) {
			t.Error(err)
		}
	})
	h := rpctest.HDFS(t, c)
	if found, err := h.List(t.Context(), path); err != nil || len(found) != 1 || found[0].Owner != owner {
		t.Errorf("the NameNode has %+v, %v; want a file of %s", found, err, owner)
	}
	return uri
}

// fileToken gets a token for the NameNode for alice, and a function that cancels it.
func fileToken(t *testing.T, c *cluster.Cluster) (token *creds.Token, cancel func()) {
	t.Helper()
	files := rpctest.FS(t, rpctest.FSOptions(t, c, alice))
	token, err := files.DelegationToken(t.Context(), "/", bob)
	if err != nil {
		t.Fatal(err)
	}
	return token, func() {
		if err := files.CancelDelegationToken(t.Context(), "/", token); err != nil {
			t.Error(err)
		}
	}
}
