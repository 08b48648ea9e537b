package options

import (
	"encoding/json"
	"errors"
	"path"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// collecting holds the arguments with which bobbin gc keeps nothing because of its age or of free
// room.
var collecting = []string{"gc", "-o", "json", "-D", "staging.gc.min-age=0", "-D", "staging.cache.max-size=0"}

// collect runs bobbin gc and returns the last path elements of the removed files.
func collect(t *testing.T, u *bobbintest.User, flags ...string) []string {
	t.Helper()
	return removedBy(t, u.Run(t, append(slices.Clone(collecting), flags...)...))
}

func removedBy(t *testing.T, got bobbintest.Outcome) []string {
	t.Helper()
	if got.Code != 0 {
		t.Fatal(got)
	}
	var answer struct{ Removed []struct{ URI string } }
	if err := json.Unmarshal([]byte(got.Stdout), &answer); err != nil {
		t.Fatalf("%v: %s", err, got)
	}
	var names []string
	for _, r := range answer.Removed {
		name, _, _ := strings.Cut(path.Base(r.URI), ".") // a file that was renamed before its removal
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// TestGarbageIsCollected would catch files that remain after YARN kills an application, a cache
// that grows with each new build of a program, and above all a running application that loses its
// files. It would also catch rights to end an application that YARN does not get.
func TestGarbageIsCollected(t *testing.T) {
	t.Parallel()
	u := suite.Newcomer(t)
	dir := u.Scratch(t)
	u.Put(t, suite.Generate(t, "-size", "20k", "-files", "1"), dir+"/text")
	ended := u.Run(t, bobbintest.Small(suite.Program(t, "wordcount"), "--input", dir+"/text", "--output", dir+"/counts")...)
	if ended.Code != 0 {
		t.Fatal(ended)
	}
	killed, runs := suite.Dawdle(t, u, option("yarn.modify.acls", clusters.Bob)...), suite.Dawdle(t, u)
	killed.Run.Signal(t, syscall.SIGKILL) // otherwise it would clean up itself
	killed.Run.Wait(t)
	// Like yarn application -kill, which removes no files.
	kill := func(application string) error {
		id, err := records.ParseApplicationID(application)
		if err != nil {
			return err
		}
		return suite.User(t, clusters.Bob).Client(t).YARN.Kill(t.Context(), id, "")
	}
	if err := kill(runs.Application); !errors.Is(err, yarnrpc.ErrYarn) {
		t.Errorf("Bob kills an application to which he has no right: %v", err)
	}
	if err := kill(killed.Application); err != nil {
		t.Fatal(err)
	}
	u.WaitEnded(t, killed.Application)
	staged := u.Staging(t)
	if !slices.Contains(staged.Applications, killed.Application) {
		t.Fatalf("nothing is left of %s: %+v", killed.Application, staged)
	}
	want := []string{killed.Application}
	for _, entry := range staged.Cache {
		if hash, is := strings.CutSuffix(entry, "/wordcount"); is {
			want = append(want, hash)
		}
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, collect(t, u, "--dry-run")); diff != "" {
		t.Errorf("would remove (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(staged, u.Staging(t)); diff != "" {
		t.Errorf("the dry run has removed something (-before +after):\n%s", diff)
	}
	// Two collections at once must not disturb each other, nor leave anything.
	again := u.Start(t, collecting...)
	removed := append(collect(t, u), removedBy(t, again.Wait(t))...)
	slices.Sort(removed)
	if diff := cmp.Diff(want, slices.Compact(removed)); diff != "" {
		t.Errorf("removed (-want +got):\n%s", diff)
	}
	staged = u.Staging(t)
	if !slices.Equal(staged.Applications, []string{runs.Application}) || len(staged.Cache) != 2 {
		t.Errorf("staged are %+v, want what %s uses", staged, runs.Application)
	}
	runs.CheckSucceeds(t)
	if left := collect(t, u); len(left) != 2 {
		t.Errorf("removed %q, want bobbin and dawdle from the cache", left)
	}
}
