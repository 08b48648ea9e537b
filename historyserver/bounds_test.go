package historyserver

import (
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
)

// TestOldArchivesAreRemoved would catch archives beyond historyserver.archive.retained-jobs that stay, newer ones and files
// of running jobs that go, archives that go although all are to stay, and files of jobs whose masters all died that stay
// for ever.
func TestOldArchivesAreRemoved(t *testing.T) {
	t.Parallel()
	for retained, want := range map[int][2]int{0: {21, 21}, 1: {2, 1}, 5: {6, 5}, 20: {21, 20}, 21: {21, 21}, 30: {21, 21}} {
		synctest.Test(t, func(t *testing.T) {
			files := dataflowtest.NewFiles(nil)
			running := "/done/" + restapi.RunningArchive{Job: idOf(99), Epoch: 1}.String()
			files.Write(running, archiveOf(idOf(99), "RUNNING"))
			for n := range 20 { // each is newer than the one before
				files.Write("/done/"+string(idOf(n)), archiveOf(idOf(n), "FINISHED"))
			}
			s, _ := newTestServer(t, files, func(c *Config) { c.Limits.Retained = retained })
			check := func(want int) {
				t.Helper()
				s.refresh(t.Context())
				if got := len(files.Files()); got != want {
					t.Errorf("%d are to stay, there are %d files, want %d", retained, got, want)
				}
				if _, stays := files.Files()["/done/"+string(idOf(19))]; !stays {
					t.Errorf("%d are to stay, and the newest is gone", retained)
				}
			}
			check(want[0])
			info, err := files.Stat(t.Context(), "mem://"+running)
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Until(info.ModTime.Add(leftTime + time.Minute)))
			check(want[1])
		})
	}
}

// TestDraftsOfDeadMastersAreRemoved would catch drafts that stay for ever and take of the directory's quota, because the masters
// that wrote them have died; one that a master is writing; and files of others that go.
func TestDraftsOfDeadMastersAreRemoved(t *testing.T) {
	t.Parallel()
	for retained, want := range map[int]int{0: 4, 10: 2} {
		synctest.Test(t, func(t *testing.T) {
			files := dataflowtest.NewFiles(nil)
			running := "/done/" + restapi.ArchiveDraft{Job: idOf(1), Epoch: 1}.String()
			for _, name := range []string{running, "/done/" + restapi.ArchiveDraft{Job: idOf(1), Epoch: 12, Ended: true}.String(), "/done/.report-draft", "/done/." + string(idOf(1)) + ".x.ended-draft"} {
				files.Write(name, `{"archive":[`)
			}
			s, _ := newTestServer(t, files, func(c *Config) { c.Limits.Retained = retained })
			info, err := files.Stat(t.Context(), "mem://"+running)
			if err != nil {
				t.Fatal(err)
			}
			check := func(age time.Duration, want int) {
				t.Helper()
				time.Sleep(time.Until(info.ModTime.Add(age)))
				s.refresh(t.Context())
				if got := len(files.Files()); got != want {
					t.Errorf("%d are to stay, and after %s there are %d files, want %d", retained, age, got, want)
				}
			}
			check(draftTime-time.Minute, 4)
			check(draftTime+time.Minute, want)
		})
	}
}

// TestAJobGoesWithItsArchive would catch jobs that stay on the page when the server has removed their archives, and are gone
// after a restart; jobs that go because others have removed their archives; and a job that is not shown although HDFS refuses to
// remove its archive.
func TestAJobGoesWithItsArchive(t *testing.T) {
	t.Parallel()
	files := dataflowtest.NewFiles(nil)
	var refused error
	s, _ := newTestServer(t, files.View(func(c dataflowtest.Call) error {
		if c.Op == "Remove" {
			return refused
		}
		return nil
	}), func(c *Config) { c.Limits.Retained = 5 })
	check := func(stay, shown int) {
		t.Helper()
		s.refresh(t.Context())
		if got := len(files.Files()); got != stay {
			t.Errorf("there are %d archives, want %d", got, stay)
		}
		if got := len(s.newest()); got != shown {
			t.Errorf("%d jobs are shown, want %d", got, shown)
		}
	}
	for n := range 20 {
		files.Write("/done/"+string(idOf(n)), archiveOf(idOf(n), "FINISHED"))
		check(min(n+1, 5), min(n+1, 5))
	}
	if err := files.Remove(t.Context(), "mem:///done/"+string(idOf(19))); err != nil {
		t.Fatal(err)
	}
	check(4, 5)
	refused = fs.ErrPermission
	for n := range 5 {
		files.Write("/done/"+string(idOf(20+n)), archiveOf(idOf(20+n), "FINISHED"))
	}
	check(9, 10)
	refused = nil
	check(5, 6)
}

// TestAnArchiveThatGrowsIsBounded would catch a file that fills the disk because it was small when it was listed, and a
// server that does not show it when it is whole again.
func TestAnArchiveThatGrowsIsBounded(t *testing.T) {
	t.Parallel()
	own := "/done/" + string(idOf(1))
	whole := archiveOf(idOf(1), "FINISHED")
	long := archiveOf(idOf(1), "FINISHED", "/jobs/"+string(idOf(1)), `"`+strings.Repeat("x", 1<<19)+`"`)
	files := dataflowtest.NewFiles(map[string]string{own: whole})
	grows := true
	s, _ := newTestServer(t, files.View(func(c dataflowtest.Call) error {
		if c.Op == "Open" && !c.Done && grows {
			files.Write(own, long)
		}
		return nil
	}), nil)
	s.refresh(t.Context())
	if status, _ := ask(s, "/jobs/"+string(idOf(1))); status != 404 {
		t.Errorf("an archive beyond the limit: status %d", status)
	}
	if left, err := os.ReadDir(s.folder); err != nil || len(left) != 1 || left[0].Name() != "lists" {
		t.Errorf("the local folder has %v, error %v", left, err)
	}
	grows = false
	files.Write(own, whole)
	s.refresh(t.Context())
	if status, _ := ask(s, "/jobs/"+string(idOf(1))+"/status"); status != 200 {
		t.Errorf("when it is whole: status %d", status)
	}
}

// allocated is how many bytes a function allocates.
func allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestAHostileListTakesNoMemory would catch a list of millions of jobs in an answer, each of which would take more memory than
// its two bytes.
func TestAHostileListTakesNoMemory(t *testing.T) { // alone, because others allocate too
	list := []byte(`{"jobs":[` + strings.Repeat("0,", maxAnswer/2-100) + `0]}`)
	if bytes := allocated(func() {
		if _, err := overviewOf(list, idOf(1)); err == nil {
			t.Error("the list is read")
		}
	}); bytes > maxList {
		t.Errorf("a list of %d bytes takes %d bytes of memory", len(list), bytes)
	}
}

// TestALargeDirectoryIsListed would catch memory that grows with the directory, and a sort of all files for each one.
func TestALargeDirectoryIsListed(t *testing.T) {
	const all, most = 100_000, 1000
	l := newListing(Limits{Jobs: most, Archive: 1 << 20})
	longest := 0
	for n := range all {
		l.add(source{uri: fmt.Sprintf("mem:///done/%032x", n), job: idOf(n), size: int64(n % (2 << 20)), modified: int64(n * 7919 % all), ended: true})
		longest = max(longest, len(l.jobs)+len(l.large))
	}
	if longest > 2*most+mostLarge {
		t.Errorf("the listing has had %d archives", longest)
	}
	c := newCore(Limits{Jobs: most, Bytes: 1 << 40, Archive: 1 << 20}, 1)
	if p := c.refresh([]*listing{l}); len(p.fetch) != most || p.fetch[0].modified != all-1 || p.fetch[most-1].modified != all-most {
		t.Errorf("%d archives are fetched, want the newest ones", len(p.fetch))
	}
}
