package historyserver

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
	"github.com/bobbin-yarn/bobbin/internal/sched"
)

// refreshing refreshes what the server knows, each interval, until ctx ends.
func (s *Server) refreshing(ctx context.Context) {
	for ctx.Err() == nil {
		s.refresh(ctx)
		_ = sched.Sleep(ctx, s.config.Interval) // the loop sees that ctx has ended
	}
}

// refresh lists the directories, and fetches what is new.
func (s *Server) refresh(ctx context.Context) {
	listings, all := make([]*listing, len(s.config.Dirs)), true
	for i, dir := range s.config.Dirs {
		l, err := s.list(ctx, dir)
		if ctx.Err() != nil {
			return
		}
		s.listed(dir, err)
		if err == nil {
			listings[i] = l
		}
		all = all && err == nil
	}
	s.stay.next(all)
	s.mu.Lock()
	p := s.core.refresh(listings)
	s.mu.Unlock()
	for _, large := range p.tooLarge {
		s.logger.WithFields(logrus.Fields{"archive": large.uri, "bytes": large.size}).Warnf("the archive is not shown: at most %d bytes are", s.config.Limits.Archive)
	}
	for _, job := range p.drop {
		s.logger.WithField("job", job).Debug("the job is not kept any longer")
		if err := os.Remove(s.pack(job)); err != nil {
			s.logger.WithError(err).Warn("an archive stays in the local folder")
		}
	}
	s.made = s.made && len(p.drop) == 0
	defer s.remakeLists()
	last := sched.Now(ctx)
	for _, archive := range p.fetch {
		err := s.fetch(ctx, archive)
		if err == nil {
			s.made = false
			if now := sched.Now(ctx); now.Sub(last) >= listsPause {
				s.remakeLists()
				last = now
			}
		}
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, errBroken):
			s.logger.WithField("archive", archive.uri).WithError(err).Warn("the archive is not shown")
			s.mu.Lock()
			s.core.failed(archive)
			s.mu.Unlock()
		case errors.Is(err, errGone):
			s.logger.WithField("archive", archive.uri).WithError(err).Debug("the archive is removed after it was listed")
		case err != nil: // the next refresh tries again
			s.refused(s.unread, archive, err, "the archive cannot be fetched, and is tried again: its job is not shown, or not as it is now")
		}
	}
	s.unread.next(all)
}

// refused logs that HDFS or the local disk refuses an archive.
func (s *Server) refused(known *refusals, a source, err error, words string) {
	level := logrus.DebugLevel
	if known.add(a.uri, err) {
		level = logrus.WarnLevel
	}
	s.logger.WithField("archive", a.uri).WithError(err).Log(level, words)
}

// list lists the archives of a directory. If not all are to be retained, it removes those beyond Limits.Retained, and drafts of
// masters that have died.
func (s *Server) list(ctx context.Context, dir string) (*listing, error) {
	l, now := newListing(s.config.Limits), sched.Now(ctx)
	err := s.config.Files.Scan(ctx, dir, func(part []filesystem.Entry) error {
		for _, e := range part {
			age := now.Sub(e.ModTime)
			if draft, is := restapi.ParseArchiveDraft(path.Base(e.URI)); is && !e.IsDir && s.config.Limits.Retained > 0 && age > draftTime {
				s.remove(ctx, l, []source{{uri: e.URI, job: draft.Job}})
				continue
			}
			found, is := sourceOf(path.Base(e.URI))
			if !is || e.IsDir {
				continue
			}
			found.uri, found.size, found.modified = e.URI, e.Size, e.ModTime.UnixMilli()
			found.left = !found.ended && age > leftTime
			s.remove(ctx, l, l.add(found))
		}
		return nil
	})
	if err == nil && s.config.Limits.Retained > 0 {
		s.remove(ctx, l, l.trim())
	}
	return l, err
}

// remove removes archives from their directory. The jobs of those that stay are still shown.
func (s *Server) remove(ctx context.Context, from *listing, archives []source) {
	for _, a := range archives {
		if err := s.config.Files.Remove(ctx, a.uri); err != nil {
			if ctx.Err() == nil {
				s.refused(s.stay, a, err, "historyserver.archive.retained-jobs does not retain this file, which cannot be removed: that is tried again")
			}
			continue
		}
		from.removed(a)
		s.mu.Lock()
		s.core.removed(a)
		s.mu.Unlock()
	}
}

// listed logs that a directory cannot be listed any more, or can again.
func (s *Server) listed(dir string, err error) {
	logger := s.logger.WithField("directory", dir)
	switch was := s.unlisted[dir]; {
	case err != nil && !was:
		logger.WithError(err).Warn("the directory cannot be listed; what is known of it stays")
	case err == nil && was:
		logger.Info("the directory can be listed again")
	}
	s.unlisted[dir] = err != nil
}

// errGone says that an archive is not there any more. The archive of a job that runs is written anew each minute.
var errGone = errors.New("the archive is removed")

// fetch takes an archive into the local folder.
func (s *Server) fetch(ctx context.Context, a source) error {
	file, err := s.config.Files.Open(ctx, a.uri)
	if errors.Is(err, fs.ErrNotExist) {
		return errors.Join(errGone, err)
	}
	if err != nil {
		return err
	}
	defer file.Close()
	fresh := s.pack(a.job) + ".new"
	text, err := writePack(fresh, &bounded{from: file, left: s.config.Limits.Archive}, a.job)
	if err != nil {
		return err
	}
	entry, err := overviewOf(text, a.job)
	if err != nil {
		return errors.Join(err, os.Remove(fresh))
	}
	if err := os.Rename(fresh, s.pack(a.job)); err != nil { // a reader of the old one keeps it
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.core.fetched(a, entry)
	return nil
}

// pack is the file of a job in the local folder.
func (s *Server) pack(job ids.JobID) string { return filepath.Join(s.folder, string(job)) }
