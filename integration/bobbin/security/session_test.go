package security

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// TestASessionIsItsOwnersAndHisFriends would catch somebody who may only look and runs
// programs as the session's owner, or ends what is others'; and one whom the owner lets do
// all that and who cannot.
func TestASessionIsItsOwnersAndHisFriends(t *testing.T) {
	private := func(name string) *bobbintest.User { return suite.User(t, name).With("TMPDIR=" + t.TempDir()) }
	owner, friend, guest := private(bobbintest.Alice), private(bob), private(small)
	started := owner.Run(t, append(append([]string{"session", "start", "-d", "-jm", "256m", "-tm", "448m"},
		option("yarn.view.acls", friend.Name+","+guest.Name)...), option("yarn.modify.acls", friend.Name)...)...)
	if started.Code != 0 {
		t.Fatal(started)
	}
	id := started.Application(t)
	t.Cleanup(func() { owner.Run(t, "kill", id) })
	dir := owner.Scratch(t)
	owner.Write(t, dir+"/lines", "to be\nor not\nto do\n")
	content, err := os.ReadFile(suite.Program(t, "several"))
	if err != nil {
		t.Fatal(err)
	}
	sifter := filepath.Join(t.TempDir(), "sifter") // with something behind its end no cache has it
	if err := os.WriteFile(sifter, append(content, ids.Random()...), 0o700); err != nil {
		t.Fatal(err)
	}
	kept := func(u *bobbintest.User) bool {
		return slices.ContainsFunc(u.Staging(t).Cache, func(file string) bool { return strings.HasSuffix(file, "/sifter") })
	}
	sift := func(u *bobbintest.User, output string) bobbintest.Outcome {
		return u.Run(t, "run", "-t", "yarn-session", "-id", id, sifter, dir+"/lines", dir+"/"+output, "to")
	}

	if got := sift(guest, "guest"); got.Code != 1 || !strings.Contains(got.Stderr, "user "+guest.Name+" may not run programs here") {
		t.Errorf("a job of who may look: %s", got)
	}
	if kept(owner) {
		t.Error("a program of who may look is in the owner's cache")
	}
	if got := sift(friend, "friend"); got.Code != 0 || got.Stdout != "2 lines hold to\n" {
		t.Errorf("a job of a friend: %s", got)
	}
	if diff := cmp.Diff([]string{"to be", "to do"}, owner.Output(t, dir+"/friend-1")); diff != "" {
		t.Errorf("its output (-want +got):\n%s", diff)
	}
	files, err := owner.Cluster.HDFS()
	if err != nil {
		t.Fatal(err)
	}
	if written, err := files.List(t.Context(), dir+"/friend-1"); err != nil || len(written) == 0 || written[0].Owner != owner.Name {
		t.Errorf("its output is %+v, %v; want the session's owner's", written, err)
	}
	if !kept(owner) || kept(friend) {
		t.Error("the friend's program is not in the owner's cache, or in his own")
	}

	if got := guest.Run(t, "list", "-a", "-id", id); got.Code != 0 || !strings.Contains(got.Stdout, "FINISHED") {
		t.Errorf("the list for who may look: %s", got)
	}
	if got := guest.Run(t, "session", "stop", "-id", id); got.Code != 1 || !strings.Contains(got.Stderr, "user "+guest.Name+" may not change this application") {
		t.Errorf("its end by who may look: %s", got)
	}
	if got := friend.Run(t, "session", "stop", "-id", id); got.Code != 0 {
		t.Errorf("its end by a friend: %s", got)
	}
	if app := owner.WaitEnded(t, id); app.FinalStatus != "SUCCEEDED" {
		t.Errorf("YARN says %s (%s): %s", app.State, app.FinalStatus, app.Diagnostics)
	}
}
