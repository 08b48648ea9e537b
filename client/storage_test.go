package client

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/staging"
)

// A session has its storage in a directory of its own. Others clean the same staging area, and know nothing of its options.
// The test would catch a program of the session that they remove, and a storage that stays when the session was killed.
func TestOthersFindTheStorageOfASession(t *testing.T) {
	t.Parallel()
	cluster, hdfs := onHDFS(t)
	app, _, err := begun(t, cluster, "high-availability.storageDir=/ha")
	if err != nil {
		t.Fatal(err)
	}
	s := lead(t, cluster.Files, app.stored, 1, launch.Access{})
	session := staging.Resume(cluster.Files, app.dir, s.Dir(), 0, ids.Source{})
	temporary, err := session.Receive(t.Context(), strings.NewReader("binary"))
	if err != nil {
		t.Fatal(err)
	}
	const hash = "9a3a45d01531a20e89ac6ae10b0b0beb0492acd7216a368aa062d1a5fecaf9cd"
	if _, err := session.File(t.Context(), temporary, hash, "binary"); err != nil {
		t.Fatal(err)
	}
	home, err := cluster.home()
	if err != nil {
		t.Fatal(err)
	}
	clean := func() {
		t.Helper()
		_, err := staging.New(cluster.Files, home, 0).Collect(t.Context(), staging.Collection{
			Over: func(context.Context, string) (bool, error) { return false, nil }, Now: time.Now().Add(time.Hour),
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	clean()
	if _, err := session.Find(t.Context(), hash); err != nil {
		t.Errorf("a program of the session: %v", err)
	}
	if err := cluster.Sweep(t.Context(), app.ID); err != nil {
		t.Error(err)
	}
	clean()
	if _, err := session.Find(t.Context(), hash); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after the session, its program: %v", err)
	}
	if left := slices.DeleteFunc(hdfs.Paths(), func(p string) bool { return !strings.Contains(p, app.ID.String()) }); len(left) > 0 {
		t.Errorf("left are %q", left)
	}
}
