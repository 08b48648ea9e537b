// Package archive writes what remains of jobs for history servers, Flink's and Bobbin's: one file for each job, when the job
// has ended, and for a job that runs its last known state.
//
// An Archive owns no goroutines but those of Watch, which end with it. It waits only in package sched. It never holds a
// job up: if HDFS does not answer or refuses a file, the job goes on or ends without the file. The Dispatcher decides whether
// the end of a job is tried again.
package archive

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/sched"
)

const (
	// Patience is how long the file system may take for one archive.
	Patience = 30 * time.Second
	// turnTime is how long an archive waits until others are written.
	turnTime = 5 * time.Minute
	// atOnce is how many archives are written at the same time. The NameNode has other users.
	atOnce = 8
	// buffer is the size of one write, in bytes.
	buffer = 64 << 10
)

// Config describes an Archive.
type Config struct {
	Files filesystem.FileSystem
	Dir   string    // jobmanager.archive.fs.dir
	Epoch ids.Epoch // of this master
	Began time.Time // when this master began. Earlier masters may have written about jobs that are older
	// Unprotected says that there is no high availability: this master runs jobs of earlier ones again, under the same ids, and
	// does not know how they have ended.
	Unprotected bool
	// Confirm looks whether this master leads.
	Confirm func(context.Context) error
	// Write writes the archive of a job.
	Write func(ctx context.Context, w io.Writer, job msg.JobDetails, now time.Time) error
}

// Archive writes the archives of jobs. Make it with New. Its methods may be called from any goroutine.
type Archive struct {
	config Config
	logger logrus.FieldLogger
	turns  sched.Permits

	begun map[ids.JobID]bool // jobs that run, and of which no earlier end is there any more; only for Watch

	mu      sync.Mutex                   // guards what follows
	busy    map[ids.JobID]chan struct{}  // jobs that run, and about which something is under way; closed when that is done
	written map[ids.JobID]runningArchive // the last archives of jobs that run
}

// runningArchive is the last archive of a job that runs.
type runningArchive struct {
	turn int
	at   time.Time
}

// New makes an Archive.
func New(c Config, logger logrus.FieldLogger) *Archive {
	return &Archive{
		config: c, logger: logger.WithField("archive", c.Dir), turns: sched.NewPermits(atOnce),
		busy: make(map[ids.JobID]chan struct{}), written: make(map[ids.JobID]runningArchive), begun: make(map[ids.JobID]bool),
	}
}

// Ended writes the archive of a job whose end is stored. It may be called again for the same job, and by several masters: all
// of them know the same end, and the first archive stays. Without high availability a later master may know another end, and
// replaces an archive that is older than this end. When its turn has come, Ended asks described for the job, and takes Patience at
// most. Errors are those of described and of the file system.
func (a *Archive) Ended(ctx context.Context, described func(context.Context) (*msg.JobDetails, error)) error {
	leave, err := a.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	ctx, cancel := sched.WithTimeout(ctx, Patience)
	defer cancel()
	job, err := described(ctx)
	if err != nil {
		return err
	}
	if !job.Status.GloballyTerminal() {
		return fmt.Errorf("job %s has not ended: it is %s", job.ID, job.Status)
	}
	if a.runsAgain() { // the archive of an earlier end may be about to be removed
		if err := a.idle(ctx, job.ID); err != nil {
			return err
		}
	}
	own, name := unfinished{a.config.Dir, job.ID, a.config.Epoch}, ended(a.config.Dir, job.ID)
	err = a.put(ctx, own.draft(true), name, *job)
	if errors.Is(err, fs.ErrExist) && a.runsAgain() { // an earlier master may have been frozen, and have written it meanwhile
		if err = a.removeEnd(ctx, job.ID, job.End); err == nil {
			err = a.config.Files.Rename(ctx, own.draft(true), name)
		}
	}
	if errors.Is(err, fs.ErrExist) { // an answer was lost, or another master was first
		err = a.config.Files.Remove(ctx, own.draft(true))
	}
	if err != nil {
		return fmt.Errorf("archive job %s in %s: %w", job.ID, a.config.Dir, err)
	}
	return a.tidy(ctx, job)
}

// idle waits until nothing is under way about a job as one that runs.
func (a *Archive) idle(ctx context.Context, job ids.JobID) error {
	a.mu.Lock()
	busy := a.busy[job]
	a.mu.Unlock()
	if busy != nil && sched.First(ctx, busy) < 0 {
		return context.Cause(ctx)
	}
	return nil
}

// runsAgain reports whether this master may run jobs that an earlier one has run.
func (a *Archive) runsAgain() bool { return a.config.Unprotected && a.config.Epoch > 1 }

// removeEnd removes the archive of a job that has ended, if it was written before a time.
func (a *Archive) removeEnd(ctx context.Context, job ids.JobID, before time.Time) error {
	name := ended(a.config.Dir, job)
	info, err := a.config.Files.Stat(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil || !info.ModTime.Before(before) {
		return err
	}
	return a.config.Files.Remove(ctx, name)
}

// tidy removes what was written while the job ran.
func (a *Archive) tidy(ctx context.Context, job *msg.JobDetails) error {
	if err := a.idle(ctx, job.ID); err != nil { // the archive of the running job may be about to get its name
		return err
	}
	first := a.config.Epoch
	if job.Start.Before(a.config.Began) || a.runsAgain() {
		first = max(1, a.config.Epoch-mostEarlier)
	}
	last, names := a.config.Epoch, unfinished.all
	// Nothing was written while a shorter job ran. But an earlier master may have left a draft of its end, and its run may have been longer.
	if job.End.Sub(job.Start) < Interval && !a.runsAgain() {
		last, names = a.config.Epoch-1, unfinished.drafts
	}
	for epoch := first; epoch <= last; epoch++ {
		for _, name := range names(unfinished{a.config.Dir, job.ID, epoch}) {
			if err := a.config.Files.Remove(ctx, name); err != nil {
				return err
			}
		}
	}
	return nil
}

// mostEarlier is of how many earlier masters the files about a job are removed. History servers pass over those that stay.
const mostEarlier = 10

// enter waits for the turn of an archive. The caller calls leave afterwards.
func (a *Archive) enter(ctx context.Context) (leave func(), err error) {
	ctx, cancel := sched.WithTimeout(ctx, turnTime)
	defer cancel()
	if err := a.turns.Acquire(ctx); err != nil {
		return nil, err
	}
	return a.turns.Release, nil
}

// put writes an archive as a draft, and then gives it its name, which fails with fs.ErrExist if there is such a file.
func (a *Archive) put(ctx context.Context, draft, name string, job msg.JobDetails) error {
	if err := a.config.Files.Remove(ctx, draft); err != nil { // a try before this one has left it
		return err
	}
	if err := a.write(ctx, draft, job); err != nil {
		_ = a.config.Files.Remove(ctx, draft) // it takes of the quota that may be exceeded
		return fmt.Errorf("write %s: %w", path.Base(draft), err)
	}
	return a.config.Files.Rename(ctx, draft, name)
}

func (a *Archive) write(ctx context.Context, draft string, job msg.JobDetails) error {
	file, err := a.config.Files.Create(ctx, draft, filesystem.MakeParents)
	if err != nil {
		return err
	}
	whole := bufio.NewWriterSize(patient{ctx, file}, buffer)
	err = a.config.Write(ctx, whole, job, sched.Now(ctx))
	if err == nil {
		err = whole.Flush()
	}
	return errors.Join(err, file.Close())
}

// patient ends a long archive with its time.
type patient struct {
	ctx context.Context //nolint:containedctx // of one call of put
	to  io.Writer
}

func (p patient) Write(b []byte) (int, error) {
	if p.ctx.Err() != nil {
		return 0, context.Cause(p.ctx)
	}
	return p.to.Write(b)
}
