package appmaster

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/bobbin-yarn/bobbin/appmaster/dispatcher"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// TestExitCodes would catch codes that Flink's users do not know: a shell shows 163 for Flink's 1443.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	for status, want := range map[msg.ApplicationStatus]int{
		msg.ApplicationSucceeded: 0, msg.ApplicationCanceled: 0, msg.ApplicationFailed: 163, msg.ApplicationUnknown: 165,
	} {
		if got := exitCode(dispatcher.Outcome{Status: status}); got != want {
			t.Errorf("%s: exit code %d, want %d", status, got, want)
		}
	}
	if exitStartup != 1 || exitFatal != 2 || exitStuck != 239 {
		t.Errorf("exit codes %d, %d, %d, want 1, 2, 239", exitStartup, exitFatal, exitStuck)
	}
}

// TestGuard would catch a SIGTERM without effect, and hanging services that keep the process alive.
func TestGuard(t *testing.T) {
	t.Parallel()
	logger, logged := logtest.NewNullLogger()
	stopped := func(ctx context.Context) int {
		<-ctx.Done()
		if context.Cause(ctx) != errTerminated { //nolint:errorlint // nothing may wrap it
			t.Errorf("ended by %v, want %v", context.Cause(ctx), errTerminated)
		}
		return exitUnknown
	}
	for name, test := range map[string]struct {
		f      func(context.Context) int
		signal bool
		want   int
		after  time.Duration
	}{
		"the application ends":            {func(context.Context) int { return exitFailed }, false, exitFailed, 0},
		"SIGTERM ends it":                 {stopped, true, exitUnknown, time.Second},
		"it takes its time after SIGTERM": {func(ctx context.Context) int { c := stopped(ctx); time.Sleep(4 * time.Second); return c }, true, exitUnknown, 5 * time.Second},
		"it hangs when it is to be ended": {func(ctx context.Context) int { c := stopped(ctx); time.Sleep(time.Hour); return c }, true, exitStuck, 6 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				signalled, signal := context.WithCancel(t.Context())
				defer signal()
				if test.signal {
					time.AfterFunc(time.Second, signal)
				}
				start := time.Now()
				if got := guard(signalled, logger, test.f); got != test.want || time.Since(start) != test.after {
					t.Errorf("exit code %d after %s, want %d after %s", got, time.Since(start), test.want, test.after)
				}
				time.Sleep(2 * time.Hour) // what hangs ends with the process
			})
		})
	}
	if entry := logged.LastEntry(); len(logged.AllEntries()) != 1 || entry.Level != logrus.ErrorLevel {
		t.Errorf("logged %v, want one error about what hangs", logged.AllEntries())
	}
}
