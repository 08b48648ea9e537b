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
	muted bool      // another goroutine tells the user
	known time.Time // when YARN last reported its state; zero: never
}

// unknown is how long neither the ApplicationMaster nor YARN has told its state.
func (s *silence) unknown() time.Duration {
	return min(time.Since(s.Since), time.Since(s.known))
}

// endure handles a master that does not answer. The client waits for as long as YARN may still replace the
// master: by default, YARN notices a lost node only after ten minutes. An error ends the wait: errNextAttempt
// once another attempt runs, client.ErrApplicationEnded if YARN starts no more attempts, and YARN's own error
// if it refuses to report. A master that runs and has never answered is probably not reachable from here: the
// client gives it up after client.timeout. It also gives up a master about which YARN has reported nothing for
// that time.
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
	s.heard = s.heard || client.Answered(cause)
	lasts := time.Since(s.Since)
	runs := report.State == records.ApplicationRunning
	switch {
	case report.State.Terminal():
		return client.Ended(report)
	case runs && a.number > 0 && report.Attempt.Attempt != a.number:
		return nextAttemptError{report.Attempt.Attempt}
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

// reach connects to the present ApplicationMaster. While YARN replaces it, and before the next one leads, reach waits. If
// the application is ending, it waits for the end. known is the last ApplicationMaster of the application that the client
// knows; 0: none. Then reach also waits for servers of Hadoop that say where the present one is. The address of an earlier
// one may still be there: reach waits until that is replaced.
func (r *runner) reach(ctx context.Context, known int32) (*client.ClusterClient, error) {
	began := time.Now()
	quiet := silence{Wait: progress.Wait{Since: began}, heard: true}
	for {
		reached, err := r.cluster.reach(ctx)
		if err == nil && reached.Attempt > 0 && reached.Attempt < known {
			reached.Close()
			err = fmt.Errorf("%w: attempt %d does not lead yet", client.ErrReplacing, known)
		}
		waits := errors.Is(err, client.ErrReplacing) || errors.Is(err, client.ErrEnding) || known > 0 && client.Unheard(err)
		if !waits || ctx.Err() != nil {
			return reached, err
		}
		if err := r.endure(ctx, attempt{report: r.cluster.report}, &quiet, err); err != nil {
			return nil, err
		}
		if err := pause(ctx, client.UntilNextLook(time.Since(began), firstLooks, lookInterval)); err != nil {
			return nil, err
		}
	}
}

// pause waits for some time. Its error is the cause of ctx.
func pause(ctx context.Context, d time.Duration) error {
	over := time.NewTimer(d)
	defer over.Stop()
	select {
	case <-over.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// givenUp is the error of a master that was silent for client.timeout.
func (r *runner) givenUp(cause error) error {
	return fmt.Errorf("given up (%s): %w", r.patienceTold, cause)
}
