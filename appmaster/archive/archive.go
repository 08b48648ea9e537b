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

	mu      sync.Mutex                   // guards what follows
	busy    map[ids.JobID]chan struct{}  // jobs that run, and whose archives are being written; closed when that is done
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
		busy: make(map[ids.JobID]chan struct{}), written: make(map[ids.JobID]runningArchive),
	}
}

// Ended writes the archive of a job whose end is stored. It may be called again for the same job, and by several masters: all
// of them know the same end, and the first archive stays. When its turn has come, it asks described for the job, and takes
// Patience at most. Errors are those of described and of the file system.
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
	own := unfinished{a.config.Dir, job.ID, a.config.Epoch}
	err = a.put(ctx, own.draft(true), ended(a.config.Dir, job.ID), *job)
	if errors.Is(err, fs.ErrExist) { // an answer was lost, or another master was first
		err = a.config.Files.Remove(ctx, own.draft(true))
	}
	if err != nil {
		return fmt.Errorf("archive job %s in %s: %w", job.ID, a.config.Dir, err)
	}
	return a.tidy(ctx, job)
}

// tidy removes what was written while the job ran.
func (a *Archive) tidy(ctx context.Context, job *msg.JobDetails) error {
	a.mu.Lock()
	busy := a.busy[job.ID]
	a.mu.Unlock()
	if busy != nil && sched.First(ctx, busy) < 0 { // the archive of the running job may be about to get its name
		return context.Cause(ctx)
	}
	first := a.config.Epoch
	if job.Start.Before(a.config.Began) {
		first = max(1, a.config.Epoch-mostEarlier)
	}
	last, names := a.config.Epoch, unfinished.all
	if job.End.Sub(job.Start) < Interval { // nothing was written while it ran; an earlier master may have left a draft of its end
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
