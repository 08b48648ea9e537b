package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/clienttoam"
	"github.com/bobbin-yarn/bobbin/internal/ha"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/pause"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// ErrReplacing says that an application's ApplicationMaster has died, and that the next one does not answer yet. The
// same request may succeed later.
var ErrReplacing = ha.ErrReplacing

// ReplacingError is an ErrReplacing with YARN's report of the application.
type ReplacingError struct{ Report records.ApplicationReport }

func (e *ReplacingError) Error() string {
	r := e.Report
	return fmt.Sprintf("%v: %s is %s, attempt %d. Try again soon", ErrReplacing, r.ID, r.State, r.Attempt.Attempt)
}

func (e *ReplacingError) Unwrap() error { return ErrReplacing }

// idle is the error for an application that YARN does not report as running. YARN starts the next attempt as soon as
// the last one has failed: an application that waits for its first attempt is not being replaced.
func idle(report records.ApplicationReport) error {
	if !report.State.Terminal() && report.Attempt.Attempt > 1 {
		return &ReplacingError{Report: report}
	}
	return fmt.Errorf("reach %s: %w", report.ID, &NotRunningError{report})
}

// accessPause is the time between two looks for an access file.
const accessPause = 20 * time.Millisecond

// accessOf reads the access file of the ApplicationMaster that YARN reports as running. YARN knows an
// ApplicationMaster before it leads. The first one leads soon, so accessOf waits for it. A later one may have to wait
// for HDFS: then the error is a *ReplacingError.
func (c *Cluster) accessOf(ctx context.Context, report records.ApplicationReport) (launch.Access, error) {
	began := time.Now()
	for {
		access, err := c.Access(ctx, report.ID)
		current := report.Attempt.Attempt
		switch {
		case err == nil && access.Attempt >= current:
			return access, nil
		case err == nil: // that of an earlier attempt
			return access, &ReplacingError{Report: report}
		case errors.Is(err, ErrEnding):
			return access, fmt.Errorf("reach %s: %w: %w", report.ID, &NotRunningError{report}, ErrEnding)
		case !errors.Is(err, ErrReplacing):
			return access, err
		case current > 1:
			return access, &ReplacingError{Report: report}
		case time.Since(began) >= c.Soon():
			return access, fmt.Errorf("reach %s: %w: %v", report.ID, &NotRunningError{report}, err) //nolint:errorlint // it is not being replaced
		}
		if err := pause.For(ctx, accessPause); err != nil {
			return access, err
		}
	}
}

// Explain looks why a request to an ApplicationMaster got no answer. The error is a *ReplacingError if YARN says that it
// replaces the ApplicationMaster, a *NotRunningError if the application has ended, and otherwise cause. While YARN reports
// an ApplicationMaster as running, the client cannot know whether it has died or only cannot be reached from here. YARN
// learns of the end of a process with the next heartbeat of the node: if the error says such an end, Explain gives YARN
// this time, at most Soon.
func (c *Cluster) Explain(ctx context.Context, id records.ApplicationID, asked *ClusterClient, cause error) error {
	if cause == nil || !Unreachable(cause) || ctx.Err() != nil {
		return cause
	}
	ctx, cancel := context.WithTimeout(ctx, c.Soon())
	defer cancel()
	for {
		report, err := c.Report(ctx, id)
		switch {
		case err != nil:
			return cause
		case report.State != records.ApplicationRunning:
			return idle(report)
		case asked.Attempt > 0 && report.Attempt.Attempt > asked.Attempt:
			return &ReplacingError{Report: report}
		case errors.Is(cause, clienttoam.ErrNoKey) && report.Attempt.Attempt > 1: // it does not lead yet
			return &ReplacingError{Report: report}
		case !died(cause) || pause.For(ctx, noticePause) != nil:
			return cause
		}
	}
}

// noticePause is the time between two looks whether YARN has noticed that an ApplicationMaster has died.
const noticePause = 200 * time.Millisecond

// died tells whether an error says that the process at the other end of a connection has ended.
func died(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF)
}
