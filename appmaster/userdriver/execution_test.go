package userdriver

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
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

func (c *slowCluster) Submit(ctx context.Context, p Program, job ids.JobID, graph *jobgraph.JobGraph) error {
	c.stop()
	return c.fakeCluster.Submit(ctx, p, job, graph)
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
	x.word.graph.Name = "job"
	if word := x.take(); word.graph.Name != "job" || x.word.graph.Name != "" {
		t.Errorf("takes %q, and keeps %q", word.graph.Name, x.word.graph.Name)
	}
}
