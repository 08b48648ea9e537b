package jobs

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
)

// TestTenJobsOnASmallCluster would catch jobs that give up because their
// containers do not come at once, that hold workers which they cannot use, or
// that get the files, the workers or the result of one another: none but the
// first has its binaries in the cache for certain.
//
// The cluster has 4 GB: each job takes 256 MB for its master and 1 GB for its two
// workers. YARN lets four masters run at a time.
func TestTenJobsOnASmallCluster(t *testing.T) {
	t.Parallel()
	c := clusters.Own(t, cluster.Config{
		MemoryMB:  2048,
		Scheduler: map[string]string{"yarn.scheduler.capacity.maximum-am-resource-percent": "0.25"},
	})
	alice := suite.UserOf(t, c, bobbintest.Alice)
	dir := alice.Scratch(t)
	const jobs = 10
	var runs [jobs]*bobbintest.Command
	var wants [jobs][]string
	for i := range runs {
		text := suite.Generate(t, "-size", "1m", "-files", "2", "-seed", fmt.Sprint(i))
		alice.Put(t, text, fmt.Sprintf("%s/text-%d", dir, i))
		wants[i] = bobbintest.CountWords(t, text)
	}
	for i := range runs {
		runs[i] = alice.Start(t, "run", "-t", "yarn-per-job", "-p", "2", "-s", "1", "-jm", "256m", "-tm", "512m", "-nm", fmt.Sprint("job-", i),
			suite.Program(t, "wordcount"), "--input", fmt.Sprintf("%s/text-%d", dir, i), "--output", fmt.Sprintf("%s/counts-%d", dir, i))
	}
	waited := false // one job for what others have: otherwise this tests nothing
	wait.For(t, "all jobs have ended", func() (bool, error) {
		running := 0
		for _, run := range runs {
			if run.Running() {
				running++
			}
		}
		metrics, err := c.RM().Metrics(t.Context())
		waited = waited || metrics.AppsPending > 0 && metrics.AppsRunning > 1
		return running == 0, err
	})
	if !waited {
		t.Error("all jobs found room at once")
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
		if app := alice.WaitEnded(t, application); app.FinalStatus != "SUCCEEDED" {
			t.Errorf("YARN says of job %d: %s (%s): %s", i, app.State, app.FinalStatus, app.Diagnostics)
		}
		alice.CheckGone(t, application)
	}
	if staged := alice.Staging(t); len(staged.Cache) != 2 || len(staged.Applications) != 0 {
		t.Errorf("staged are %+v, want bobbin and wordcount in the cache, once each", staged)
	}
}
