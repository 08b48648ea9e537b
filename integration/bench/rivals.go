package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnclient"
)

// figures are what a contender took.
type figures struct {
	session, cold, warm, list      []usage
	perJob, uploading, application []usage
	masters                        []int64 // bytes that the session's ApplicationMaster holds after its jobs
}

// rivals are who is compared, and what they took so far.
type rivals struct {
	bobbin       bobbin
	flink, tuned *flink // nil: not here
	ours, theirs figures
	tunedPerJob  []usage
}

// install installs Flink, and gives its version.
func (of *rivals) install(ctx context.Context, r *rig, input string) (version string, err error) {
	if of.flink, of.tuned, err = installFlink(ctx, r, input); err != nil {
		return "", err
	}
	return of.flink.version()
}

// round measures everything once that is measured i times and more. Nothing of it runs when
// it returns.
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

// inSession measures a session and what is done with it.
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

// measure adds what a command took that starts an application.
func (r *rig) measure(ctx context.Context, c contender, command []string, to *[]usage) error {
	took, _, err := r.launch(ctx, c, command)
	if err == nil {
		*to = append(*to, took)
	}
	return err
}

// launch runs a command that starts an application, which has to succeed, and waits until
// that has ended. lived is the time from the start of the command until then.
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

// submit runs a command that starts an application, and finds that.
func (r *rig) submit(ctx context.Context, c contender, command []string) (usage, records.ApplicationReport, error) {
	began := time.Now().Truncate(time.Millisecond)
	took, _, err := r.runIn(ctx, c.environment(), command...)
	if err != nil {
		return usage{}, records.ApplicationReport{}, err
	}
	found, err := r.client.YARN.Applications(ctx, yarnclient.Filter{Users: []string{user}, Started: yarnclient.TimeRange{From: began}})
	if err == nil && len(found) != 1 {
		err = fmt.Errorf("%s: started %d applications, want 1", strings.Join(command, " "), len(found))
	}
	if err != nil {
		return usage{}, records.ApplicationReport{}, err
	}
	return took, found[0], nil
}
