package userdriver

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/driver"
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

// TestAJobThatIsTooLargeIsToldSo would catch a refused job whose error does not name the option to raise.
func TestAJobThatIsTooLargeIsToldSo(t *testing.T) {
	t.Parallel()
	c := &fakeCluster{}
	_, p := start(t, c, Limits{Job: 512}, "count="+strings.Repeat("x", 1<<10))
	_, why := p.Serve(t.Context())
	why = p.Explain(why)
	if !errors.Is(why, msg.ErrJobTooLarge) || !strings.Contains(why.Error(), config.JobManagerProcessSize.Name()) || len(c.jobs) > 0 {
		t.Errorf("served to %v with jobs %q", why, c.jobs)
	}
}
