package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	logtest "github.com/sirupsen/logrus/hooks/test"
	"go.uber.org/goleak"

	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest"
	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const job ids.JobID = "0123456789abcdef0123456789abcdef"

// cluster is the jobs of a cluster.
type cluster map[ids.JobID]msg.JobDetails

func (c cluster) Unfinished(context.Context) ([]msg.JobOverview, error) {
	var list []msg.JobOverview
	for _, id := range slices.Sorted(maps.Keys(c)) {
		if d := c[id]; d.End.IsZero() {
			list = append(list, d.Overview())
		}
	}
	return list, nil
}

func (c cluster) JobDetails(_ context.Context, id ids.JobID) (msg.JobDetails, error) {
	d, is := c[id]
	if !is {
		return d, msg.ErrJobNotFound
	}
	return d, nil
}

// described is a short text about a job, in the place of its archive.
func described(epoch ids.Epoch) func(context.Context, io.Writer, msg.JobDetails, time.Time) error {
	return func(_ context.Context, w io.Writer, d msg.JobDetails, now time.Time) error {
		_, err := fmt.Fprintf(w, "%s in epoch %d, after %s", d.Status, epoch, now.Sub(d.Start))
		return err
	}
}

func master(files filesystem.FileSystem, epoch ids.Epoch) (*Archive, *logtest.Hook) {
	logger, hook := logtest.NewNullLogger()
	return New(Config{
		Files: files, Dir: "mem:///done", Epoch: epoch, Began: time.Now(), Write: described(epoch),
		Confirm: func(context.Context) error { return nil },
	}, logger), hook
}

func runs() msg.JobDetails {
	return msg.JobDetails{ID: job, Status: msg.JobRunning, Start: time.Now()}
}

func ends(d msg.JobDetails) func(context.Context) (*msg.JobDetails, error) {
	d.Status, d.End = msg.JobFinished, time.Now()
	return func(context.Context) (*msg.JobDetails, error) { return &d, nil }
}

// there is what the directory has.
func there(files *dataflowtest.Files) []string {
	var all []string
	for name, content := range files.Files() {
		if strings.HasSuffix(name, "/") { // the directory itself
			continue
		}
		all = append(all, strings.TrimPrefix(name, "/done/")+": "+content)
	}
	slices.Sort(all)
	return all
}

func want(t *testing.T, files *dataflowtest.Files, all ...string) {
	t.Helper()
	if got := there(files); !slices.Equal(got, all) {
		t.Errorf("there are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(all, "\n"))
	}
}

// TestALaterMasterKnowsMore would catch a master that was frozen, and replaces what a later one has written of a job that
// runs or has ended; and files of a running job that stay after its end.
func TestALaterMasterKnowsMore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		files := dataflowtest.NewFiles(nil)
		early, _ := master(files, 1)
		d := runs()
		jobs := cluster{job: d}
		time.Sleep(Interval)
		for range 3 {
			if err := early.round(t.Context(), jobs); err != nil {
				t.Fatal(err)
			}
			time.Sleep(Interval)
		}
		want(t, files, "."+string(job)+".1.running-0: RUNNING in epoch 1, after 2m0s", "."+string(job)+".1.running-1: RUNNING in epoch 1, after 3m0s")
		late, _ := master(files, 2)
		if err := late.round(t.Context(), jobs); err != nil {
			t.Fatal(err)
		}
		want(t, files, "."+string(job)+".1.running-0: RUNNING in epoch 1, after 2m0s", "."+string(job)+".1.running-1: RUNNING in epoch 1, after 3m0s",
			"."+string(job)+".2.running-1: RUNNING in epoch 2, after 4m0s")
		if err := late.Ended(t.Context(), ends(d)); err != nil {
			t.Error(err)
		}
		want(t, files, string(job)+": FINISHED in epoch 2, after 4m0s")
		if err := early.Ended(t.Context(), ends(d)); err != nil { // it has stored the end, and was frozen then
			t.Error(err)
		}
		want(t, files, string(job)+": FINISHED in epoch 2, after 4m0s")
	})
}

// TestALostAnswerLosesNoArchive would catch an archive that a lost answer of HDFS takes away, in each place.
func TestALostAnswerLosesNoArchive(t *testing.T) {
	t.Parallel()
	lost := errors.New("the answer is lost")
	for lose := 1; ; lose++ {
		reached := false
		synctest.Test(t, func(t *testing.T) {
			files := dataflowtest.NewFiles(nil)
			calls := 0
			a, _ := master(files.View(func(c dataflowtest.Call) error {
				if !c.Done {
					return nil
				}
				if calls++; calls == lose {
					reached = true
					return lost
				}
				return nil
			}), 1)
			d := runs()
			jobs := cluster{job: d}
			for range 4 { // whatever is lost, the last state but one is there, at least
				time.Sleep(Interval)
				if err := a.round(t.Context(), jobs); err != nil && !errors.Is(err, lost) {
					t.Error(err)
				}
			}
			whole := false
			for _, text := range there(files) {
				whole = whole || strings.Contains(text, ".1.running-") && (strings.Contains(text, "after 4m0s") || strings.Contains(text, "after 3m0s"))
			}
			if !whole {
				t.Errorf("call %d is lost: there are %q", lose, there(files))
			}
			if err := a.Ended(t.Context(), ends(d)); err != nil && !errors.Is(err, lost) {
				t.Error(err)
			}
			if err := a.Ended(t.Context(), ends(d)); err != nil && !errors.Is(err, lost) { // again, or the next master
				t.Error(err)
			}
			want(t, files, string(job)+": FINISHED in epoch 1, after 4m0s")
		})
		if !reached {
			break
		}
	}
}

// TestAnEndWaitsForTheArchiveOfTheRunningJob would catch the archive of a running job that gets its name when that of the end
// is there, and stays for ever.
func TestAnEndWaitsForTheArchiveOfTheRunningJob(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		files := dataflowtest.NewFiles(nil)
		goOn := make(chan struct{})
		a, _ := master(files.View(func(c dataflowtest.Call) error {
			if c.Op == "Rename" && !c.Done && strings.Contains(c.URI, "running") {
				<-goOn
			}
			return nil
		}), 1)
		d := runs()
		time.Sleep(2 * Interval)
		done := make(chan error, 1)
		go func() { done <- a.round(t.Context(), cluster{job: d}) }()
		synctest.Wait()
		ended := make(chan error, 1)
		go func() { ended <- a.Ended(t.Context(), ends(d)) }()
		synctest.Wait()
		close(goOn)
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		want(t, files, string(job)+": FINISHED in epoch 1, after 2m0s")
	})
}

// TestAnEndCanBeArchivedAfterAnOutage would catch the end of a job that counts as archived while HDFS is away, and a try whose
// remains hinder the next one.
func TestAnEndCanBeArchivedAfterAnOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		files := dataflowtest.NewFiles(nil)
		away := errors.New("HDFS is away")
		left, calls := 0, 0
		a, _ := master(files.View(func(c dataflowtest.Call) error {
			if c.Done {
				return nil
			}
			if calls++; calls > left { // from the next call on
				return away
			}
			return nil
		}), 1)
		d := runs()
		for left = range 10 {
			calls = 0
			if err := a.Ended(t.Context(), ends(d)); err == nil {
				break
			} else if !errors.Is(err, away) {
				t.Errorf("after %d calls: error %v", left, err)
			}
		}
		want(t, files, string(job)+": FINISHED in epoch 1, after 0s")
	})
}

// TestDescriptionsAreReadInTurn would catch the descriptions of all jobs of an earlier master in memory at once, while HDFS is
// slow.
func TestDescriptionsAreReadInTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		goOn := make(chan struct{})
		a, _ := master(dataflowtest.NewFiles(nil).View(func(dataflowtest.Call) error {
			<-goOn
			return nil
		}), 1)
		var read atomic.Int32
		var all sync.WaitGroup
		for i := range 10 * atOnce {
			all.Go(func() {
				d := msg.JobDetails{ID: ids.JobID(fmt.Sprint(i)), Status: msg.JobFinished}
				if err := a.Ended(t.Context(), func(context.Context) (*msg.JobDetails, error) {
					read.Add(1)
					return &d, nil
				}); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		if n := read.Load(); n != atOnce {
			t.Errorf("%d descriptions are read while %d archives are written", n, atOnce)
		}
		close(goOn)
		all.Wait()
		if n := read.Load(); n != 10*atOnce {
			t.Errorf("in the end, %d are read", n)
		}
		unreadable := errors.New("nothing is stored")
		if err := a.Ended(t.Context(), func(context.Context) (*msg.JobDetails, error) { return nil, unreadable }); !errors.Is(err, unreadable) {
			t.Errorf("error %v, want that of the store", err)
		}
	})
}

// TestARefusedArchiveIsTold would catch an archive that a quota cuts off and that looks whole, and jobs whose users do not
// learn why they have no history.
func TestARefusedArchiveIsTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		files := dataflowtest.NewFiles(nil)
		a, hook := master(files.View(func(c dataflowtest.Call) error {
			if c.Op == "Write" || c.Op == "Close" {
				return filesystem.ErrQuota
			}
			return nil
		}), 1)
		if err := a.Ended(t.Context(), ends(runs())); !errors.Is(err, filesystem.ErrQuota) {
			t.Errorf("an end: error %v, want that of the quota", err)
		}
		want(t, files)
		d := runs()
		ctx, cancel := context.WithTimeout(t.Context(), 10*Interval)
		defer cancel()
		a.Watch(ctx, cluster{job: d})
		want(t, files)
		if entries := hook.AllEntries(); len(entries) != 1 || !strings.Contains(entries[0].Data["error"].(error).Error(), "quota") {
			t.Errorf("logged %d lines: %v", len(entries), entries)
		}
	})
}

// now is the time of the files.
func now(t *testing.T, files *dataflowtest.Files) time.Time {
	t.Helper()
	files.Write("/clock", "")
	info, err := files.Stat(t.Context(), "mem:///clock")
	if err == nil {
		err = files.Remove(t.Context(), "mem:///clock")
	}
	if err != nil {
		t.Fatal(err)
	}
	return info.ModTime
}

// TestALaterMasterRunsAJobAgain would catch a history that tells for ever how a job has ended under the first master, although
// without high availability the second one has run it again; the end of a later master that a frozen one replaces; and files of the
// first run that stay.
func TestALaterMasterRunsAJobAgain(t *testing.T) {
	t.Parallel()
	left := unfinished{"/done", job, 1}
	for name, test := range map[string]struct {
		epoch       ids.Epoch
		protected   bool
		write       string // when the other master writes its archive
		while, then string // what is the archive, while the job runs and when it has ended
	}{
		"an earlier end":                         {2, false, "before", "", "FAILED in epoch 2"},
		"an earlier end, with high availability": {2, true, "before", "other", "other"},
		"the first master":                       {1, false, "before", "other", "other"},
		"a frozen master goes on":                {2, false, "meanwhile", "other", "FAILED in epoch 2"},
		"this master was frozen":                 {2, false, "afterwards", "", "other"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := dataflowtest.NewFiles(nil)
			other := func(when string) {
				if test.write == when {
					files.Write("/done/"+string(job), "other")
				}
			}
			if !test.protected && test.epoch > 1 {
				files.Write(left.running(0), "RUNNING")
				files.Write(left.draft(true), "FINI")
			}
			other("before")
			a, _ := master(files, test.epoch)
			a.config.Unprotected, a.config.Began = !test.protected, now(t, files)
			a.config.Write = func(_ context.Context, w io.Writer, d msg.JobDetails, _ time.Time) error {
				_, err := fmt.Fprintf(w, "%s in epoch %d", d.Status, test.epoch)
				return err
			}
			d := msg.JobDetails{ID: job, Status: msg.JobRunning, Start: now(t, files).Add(-2 * Interval)}
			other("meanwhile")
			if err := a.round(t.Context(), cluster{job: d}); err != nil {
				t.Error(err)
			}
			if got := files.Files()["/done/"+string(job)]; got != test.while {
				t.Errorf("while the job runs, its archive is %q, want %q", got, test.while)
			}
			d.Status, d.End = msg.JobFailed, now(t, files)
			other("afterwards")
			for range 2 { // the answer to the first call may be lost
				if err := a.Ended(t.Context(), func(context.Context) (*msg.JobDetails, error) { return &d, nil }); err != nil {
					t.Error(err)
				}
			}
			want(t, files, string(job)+": "+test.then)
		})
	}
}

// TestAnEndWaitsForTheRemovalOfAnEarlierOne would catch a master that removes its own archive, because it has looked at an earlier
// one before.
func TestAnEndWaitsForTheRemovalOfAnEarlierOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		goOn := make(chan struct{})
		var looked atomic.Bool
		files := dataflowtest.NewFiles(map[string]string{"/done/" + string(job): "other"})
		a, _ := master(files.View(func(c dataflowtest.Call) error {
			if c.Op == "Stat" && c.Done && !looked.Swap(true) {
				<-goOn
			}
			return nil
		}), 2)
		a.config.Unprotected, a.config.Began = true, now(t, files)
		d := runs()
		ctx, cancel := context.WithCancel(t.Context())
		watched := make(chan struct{})
		go func() {
			defer close(watched)
			a.Watch(ctx, cluster{job: d})
		}()
		synctest.Wait()
		ended := make(chan error, 1)
		go func() { ended <- a.Ended(t.Context(), ends(d)) }()
		synctest.Wait()
		close(goOn)
		if err := <-ended; err != nil {
			t.Error(err)
		}
		synctest.Wait()
		want(t, files, string(job)+": FINISHED in epoch 2, after 0s")
		cancel()
		<-watched
	})
}

// TestADraftOfADeadMasterIsRemoved would catch drafts that stay for ever when their master has died as it wrote them, also that
// of a job which ended before anything was written while it ran.
func TestADraftOfADeadMasterIsRemoved(t *testing.T) {
	t.Parallel()
	for _, runs := range []time.Duration{Interval / 2, 2 * Interval} {
		synctest.Test(t, func(t *testing.T) {
			left := unfinished{"/done", job, 1}
			files := dataflowtest.NewFiles(map[string]string{left.draft(true): "FINI"})
			if runs > Interval {
				files.Write(left.draft(false), "RUNN")
			}
			d := msg.JobDetails{ID: job, Status: msg.JobRunning, Start: time.Now()}
			time.Sleep(runs)
			end := ends(d)
			time.Sleep(Interval)
			late, _ := master(files, 2)
			if err := late.Ended(t.Context(), end); err != nil {
				t.Error(err)
			}
			want(t, files, string(job)+": FINISHED in epoch 2, after "+(runs+Interval).String())
		})
	}
}

// TestAShortJobCostsNothing would catch files of jobs that are shorter than Interval, and jobs that are archived by a master
// that does not lead any more.
func TestAShortJobCostsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		files := dataflowtest.NewFiles(nil)
		calls := 0
		a, _ := master(files.View(func(c dataflowtest.Call) error {
			if !c.Done {
				calls++
			}
			return nil
		}), 1)
		d := runs()
		if err := a.round(t.Context(), cluster{job: d}); err != nil || calls > 0 {
			t.Errorf("%d calls, error %v", calls, err)
		}
		time.Sleep(Interval)
		superseded := errors.New("another one leads")
		a.config.Confirm = func(context.Context) error { return superseded }
		if err := a.round(t.Context(), cluster{job: d}); !errors.Is(err, superseded) || calls > 0 {
			t.Errorf("%d calls, error %v", calls, err)
		}
	})
}
