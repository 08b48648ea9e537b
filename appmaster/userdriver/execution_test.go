package userdriver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/driver"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// TestAProgramIsServedToItsEnd would catch a job that does not run, or whose end the program does not
// learn; an ended program for which the session still waits; and a wrong reason of the end.
func TestAProgramIsServedToItsEnd(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		words   []string
		refused error
		jobs    string // that were taken in
		last    msg.JobStatus
		why     error
		text    string // of what people are told
		printed string // by the program
	}{
		"two jobs, one after the other": {[]string{"count=a", "count=b"}, nil, "a b", msg.JobFinished, io.EOF, "", "FINISHED 2\nFINISHED 2\n"},
		"a job that is refused":         {[]string{"count=a"}, msg.ErrTooManyJobs, "", msg.JobFailed, driver.ErrExit, "exit status 1", "FAILED 0\n"},
		"no job":                        {nil, nil, "", "", driver.ErrNoJob, "no job was executed", ""},
		"a plan that fails":             {[]string{"curse"}, nil, "", "", nil, "the plan is cursed\nmain.plan()", ""},
		"it is killed":                  {[]string{"count=a", "die"}, nil, "a", msg.JobFinished, driver.ErrExit, "last words", "FINISHED 2\n"},
		"it is killed while it is told": {[]string{"abandon=much"}, nil, "much", "", driver.ErrExit, "killed", ""},
		"two jobs at once":              {[]string{"rush=much"}, nil, "much", "", errSeveralJobs, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &fakeCluster{refused: test.refused}
			d, p := start(t, c, Limits{}, test.words...)
			last, why := p.Serve(t.Context())
			if last.Status != test.last || test.why != nil && !errors.Is(why, test.why) || !strings.Contains(p.Explain(why).Error(), test.text) {
				t.Errorf("served to %v with a last job that is %q, want %v, %q and %q", p.Explain(why), last.Status, test.why, test.text, test.last)
			}
			if got := strings.Join(c.jobs, " "); got != test.jobs {
				t.Errorf("ran %q, want %q", got, test.jobs)
			}
			if got := logged(t, d, ".stdout"); !strings.HasPrefix(got, test.printed) {
				t.Errorf("the program printed %q, want %q", got, test.printed)
			}
		})
	}
}

// TestNoRoomIsLost would catch a job that is read but never submitted, because the program must end or executes two
// jobs at once, and that keeps its room while the ApplicationMaster runs.
func TestNoRoomIsLost(t *testing.T) {
	t.Parallel()
	over := errors.New("test is over")
	for word, why := range map[string]error{"twice=a": over, "rush=much": errSeveralJobs} {
		t.Run(word, func(t *testing.T) {
			t.Parallel()
			ctx, stop := context.WithCancelCause(t.Context())
			defer stop(nil)
			var held atomic.Int32
			read := make(chan struct{}, 3) // one place for each message that is read: a hello and two jobs
			_, p := start(t, &slowCluster{stop: func() {
				if !errors.Is(why, over) {
					return
				}
				for range cap(read) {
					<-read
				}
				stop(over)
			}}, Limits{Hold: func(context.Context, int) (func(), error) {
				held.Add(1)
				read <- struct{}{}
				return func() { held.Add(-1) }, nil
			}}, word)
			if _, err := p.Serve(ctx); !errors.Is(err, why) {
				t.Errorf("served to %v, want %v", err, why)
			}
			if n := held.Load(); n != 0 {
				t.Errorf("%d messages still hold their room", n)
			}
		})
	}
}

// slowCluster calls stop before it accepts a job.
type slowCluster struct {
	fakeCluster
	stop func()
}

func (c *slowCluster) Submit(ctx context.Context, p Program, job ids.JobID, executed *msg.ExecuteJob) error {
	c.stop()
	return c.fakeCluster.Submit(ctx, p, job, executed)
}

// TestAJobThatIsTooLargeIsToldSo would catch a refused job whose error does not name the option to raise.
func TestAJobThatIsTooLargeIsToldSo(t *testing.T) {
	t.Parallel()
	c := &fakeCluster{}
	_, p := start(t, c, Limits{Job: 512, Raise: config.JobManagerProcessSize}, "count="+strings.Repeat("x", 1<<10))
	_, why := p.Serve(t.Context())
	why = p.Explain(why)
	if !errors.Is(why, msg.ErrJobTooLarge) || !strings.Contains(why.Error(), config.JobManagerProcessSize.Name()) || len(c.jobs) > 0 {
		t.Errorf("served to %v with jobs %q", why, c.jobs)
	}
}

// TestADetachedProgramLearnsThatItsJobIsNotSetUp would catch a program that ends with success, although its
// job could not be set up: it does not wait for the end of the job.
func TestADetachedProgramLearnsThatItsJobIsNotSetUp(t *testing.T) {
	t.Parallel()
	c := &fakeCluster{}
	d := newDrivers(t, c, Limits{})
	var told error
	p, err := d.Start(t.Context(), Program{
		File: os.Args[0], Arguments: []string{"count=broken"}, Log: Log, Detached: true,
		submitted: func(_ ids.JobID, err error) { told = err },
	})
	if err != nil {
		t.Fatal(err)
	}
	last, why := p.Serve(t.Context())
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if last.Status != msg.JobFailed || !errors.Is(why, driver.ErrExit) || told == nil || !strings.Contains(told.Error(), "no such option") {
		t.Errorf("served to %v with a last job that is %q; the session was told %v", why, last.Status, told)
	}
	if got := logged(t, d, ".stdout"); !strings.HasPrefix(got, "FAILED 0\n") {
		t.Errorf("the program printed %q", got)
	}
}

// TestATakenJobIsForgotten would catch a job that stays in memory, uncounted, after its room was given back.
func TestATakenJobIsForgotten(t *testing.T) {
	x := execution{taken: make(chan struct{}, 1)}
	x.word.job.Graph.Name = "job"
	if word := x.take(); word.job.Graph.Name != "job" || x.word.job.Graph.Name != "" {
		t.Errorf("takes %q, and keeps %q", word.job.Graph.Name, x.word.job.Graph.Name)
	}
}

// keeping is a cluster that keeps jobs by their ids, as an application's does.
type keeping struct {
	fakeCluster
	kept    map[ids.JobID]string // names
	asked   []string
	refuses int // jobs
}

func (c *keeping) Submit(ctx context.Context, p Program, job ids.JobID, x *msg.ExecuteJob) error {
	what, known := x.Graph.Name, c.kept[job] != ""
	if x.Unprepared {
		what += "?"
	}
	c.asked = append(c.asked, fmt.Sprintf("%s=%s", job, what))
	switch {
	case x.Unprepared && c.kept[job] != x.Graph.Name:
		return fmt.Errorf("%w: %s", msg.ErrNotPrepared, job)
	case known && c.kept[job] != x.Graph.Name:
		return msg.ErrDifferentJob
	case !known && c.refuses > 0:
		c.refuses--
		return msg.ErrTooManyJobs
	}
	c.kept[job] = x.Graph.Name
	return c.fakeCluster.Submit(ctx, p, job, x)
}

// TestAProgramThatRunsAgainFindsItsJobs would catch a job that gets the result of another one, because a job between them
// has no input, or was refused in the first run; and a warning about the input of a job that has run before.
func TestAProgramThatRunsAgainFindsItsJobs(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		kept     []string // from an earlier run
		refuses  int
		words    []string
		asked    string
		printed  string
		warnings int
	}{
		"the first run": {
			nil, 1,
			[]string{"try=a", "count=a", "try=gone", "count=b"},
			"job-0=a job-0=a job-1=b", "FAILED 0\nFINISHED 2\nnot planned\nFINISHED 2\n", 3,
		},
		"all jobs are there": {
			[]string{"a", "b"},
			1,
			[]string{"count=a", "try=gone", "count=b"},
			"job-0=a? job-1=gone? job-1=b?", "FINISHED 2\nnot planned\nFINISHED 2\n", 0,
		},
		"the last job is new": {
			[]string{"a"},
			0,
			[]string{"count=a", "try=gone", "count=b"},
			"job-0=a? job-1=b", "FINISHED 2\nnot planned\nFINISHED 2\n", 1,
		},
		"another job": {
			[]string{"a", "b"},
			0,
			[]string{"count=a", "count=c"},
			"job-0=a? job-1=c? job-1=c", "FINISHED 2\nFAILED 0\n", 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &keeping{kept: map[ids.JobID]string{}, refuses: test.refuses}
			d := newDrivers(t, c, Limits{})
			d.config.JobID = func(n int) ids.JobID { return ids.JobID(fmt.Sprintf("job-%d", n)) }
			for n, job := range test.kept {
				c.kept[d.config.JobID(n)] = job
			}
			p, err := d.Start(t.Context(), Program{File: os.Args[0], Arguments: test.words, Log: Log, Accepted: len(test.kept)})
			if err != nil {
				t.Fatal(err)
			}
			_, _ = p.Serve(t.Context()) // what it prints says how it ends
			if err := p.Close(); err != nil {
				t.Error(err)
			}
			if got := strings.Join(c.asked, " "); got != test.asked {
				t.Errorf("the cluster is asked for %q, want %q", got, test.asked)
			}
			if got := logged(t, d, ".stdout"); got != test.printed {
				t.Errorf("the program printed %q, want %q", got, test.printed)
			}
			if got := strings.Count(logged(t, d, suffixStderr), "reads nothing"); got != test.warnings {
				t.Errorf("it is warned %d times that a job reads nothing, want %d times", got, test.warnings)
			}
		})
	}
}
