package appmaster

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/internal/ha"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// TestAProgramGoesOnUnderTheNextMaster would catch a program that gets the result of a later job for one that could not be
// planned, or an empty result, because its jobs are not found or not prepared; and an application that succeeds although its
// program executes other jobs than before.
func TestAProgramGoesOnUnderTheNextMaster(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		again   string // what the program does in its second run
		status  msg.ApplicationStatus
		text    string // in the diagnostics
		printed string
	}{
		"it executes the same jobs": {"count=mon try=tue count=wed", msg.ApplicationSucceeded, "", "FINISHED 2\nnot planned\nFINISHED 4\n"},
		"it executes another job":   {"try=wed", msg.ApplicationFailed, "with arguments whose SHA-256 is", "FAILED 0\n"},
		"it executes more":          {"count=mon count=wed count=wed", msg.ApplicationSucceeded, "", "FINISHED 2\nFINISHED 4\nFINISHED 4\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := dfs.New(dfs.Options{})
			t.Cleanup(func() { _ = files.Close() })
			in := "file://" + t.TempDir() + "/"
			for day, text := range map[string]string{"mon": "x\n", "wed": "x\ny\nx\n"} {
				if err := os.WriteFile(strings.TrimPrefix(in, "file://")+day, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			does := func(words string) []string { return strings.Fields(strings.ReplaceAll(words, "=", "="+in)) }
			outlives := ha.NewMemory()
			attempt := func(ctx context.Context, n int32, change func(*process, *led), stays bool, words string) *started {
				w := newWorkers(t, files)
				w.outlives, w.attempt = outlives, n
				options := map[string]string{config.ShutdownOnFinish.Name(): strconv.FormatBool(!stays)}
				return applicationWith(t, ctx, w, change, options, true, does(words)...)
			}
			ctx, kill := context.WithCancelCause(t.Context())
			defer kill(nil)
			ended, killed := make(chan struct{}), errors.New("killed")
			first := attempt(ctx, 1, func(_ *process, l *led) {
				logger := quiet()
				logger.AddHook(hearing{"program has ended", ended})
				l.mode.(*application).logger = logger
			}, true, "count=mon try=tue count=wed")
			<-ended
			kill(killed)
			if err := <-first.ended; !errors.Is(err, killed) {
				t.Fatalf("the first attempt ends with %v", err)
			}
			if err := os.Remove(strings.TrimPrefix(in, "file://") + "mon"); err != nil {
				t.Fatal(err)
			}
			second := attempt(t.Context(), 2, nil, false, test.again)
			if err := <-second.ended; err != nil || second.outcome.Status != test.status || !strings.Contains(second.outcome.Diagnostics, test.text) {
				t.Errorf("the second attempt ends with %+v, %v; want %s with %q", second.outcome, err, test.status, test.text)
			}
			printed, err := os.ReadFile(filepath.Join(second.env.logDir, "driver.stdout"))
			if err != nil || string(printed) != test.printed {
				t.Errorf("the program printed %q, %v; want %q", printed, err, test.printed)
			}
		})
	}
}
