package jobs

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
)

// TestMoreJobsThanAQueueHasRoomFor would catch jobs that fail because their containers do not come at once, that hold
// workers which they cannot use, or that get the files, the workers or the result of another job. Only the first job
// certainly has its program in the cache.
//
// The queue has 4 GB, of which masters may use 1 GB. The first two jobs use that until the others wait. The others have
// 256 MB for the master and 1 GB for two workers. YARN lets three of them run at a time.
func TestMoreJobsThanAQueueHasRoomFor(t *testing.T) {
	cluster.Long(t)
	t.Parallel()
	alice := suite.User(t, bobbintest.Alice)
	dir := alice.Scratch(t)
	tally := suite.Unseen(t, "wordcount", "tally")
	var first [2]*bobbintest.Dawdler
	for i := range first {
		first[i] = suite.Dawdle(t, alice, "-qu", clusters.Narrow, "-p", "1", "-jm", "512m")
	}
	const jobs = 6
	var runs [jobs]*bobbintest.Command
	var wants [jobs][]string
	for i := range runs {
		text := suite.Generate(t, "-size", "200k", "-files", "2", "-seed", fmt.Sprint(i))
		alice.Put(t, text, fmt.Sprintf("%s/text-%d", dir, i))
		wants[i] = bobbintest.CountWords(t, text)
	}
	for i := range runs {
		runs[i] = alice.Start(t, "run", "-t", "yarn-per-job", "-qu", clusters.Narrow, "-p", "2", "-s", "1", "-jm", "256m", "-tm", "512m", "-nm", fmt.Sprint("job-", i),
			tally, "--input", fmt.Sprintf("%s/text-%d", dir, i), "--output", fmt.Sprintf("%s/counts-%d", dir, i))
	}
	for _, run := range runs {
		run.Says(t, "waits for its container since ")
	}
	for _, d := range first {
		d.CheckSucceeds(t)
	}
	for i, run := range runs {
		got := run.Wait(t)
		if got.Code != 0 {
			t.Errorf("job %d: %s", i, got)
			continue
		}
		if diff := cmp.Diff(wants[i], alice.Output(t, fmt.Sprintf("%s/counts-%d", dir, i))); diff != "" {
			t.Errorf("counts of job %d differ (-want +got):\n%.1000s", i, diff)
		}
		application := got.Application(t)
		if app := alice.WaitEnded(t, application); app.FinalStatus != "SUCCEEDED" || !strings.HasSuffix(app.Queue, clusters.Narrow) {
			t.Errorf("YARN says of job %d in %s: %s (%s): %s", i, app.Queue, app.State, app.FinalStatus, app.Diagnostics)
		}
		alice.CheckGone(t, application)
	}
	checkCachedOnce(t, alice, "tally")
}

// checkCachedOnce checks that a program is in the cache once, and without late uploads. All jobs with this program
// computed the same digest.
func checkCachedOnce(t *testing.T, u *bobbintest.User, program string) {
	t.Helper()
	var digest string
	cache := u.Staging(t).Cache
	for _, file := range cache {
		if hash, name, _ := strings.Cut(file, "/"); name == program {
			digest = hash
		}
	}
	cache = slices.DeleteFunc(cache, func(file string) bool { return !strings.HasPrefix(file, digest+"/") })
	if want := []string{digest + "/" + program}; !slices.Equal(cache, want) {
		t.Errorf("staged are %v, want %v", cache, want)
	}
}
