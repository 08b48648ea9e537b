package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// TestWordsAreTakenWhileYARNIsAway would catch that "stop" takes effect only after client.timeout, or never.
func TestWordsAreTakenWhileYARNIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		input, typed := io.Pipe()
		var errs bytes.Buffer
		a := attendance{in: input, Journal: NewJournal(&errs, time.Now(), false), report: func(ctx context.Context) (records.ApplicationReport, error) {
			<-ctx.Done()
			return records.ApplicationReport{}, ctx.Err()
		}}
		ctx, interrupt := context.WithCancelCause(t.Context())
		left := make(chan error, 1)
		go func() { left <- a.attend(ctx) }()
		time.Sleep(2 * monitorInterval)
		fmt.Fprintln(typed, "shop")
		synctest.Wait()
		if got := errs.String(); !strings.HasSuffix(got, "did you mean stop?\n") {
			t.Errorf("after a word stderr is %q", got)
		}
		interrupt(ErrInterrupted)
		typed.Close()
		if err := <-left; !errors.Is(err, ErrInterrupted) {
			t.Errorf("after Ctrl-C: %v", err)
		}
	})
}

// TestAnAttachedCommandTellsOfTheNextMaster would catch a session that seems to have stayed the same, and a line for
// each look at it.
func TestAnAttachedCommandTellsOfTheNextMaster(t *testing.T) {
	var out bytes.Buffer
	id := records.ApplicationID{ClusterTimestamp: 1, ID: 2}
	a := attendance{id: id, Journal: NewJournal(&out, time.Now(), false)}
	for _, r := range []struct {
		state   records.ApplicationState
		attempt int32
	}{
		{records.ApplicationRunning, 1},
		{records.ApplicationRunning, 1},
		{records.ApplicationAccepted, 2},
		{records.ApplicationRunning, 2},
		{records.ApplicationRunning, 2},
	} {
		a.replaced(records.ApplicationReport{ID: id, State: r.state, Attempt: records.ApplicationAttemptID{Application: id, Attempt: r.attempt}})
	}
	if got, want := out.String(), "the ApplicationMaster of application_1_0002 has been replaced: attempt 2 goes on\n"; got != want {
		t.Errorf("printed %q, want %q", got, want)
	}
}
