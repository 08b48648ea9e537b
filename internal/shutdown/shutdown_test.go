package shutdown_test

import (
	"context"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/bobbin-yarn/bobbin/internal/shutdown"
)

// TestGuard would catch a signal without effect or without a line in the log, an end that hangs, and a
// second signal that must wait for it.
func TestGuard(t *testing.T) {
	t.Parallel()
	ends := func(ctx context.Context) int {
		<-ctx.Done()
		received, is := shutdown.By(context.Cause(ctx))
		if !is {
			t.Errorf("ended by %v", context.Cause(ctx))
		}
		return received.Code()
	}
	takes := func(d time.Duration) func(context.Context) int {
		return func(ctx context.Context) int { c := ends(ctx); time.Sleep(d); return c }
	}
	for name, test := range map[string]struct {
		f       func(context.Context) int
		signals []syscall.Signal // one each second
		want    int
		after   time.Duration
		logged  string
	}{
		"it ends by itself":         {func(context.Context) int { return 7 }, nil, 7, 0, ""},
		"SIGTERM ends it":           {ends, []syscall.Signal{syscall.SIGTERM}, 143, time.Second, "SIGTERM"},
		"SIGINT ends it":            {ends, []syscall.Signal{syscall.SIGINT}, 130, time.Second, "SIGINT"},
		"SIGHUP ends it":            {ends, []syscall.Signal{syscall.SIGHUP}, 129, time.Second, "SIGHUP"},
		"it takes its time":         {takes(4 * time.Second), []syscall.Signal{syscall.SIGTERM}, 143, 5 * time.Second, "SIGTERM"},
		"it hangs":                  {takes(time.Hour), []syscall.Signal{syscall.SIGTERM}, 239, 6 * time.Second, "did not stop in time"},
		"a second signal comes":     {takes(time.Hour), []syscall.Signal{syscall.SIGTERM, syscall.SIGINT}, 130, 2 * time.Second, "another signal"},
		"it ends after the signals": {takes(0), []syscall.Signal{syscall.SIGTERM, syscall.SIGTERM}, 143, time.Second, "SIGTERM"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				logger, logged := logtest.NewNullLogger()
				signals := make(chan os.Signal, len(test.signals))
				for i, s := range test.signals {
					time.AfterFunc(time.Duration(i+1)*time.Second, func() { signals <- s })
				}
				start := time.Now()
				if got := shutdown.Guard(signals, func() logrus.FieldLogger { return logger }, test.f); got != test.want || time.Since(start) != test.after {
					t.Errorf("exit code %d after %s, want %d after %s", got, time.Since(start), test.want, test.after)
				}
				if last := logged.LastEntry(); (last == nil) != (test.logged == "") || last != nil && !strings.Contains(lineOf(t, last), test.logged) {
					t.Errorf("the last line is %v, want %q", last, test.logged)
				}
				time.Sleep(2 * time.Hour) // what hangs ends with the process
			})
		})
	}
}

func lineOf(t *testing.T, e *logrus.Entry) string {
	t.Helper()
	line, err := e.String()
	if err != nil {
		t.Fatal(err)
	}
	return line
}

// TestNoLogYet would catch a signal before the log is open that ends the process with a panic.
func TestNoLogYet(t *testing.T) {
	t.Parallel()
	signals := make(chan os.Signal, 1)
	signals <- syscall.SIGTERM
	got := shutdown.Guard(signals, func() logrus.FieldLogger { return nil }, func(ctx context.Context) int { <-ctx.Done(); return 5 })
	if got != 5 {
		t.Errorf("exit code %d, want 5", got)
	}
}
