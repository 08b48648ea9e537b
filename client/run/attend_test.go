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
