package appmaster

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/archive"
	"github.com/bobbin-yarn/bobbin/appmaster/rest"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/memory"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/msg/subtasks"
	"github.com/bobbin-yarn/bobbin/internal/sched"
)

// newArchive makes what archives the jobs of the cluster; nil if nothing does. A directory that cannot be used fails no job.
func (m *Master) newArchive(ctx context.Context) *archive.Archive {
	o := m.outside
	dir := o.Config.String(config.ArchiveDir)
	if dir == "" {
		return nil
	}
	dir, err := o.Files.Qualify(dir)
	sizes, unknown := memory.MasterOf(o.Config, o.Launch.Mode.Programs())
	if err := errors.Join(err, unknown); err != nil {
		m.logger.WithError(err).Warnf("jobs are not archived: see %s", config.ArchiveDir.Name())
		return nil
	}
	return archive.New(archive.Config{
		Files: o.Files, Dir: dir, Epoch: o.Epoch(), Began: sched.Now(ctx), Confirm: o.Election.Confirm,
		Unprotected: o.Launch.HighAvailability == "",
		Write: func(ctx context.Context, w io.Writer, job msg.JobDetails, now time.Time) error {
			granted, err := m.workers.Granted(ctx, job.ID)
			if err != nil {
				return err
			}
			return rest.Archive{
				Job: job, Now: now, Options: o.Config, Memory: sizes, Container: o.About.Container, Granted: granted,
				Subtasks: func(vertex string) (msg.VertexSubtasks, error) {
					if job.Status.GloballyTerminal() {
						return subtasks.Of(&job, vertex)
					}
					return m.led.Load().component.Dispatcher.VertexSubtasks(ctx, job.ID, vertex)
				},
			}.Write(w)
		},
	}, m.logger)
}

// awaitArchives waits until the jobs that have ended are archived, because no later master does that. An archive does not
// hold up the end of the cluster for longer than archive.Patience.
func (m *Master) awaitArchives(ctx context.Context, l *led) {
	if l.archive == nil {
		return
	}
	ctx, cancel := sched.WithTimeout(ctx, archive.Patience)
	defer cancel()
	if err := l.component.Dispatcher.Archived(ctx); err != nil {
		m.logger.WithError(err).Warn("the cluster ends, and some of its jobs are not archived")
	}
}
