package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/client/run"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/memory"
)

// TestExitCodesTellFaultsApart would catch a script that repeats what can never work, and one that does not
// repeat what YARN may accept tomorrow, or what succeeds once the next ApplicationMaster runs. It would also catch one that
// runs a job twice.
func TestExitCodesTellFaultsApart(t *testing.T) {
	if got := exitCode(io.Discard, nil); got != ExitOK {
		t.Errorf("without an error: exit code %d", got)
	}
	for want, errs := range map[int][]error{
		ExitUsage:       {ErrUsage, once(ErrUsage), config.ErrInvalid, client.ErrMasterTooSmall, memory.ErrTooSmall, errors.Join(context.Canceled, ErrUsage)},
		ExitFailed:      {client.ErrResources, client.ErrQueue, client.ErrNotRunning, client.ErrApplicationEnded, run.Printed{Err: os.ErrNotExist}, once(client.ErrReplacing)},
		ExitReplacing:   {client.ErrReplacing, &client.ReplacingError{}},
		ExitInterrupted: {run.ErrInterrupted, run.ErrTerminated, once(run.Printed{Err: run.ErrInterrupted}), errors.Join(ErrUsage, run.ErrInterrupted)},
	} {
		for _, err := range errs {
			if got := exitCode(io.Discard, fmt.Errorf("submit job: %w", err)); got != want {
				t.Errorf("%v: exit code %d, want %d", err, got, want)
			}
		}
	}
}
