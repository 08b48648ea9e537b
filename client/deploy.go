package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/staging"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// cleanupTimeout bounds each step of the cleanup after a failed submission: kill the application, remove its
// staged files, cancel its tokens.
const cleanupTimeout = 15 * time.Second

// Application is a submitted application.
type Application struct {
	ID   records.ApplicationID
	Job  ids.JobID // of launch.PerJob
	User string
	// Advice is what the owner should know, one line each; usually empty.
	Advice []string
	dir    string // staging directory
	stored string // URI of its directory of package ha; "" without high availability
	asked  int64  // of the ApplicationMaster's container, in MB
	staged *staging.Application
	issued issued
	c      *Cluster
}

// Deploy starts a cluster. It reads and checks the options (plan), checks the rest with YARN and HDFS (survey),
// stages files, and submits the application. After an error nothing remains on HDFS or YARN, and all tokens are
// canceled, unless the servers did not answer.
func (c *Cluster) Deploy(ctx context.Context, d Deployment) (*Application, error) {
	p, err := c.plan(d)
	if err != nil {
		return nil, err
	}
	known, err := c.survey(ctx, p)
	var app *Application
	if err == nil {
		d.Done("checked")
		known.began.Command, known.began.Checked = millis(d.Began), time.Now().UnixMilli()
		app, err = c.begin(ctx, p, known)
	}
	if err != nil {
		c.giveBack(ctx, known.grant.issued)
		return nil, err
	}
	if err := app.submit(ctx, p, &known); err != nil {
		return nil, errors.Join(err, app.Abandon(ctx))
	}
	d.Done("submitted")
	for _, advice := range []string{known.uber.advice(), known.crowded, p.attempts.told(), known.grant.advice(c, p.proof), p.kept, p.siteAdvice(), p.keyAdvice()} {
		if advice != "" {
			app.Advice = append(app.Advice, advice)
		}
	}
	return app, nil
}

// millis is a time in ms since 1970; 0: it is not known.
func millis(at time.Time) int64 {
	if at.IsZero() {
		return 0
	}
	return at.UnixMilli()
}

// submit stages the application's files and submits it.
func (app *Application) submit(ctx context.Context, p *plan, known *facts) error {
	on, err := app.stage(ctx, p, *known)
	if err != nil {
		return err
	}
	p.done("staged")
	known.began.Staged = time.Now().UnixMilli()
	s, err := app.offer(ctx, p, on, known)
	if err != nil {
		return fmt.Errorf("submit to queue %q as user %s: %w", s.Queue, app.User, known.grant.rejected(err, app.c.Conf))
	}
	return nil
}

// offer submits the application. A queue may allow less than YARN's largest container, and only its refusal says
// so: a container for both ApplicationMaster and worker then becomes one for each. YARN does not keep what it
// refuses, so the second submission has the same id.
func (app *Application) offer(ctx context.Context, p *plan, on staged, known *facts) (records.SubmissionContext, error) {
	master, err := p.launchContext(on, *known)
	if err != nil {
		return records.SubmissionContext{}, err
	}
	s := p.submissionContext(*known, master)
	_, err = app.c.YARN.Submit(ctx, s)
	if known.uber.together() && errors.Is(err, yarnrpc.ErrInvalidResourceRequest) {
		known.uber.apart = "YARN refuses a container for both: " + err.Error()
		app.asked = p.asked(known.uber).Master.MemoryMB
		return app.offer(ctx, p, on, known)
	}
	return s, err
}

// ErrLeftBehind says that the cleanup failed: an application may continue, or its staged files may remain. The
// text says which.
var ErrLeftBehind = errors.New("something may be left behind")

// Abandon kills the application, removes its staged files, and cancels its tokens, also if ctx has ended. It is
// for applications that do not run yet.
func (app *Application) Abandon(ctx context.Context) error {
	killing, cancel := cleaning(ctx)
	defer cancel()
	err := app.c.YARN.Kill(killing, app.ID, "abandoned by its client before it ran")
	if errors.Is(err, yarnrpc.ErrApplicationNotFound) { // never submitted
		err = nil
	}
	removing, cancel := cleaning(ctx) // a second time limit, for HDFS: YARN may have used up the first
	defer cancel()
	err = errors.Join(err, app.discard(removing))
	app.c.giveBack(ctx, app.issued)
	if err != nil {
		return fmt.Errorf("%w of %s, in %s: %w", ErrLeftBehind, app.ID, app.dir, err)
	}
	return nil
}

// giveBack cancels the tokens that were issued for an application that will not run.
func (c *Cluster) giveBack(ctx context.Context, tokens issued) {
	ctx, cancel := cleaning(ctx)
	defer cancel()
	tokens.giveBack(ctx, c.Files, c.logger)
}

// cleaning is a context for the cleanup after a failure, also if ctx has ended.
func cleaning(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
}
