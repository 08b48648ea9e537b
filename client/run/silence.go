package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/client/progress"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// silence is an ApplicationMaster that does not answer.
type silence struct {
	progress.Wait
	heard bool      // it answered before
	muted bool      // somebody else tells people
	known time.Time // when YARN last told how it is; zero: it has not
}

// unknown is how long nobody has told how it is.
func (s *silence) unknown() time.Duration {
	return min(time.Since(s.Since), time.Since(s.known))
}

// endure is what to do about a master that does not answer: nothing, for as long as
// YARN may still replace it. To miss a node alone takes YARN ten minutes by default.
// An error ends the wait: errNextAttempt once another attempt runs,
// client.ErrApplicationEnded when YARN has no more of them, YARN's own when it refuses to
// tell. A master that has never answered is one that cannot be reached from here,
// and is given up after client.timeout, as is one of whom no YARN tells how it is for so long.
func (r *runner) endure(ctx context.Context, a attempt, s *silence, cause error) error {
	report, err := a.report(ctx)
	switch away := errors.Is(err, ErrYARNAway); {
	case (away || errors.Is(err, ErrNoYARN)) && s.unknown() <= r.patience:
		return nil
	case away:
		return r.givenUp(fmt.Errorf("%w; %w", cause, err))
	case errors.Is(err, ErrNoYARN):
		return r.givenUp(cause)
	case err != nil:
		return errors.Join(cause, err)
	}
	s.known = time.Now()
	lasts := time.Since(s.Since)
	runs := report.State == records.ApplicationRunning
	switch {
	case report.State.Terminal():
		return client.Ended(report)
	case runs && report.Attempt.Attempt != a.number:
		return errNextAttempt
	case runs && !s.heard:
		if lasts > r.patience {
			return r.givenUp(cause)
		}
	case lasts > longWait && !s.muted:
		r.Waiting(&s.Wait, fmt.Sprintf("%s: its ApplicationMaster has not answered", report.ID),
			fmt.Sprintf("YARN says it is %s, attempt %d; YARN may start another attempt or end the application", report.State, report.Attempt.Attempt))
	}
	return nil
}

// givenUp is the error of a master that has been silent for as long as people have said.
func (r *runner) givenUp(cause error) error {
	return fmt.Errorf("given up (%s): %w", r.patienceTold, cause)
}
