package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// figures holds the measurements of a contender.
type figures struct {
	session, cold, warm, list      []usage
	perJob, uploading, application []usage
	masters                        []int64 // bytes of the session's ApplicationMaster after its jobs
}

// rivals holds the contenders, and their measurements so far.
type rivals struct {
	bobbin       bobbin
	flink, tuned *flink // nil: missing
	ours, theirs figures
	tunedPerJob  []usage
}

// install installs Flink, and returns its version.
func (of *rivals) install(ctx context.Context, r *rig, input string) (version string, err error) {
	if of.flink, of.tuned, err = installFlink(ctx, r, input, ""); err != nil {
		return "", err
	}
	return of.flink.version()
}

// round measures everything once that is measured more than i times. When it returns, nothing of it
// runs.
func (of *rivals) round(ctx context.Context, r *rig, i int) error {
	err := r.compete(ctx, of.bobbin, &of.ours, i)
	if err != nil || of.flink == nil {
		return err
	}
	err = r.compete(ctx, of.flink, &of.theirs, i)
	if err != nil || i >= longRuns {
		return err
	}
	return r.measure(ctx, of.tuned, of.tuned.perJob(), &of.tunedPerJob)
}

// compete is one contender's part of a round.
func (r *rig) compete(ctx context.Context, c contender, f *figures, i int) error {
	if err := r.inSession(ctx, c, f); err != nil {
		return err
	}
	if err := r.measure(ctx, c, c.perJob(), &f.perJob); err != nil {
		return err
	}
	if i < longRuns {
		took, lived, err := r.launch(ctx, c, c.application())
		if err != nil {
			return err
		}
		took.Wall = lived
		f.application = append(f.application, took)
	}
	if i >= uploadRuns {
		return nil
	}
	if err := c.forget(ctx); err != nil {
		return err
	}
	return r.measure(ctx, c, c.uploading(), &f.uploading)
}

// inSession measures a session and its jobs.
func (r *rig) inSession(ctx context.Context, c contender, f *figures) (err error) {
	if err := outOfStep(ctx); err != nil {
		return err
	}
	took, report, err := r.submit(ctx, c, c.session())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.end(ctx, report.ID)) }()
	f.session = append(f.session, took)
	session := report.ID.String()
	for _, step := range []struct {
		command []string
		took    *[]usage
	}{{c.job(session), &f.cold}, {c.job(session), &f.warm}, {c.list(session), &f.list}} {
		took, _, err := r.runIn(ctx, c.environment(), step.command...)
		if err != nil {
			return err
		}
		*step.took = append(*step.took, took)
	}
	held, err := masterOf(report.ID)
	if err == nil {
		f.masters = append(f.masters, held)
	}
	return err
}

// measure adds the time and memory of a command that starts an application.
func (r *rig) measure(ctx context.Context, c contender, command []string, to *[]usage) error {
	took, _, err := r.launch(ctx, c, command)
	if err == nil {
		*to = append(*to, took)
	}
	return err
}

// launch runs a command that starts an application, which must succeed, and waits for the
// application's end. lived is the time from the start of the command until that end.
func (r *rig) launch(ctx context.Context, c contender, command []string) (took usage, lived time.Duration, err error) {
	if err := outOfStep(ctx); err != nil {
		return took, 0, err
	}
	began := time.Now()
	took, report, err := r.submit(ctx, c, command)
	if err != nil {
		return took, 0, err
	}
	if report, err = r.client.AwaitEnd(ctx, report.ID); err != nil {
		return took, 0, err
	}
	if report.FinalStatus != records.FinalSucceeded {
		return took, 0, fmt.Errorf("%s: %w", strings.Join(command, " "), client.Ended(report))
	}
	return took, report.Finished.Sub(began), nil
}

// submit runs a command that starts an application, and finds the application.
func (r *rig) submit(ctx context.Context, c contender, command []string) (usage, records.ApplicationReport, error) {
	began := time.Now().Truncate(time.Millisecond)
	took, _, err := r.runIn(ctx, c.environment(), command...)
	if err != nil {
		return usage{}, records.ApplicationReport{}, err
	}
	report, err := r.onlyOneSince(ctx, began, command)
	return took, report, err
}
