package dispatcher

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/appmaster/budget"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// TestWhatWaitsForItsArchiveIsBounded would catch descriptions of ended jobs that fill the master's memory while HDFS is away,
// a job that is tried twice at once or never again, one that is given up twice or never, and a pause that does not grow, or
// grows without a bound; jobs whose descriptions the store has, and which count for nothing once they are read, or give way for
// nothing.
func TestWhatWaitsForItsArchiveIsBounded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := newCore(Config{Mode: Session, Archives: true, Archive: Limits{Jobs: 1, Time: time.Hour, Bytes: 1}})
		now := testEpoch
		sizes := make(map[ids.JobID]int64)            // of those that are neither archived nor given up
		stored := make(map[ids.JobID]*msg.JobDetails) // of jobs of an earlier master: what a try reads
		reads := make(map[ids.JobID]bool)             // tries that read it
		doing := make(map[ids.JobID]bool)             // tries
		pauses := make(map[ids.JobID]time.Duration)
		due := make(map[ids.JobID]time.Time)
		done := make(map[ids.JobID]bool)
		perform := func(effects []effect) {
			for _, e := range effects {
				switch e := e.(type) {
				case archiveJob:
					if doing[e.Job] || done[e.Job] {
						t.Fatalf("%s is tried again, although it is being tried or done", e.Job)
					}
					if c.outcome == nil && now.Before(due[e.Job]) {
						t.Fatalf("%s is tried %s early", e.Job, due[e.Job].Sub(now))
					}
					doing[e.Job], reads[e.Job] = true, e.Details == nil
				case archiveDelayed:
					if last := pauses[e.Job]; e.Pause > mostPause || e.Pause < leastPause || e.Pause < min(2*last, mostPause) {
						t.Fatalf("%s pauses for %s, after %s", e.Job, e.Pause, last)
					}
					pauses[e.Job], due[e.Job] = e.Pause, now.Add(e.Pause)
				case archiveDone:
					if done[e.Job] {
						t.Fatalf("%s is done twice", e.Job)
					}
					if stored[e.Job] != nil && errors.Is(e.Why, errTooMany) && len(c.unarchived.waiting) < mostUnarchived-1 {
						t.Fatalf("%s is given up, although its description can be read again", e.Job)
					}
					done[e.Job] = true
					delete(sizes, e.Job)
				default:
				}
			}
		}
		tried := func(job ids.JobID, err error) {
			delete(doing, job)
			e := archiveTried{Job: job, Err: err}
			if reads[job] && err != nil {
				e.Read = stored[job]
			}
			perform(c.Step(now, e))
		}
		all := 0
		end := func(size int, earlier bool) {
			all++
			id := ids.JobID(fmt.Sprintf("j%05d", all))
			details := &msg.JobDetails{ID: id, Name: strings.Repeat("x", size), Status: msg.JobFinished}
			sizes[id] = budget.EndedSize(details)
			c.effects, c.now = nil, now
			if earlier {
				stored[id] = details
				c.archiveEnded(id, details.Status, nil)
			} else {
				c.archiveEnded(id, details.Status, details)
			}
			perform(c.effects)
		}
		away := errors.New("HDFS is away")
		for range rapid.IntRange(1, 60).Draw(t, "events") {
			switch rapid.IntRange(0, 4).Draw(t, "event") {
			case 0:
				end(rapid.IntRange(0, 4<<20).Draw(t, "size"), rapid.Bool().Draw(t, "of an earlier master"))
			case 1: // many jobs in an outage
				earlier := rapid.Bool().Draw(t, "of an earlier master")
				for range rapid.IntRange(1, mostUnarchived/2).Draw(t, "jobs") {
					end(0, earlier)
					tried(ids.JobID(fmt.Sprintf("j%05d", all)), away)
				}
			case 2:
				now = now.Add(rapid.SampledFrom([]time.Duration{time.Second, leastPause, time.Minute, mostPause}).Draw(t, "time"))
				perform(c.Step(now, woken{}))
			default:
				if jobs := slices.Sorted(maps.Keys(doing)); len(jobs) > 0 {
					tried(rapid.SampledFrom(jobs).Draw(t, "job"), rapid.SampledFrom([]error{nil, away}).Draw(t, "error"))
				}
			}
			var bytes int64
			described := 0
			u := c.unarchived
			for id, size := range sizes {
				switch job := u.jobs[id]; {
				case job == nil:
					t.Fatalf("%s is forgotten", id)
				case job.details != nil:
					described++
					bytes += size
				case stored[id] == nil:
					t.Fatalf("the description of %s is lost", id)
				}
			}
			if bytes != u.bytes || len(sizes) != len(u.jobs) {
				t.Fatalf("%d jobs of %d bytes are counted as %d of %d", len(sizes), bytes, len(u.jobs), u.bytes)
			}
			if len(u.waiting) > mostUnarchived || described > 1 && bytes > mostUnarchivedBytes {
				t.Fatalf("%d jobs wait, and %d take %d bytes", len(u.waiting), described, bytes)
			}
			if len(u.waiting) > 0 && c.Alarm().After(slices.MinFunc(u.waiting, func(a, b *toArchive) int { return a.next.Compare(b.next) }).next) {
				t.Fatalf("the alarm is at %s, after the next try", c.Alarm())
			}
		}
		perform(c.Step(now, endAsked{})) // one last try of each
		for _, job := range slices.Sorted(maps.Keys(doing)) {
			tried(job, away)
		}
		if len(sizes) > 0 || len(c.unarchived.jobs) > 0 || c.unarchived.bytes != 0 {
			t.Fatalf("at the end, %d jobs of %d bytes are left", len(sizes), c.unarchived.bytes)
		}
	})
}

// TestAnArchiveIsGivenUpAfterAnHour would catch a job whose archive the file system refuses for good, and whose graph and result
// therefore stay in the store for as long as the cluster lives.
func TestAnArchiveIsGivenUpAfterAnHour(t *testing.T) {
	t.Parallel()
	c := newCore(Config{Mode: Session, Archives: true, Archive: Limits{Jobs: 1, Time: time.Hour, Bytes: 1}})
	now, refused := testEpoch, errors.New("quota")
	c.now = now
	c.archiveEnded("j1", msg.JobFinished, &msg.JobDetails{ID: "j1", Status: msg.JobFinished})
	for tries := 1; ; tries++ {
		for _, e := range c.Step(now, archiveTried{Job: "j1", Err: refused}) {
			if done, is := e.(archiveDone); is {
				if took := now.Sub(testEpoch); !errors.Is(done.Why, refused) || took < 50*time.Minute || took > 70*time.Minute || len(c.unarchived.jobs) > 0 {
					t.Errorf("after %d tries in %s: %+v, %d jobs are left", tries, took, done, len(c.unarchived.jobs))
				}
				return
			}
		}
		now = c.Alarm()
		c.Step(now, woken{})
	}
}

// TestAnArchiveIsReadOnceWhileThereIsRoom would catch a job of an earlier master that is read from the store at each of its tries,
// and one whose description stays in memory although a job that only the memory has needs the room.
func TestAnArchiveIsReadOnceWhileThereIsRoom(t *testing.T) {
	t.Parallel()
	c := newCore(Config{Mode: Session, Archives: true, Archive: Limits{Jobs: 1, Time: time.Hour, Bytes: 1}})
	large := func(id ids.JobID) *msg.JobDetails {
		return &msg.JobDetails{ID: id, Name: strings.Repeat("x", mostUnarchivedBytes/2), Status: msg.JobFinished}
	}
	tries := func(effects []effect) map[ids.JobID]bool {
		described := make(map[ids.JobID]bool)
		for _, e := range effects {
			if tried, is := e.(archiveJob); is {
				described[tried.Job] = tried.Details != nil
			}
		}
		return described
	}
	away := errors.New("HDFS is away")
	c.now = testEpoch
	c.archiveEnded("old", msg.JobFinished, nil)
	c.Step(testEpoch, archiveTried{Job: "old", Err: away, Read: large("old")})
	now := c.Alarm()
	if described := tries(c.Step(now, woken{})); !described["old"] {
		t.Errorf("the second try: %v, want one that reads nothing", described)
	}
	c.Step(now, archiveTried{Job: "old", Err: away})
	c.now = now
	c.archiveEnded("new", msg.JobFinished, large("new"))
	if c.unarchived.jobs["old"] == nil || c.unarchived.jobs["new"] == nil || c.unarchived.bytes > mostUnarchivedBytes {
		t.Errorf("%d jobs of %d bytes wait, want both", len(c.unarchived.jobs), c.unarchived.bytes)
	}
	if described := tries(c.Step(c.Alarm(), woken{})); len(described) != 1 || described["old"] {
		t.Errorf("the third try: %v, want one that reads", described)
	}
}
