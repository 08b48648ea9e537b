package archive

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/sched"
)

// Interval is how often the archive of a job that runs is written. A shorter job has none before its end.
const Interval = time.Minute

// Jobs describes the jobs of a cluster.
type Jobs interface {
	// Unfinished lists the jobs that have not ended.
	Unfinished(ctx context.Context) ([]msg.JobOverview, error)
	JobDetails(ctx context.Context, job ids.JobID) (msg.JobDetails, error)
}

// Watch writes the archives of the jobs that run, each Interval, until ctx ends. If all masters of a job die, a history
// server shows the last one.
func (a *Archive) Watch(ctx context.Context, jobs Jobs) {
	failed, pause := false, Interval
	if a.runsAgain() { // until then, history servers show how jobs have ended before
		pause = 0
	}
	for sched.Sleep(ctx, pause) == nil {
		pause = Interval
		err := a.round(ctx, jobs)
		switch {
		case err == nil:
			failed = false
		case ctx.Err() == nil && !failed:
			failed = true // once, and not each minute of an outage
			a.logger.WithError(err).Warn("jobs that run cannot be archived")
		}
	}
}

// round writes the archives of all jobs that run, those first whose last archives are the oldest. The first error ends the
// round: then the next jobs would wait for the same file system.
func (a *Archive) round(ctx context.Context, jobs Jobs) error {
	ctx, cancel := sched.WithTimeout(ctx, Interval)
	defer cancel()
	list, err := jobs.Unfinished(ctx)
	if err != nil {
		return err
	}
	stay := a.begin(ctx, list, jobs) // one that is refused holds up no other archive
	now := sched.Now(ctx)
	list = slices.DeleteFunc(list, func(o msg.JobOverview) bool {
		return o.Status == msg.JobInitializing || now.Sub(o.Start) < Interval
	})
	a.sort(list)
	if len(list) == 0 {
		return stay
	}
	if err := a.config.Confirm(ctx); err != nil { // a later master may know more than this one
		return err
	}
	const least = 4 // so many turns are left to jobs that have ended
	group, ctx := sched.WithErrors(ctx)
	for first := range min(len(list), atOnce-least) {
		group.Go(func() error {
			for i := first; i < len(list); i += atOnce - least {
				if err := a.runs(ctx, list[i].ID, jobs); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return errors.Join(group.Wait(), stay)
}

// sort sorts the jobs, and forgets the archives of others.
func (a *Archive) sort(list []msg.JobOverview) {
	a.mu.Lock()
	defer a.mu.Unlock()
	known := make(map[ids.JobID]runningArchive, len(list))
	for _, o := range list {
		if w, is := a.written[o.ID]; is {
			known[o.ID] = w
		}
	}
	a.written = known
	slices.SortStableFunc(list, func(x, y msg.JobOverview) int { return known[x.ID].at.Compare(known[y.ID].at) })
}

// runs writes the archive of a job that runs. It takes the place of the one before the last.
func (a *Archive) runs(ctx context.Context, job ids.JobID, jobs Jobs) error {
	leave, err := a.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	defer a.occupy(job)()
	details, err := stillRuns(ctx, job, jobs) // from here on, the end of the job waits for this archive
	if details == nil {
		return err
	}
	a.mu.Lock()
	next := runningArchive{turn: a.written[job].turn + 1, at: sched.Now(ctx)}
	a.mu.Unlock()
	ctx, cancel := sched.WithTimeout(ctx, Patience)
	defer cancel()
	own := unfinished{a.config.Dir, job, a.config.Epoch}
	name := own.running(next.turn)
	if err := a.config.Files.Remove(ctx, name); err != nil {
		return err
	}
	if err := a.put(ctx, own.draft(false), name, *details); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.written[job] = next
	return nil
}

// occupy notes that something is under way about a job that runs, until done is called.
func (a *Archive) occupy(job ids.JobID) (done func()) {
	closed := make(chan struct{})
	a.mu.Lock()
	defer a.mu.Unlock()
	a.busy[job] = closed
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.busy, job)
		close(closed)
	}
}

// stillRuns describes a job; nil: it has ended.
func stillRuns(ctx context.Context, job ids.JobID, jobs Jobs) (*msg.JobDetails, error) {
	details, err := jobs.JobDetails(ctx, job)
	if errors.Is(err, msg.ErrJobNotFound) || err == nil && details.Status.GloballyTerminal() {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &details, nil
}

// begin looks at jobs that this master has begun with since the last round. If it runs them again, their archives tell how they
// have ended before: it removes those. It passes over an archive that is younger than this master, because that is of a later one,
// or of one that was frozen. Ended deals with the second case, and with jobs that end before they are looked at.
func (a *Archive) begin(ctx context.Context, list []msg.JobOverview, jobs Jobs) (first error) {
	if !a.runsAgain() {
		return nil
	}
	begun := make(map[ids.JobID]bool, len(list))
	for _, o := range list {
		if !a.begun[o.ID] {
			if err := a.removeEarlier(ctx, o.ID, jobs); err != nil {
				first = cmp.Or(first, err)
				continue
			}
		}
		begun[o.ID] = true
	}
	a.begun = begun
	return first
}

// removeEarlier removes the archive of a job's earlier end.
func (a *Archive) removeEarlier(ctx context.Context, job ids.JobID, jobs Jobs) error {
	defer a.occupy(job)()
	if details, err := stillRuns(ctx, job, jobs); details == nil { // from here on, the archive of its end waits
		return err
	}
	return a.removeEnd(ctx, job, a.config.Began)
}
