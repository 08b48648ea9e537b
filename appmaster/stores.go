package appmaster

import (
	"context"

	"github.com/bobbin-yarn/bobbin/appmaster/dispatcher"
	"github.com/bobbin-yarn/bobbin/appmaster/internal/programs"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/cachedfiles"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ha"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/program"
	"github.com/bobbin-yarn/bobbin/internal/staging"
)

// stores are a session's programs and the cached files of its jobs. They are nil in other modes.
type stores struct {
	programStore, fileStore *programs.Store
	finder                  cachedfiles.Finder // of files that are not uploaded
}

// openStores finds the programs of a session's earlier attempts. In other modes it returns none.
func openStores(ctx context.Context, o Outside, store ha.Store) (stores, error) {
	if o.Launch.Mode != launch.Session {
		return stores{}, nil
	}
	cache := staging.Resume(o.Files, o.Launch.StagingDir, store.Dir(), max(0, o.Config.Int(config.YarnFileReplication)), o.Entropy)
	s := stores{programStore: programs.New(cache, o.Files, program.Native()), fileStore: programs.NewFiles(cache, o.Files), finder: o.Files}
	err := s.programStore.Recover(ctx)
	if err == nil {
		err = s.fileStore.Recover(ctx)
	}
	return s, err
}

// hold finds the program and the cached files of a job, and keeps them until release.
func (s stores) hold(ctx context.Context, sha256 string, job *dispatcher.Submission) (err error) {
	if job.Program, err = s.programStore.Hold(ctx, sha256); err != nil {
		return err
	}
	files := job.Graph.Files
	for i, f := range files {
		if f.SHA256 == "" {
			continue
		}
		held, err := s.fileStore.Hold(ctx, f.SHA256)
		if err != nil {
			s.releaseFiles(files[:i])
			s.programStore.Release(sha256)
			return err
		}
		files[i].URI = held.URI
	}
	if job.Graph.Files, err = cachedfiles.Find(ctx, s.finder, files); err != nil {
		s.releaseFiles(files)
		s.programStore.Release(sha256)
	}
	return err
}

// recover holds what a job of an earlier leader needs. Its cached files must be there, and unchanged.
func (s stores) recover(ctx context.Context, job *dispatcher.Submission) error {
	return s.hold(ctx, job.Program.SHA256, job)
}

// release notes the end of a job for which hold was called.
func (s stores) release(job dispatcher.Submission) {
	s.programStore.Release(job.Program.SHA256)
	s.releaseFiles(job.Graph.Files)
}

func (s stores) releaseFiles(files []jobgraph.CachedFile) {
	for _, f := range files {
		if f.SHA256 != "" {
			s.fileStore.Release(f.SHA256)
		}
	}
}
