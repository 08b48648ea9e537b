package dispatcher

import (
	"fmt"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/internal/collect"
	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/ha"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// TestResultsOfAnEarlierMasterFitTheArchive lists the jobs of an earlier master, and reads their results one after the other.
// Together the results are far larger than the archive. It would catch a list that reads them, or makes the session forget
// jobs; results that fill the memory; and a job whose result cannot be read a second time.
func TestResultsOfAnEarlierMasterFitTheArchive(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds of a processor")
	}
	t.Parallel()
	const jobs, size = 100, 1 << 20
	k, now := stored{newMemory(t)}, testEpoch
	var left Recovered
	for n := range jobs {
		id := ids.JobID(fmt.Sprintf("j%04d", n))
		details := &msg.JobDetails{ID: id, Name: "counting", Status: msg.JobFinished, Start: now, End: now}
		records := collect.Results{"r0": filled(t, collect.MaxBuffered, size)}
		if err := k.addResult(t.Context(), id, result{Details: details, Results: records}); err != nil {
			t.Fatal(err)
		}
		left.Results = append(left.Results, ha.ResultEntry{ID: id, Status: msg.JobFinished})
	}
	c := newCore(Config{Mode: Session, Archive: Limits{Time: time.Hour, Jobs: 10 * jobs, Bytes: 10 * size}})
	var answer any
	var step func(event)
	step = func(e event) {
		for _, effect := range c.Step(now, e) {
			switch f := effect.(type) {
			case loadOverview:
				r, err := k.overview(t.Context(), f.Job, f.Status)
				step(overviewLoaded{Job: f.Job, Identity: r.Identity, Overview: r.Details.Overview(), Err: err})
			case loadResult:
				r, err := k.result(t.Context(), f.Job, f.Status, func(int) error { return nil })
				step(resultLoaded{Job: f.Job, Result: r, Err: err})
			case jobForgotten:
				t.Errorf("job %s is forgotten", f.Job)
			case reply:
				answer = f.Content()
			}
		}
		if c.archive.size > c.config.Archive.Bytes {
			t.Fatalf("ended jobs take %d bytes", c.archive.size)
		}
	}
	step(recovered{left})
	step(jobsAsked{Question: actor.Question[[]jobEntry](1)})
	if c.archive.size > size {
		t.Errorf("after a list, ended jobs take %d bytes", c.archive.size)
	}
	for range 2 {
		for _, e := range left.Results {
			now = now.Add(time.Second) // sooner than handoverTime
			step(pageAsked{Job: e.ID, Name: "r0", Question: actor.Question[pageAnswer](1)})
			if page, is := answer.(pageAnswer); !is || page.Err != nil || len(page.Page.Records) == 0 {
				t.Fatalf("job %s: %+v", e.ID, answer)
			}
		}
	}
	step(jobsAsked{Question: actor.Question[[]jobEntry](1)})
	entries, _ := answer.([]jobEntry)
	for _, e := range entries {
		if e.Overview == nil && e.Details.Name != "counting" || e.Overview != nil && e.Overview.Name != "counting" {
			t.Errorf("job %s is listed as %+v, %+v", e.Job, e.Overview, e.Details)
		}
	}
	if len(entries) != jobs {
		t.Errorf("%d of %d jobs are listed", len(entries), jobs)
	}
}
