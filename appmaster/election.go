package appmaster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/internal/ha"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/launch"
)

// election returns how the attempt becomes the leader: by the application's directory of high-availability.storageDir, or
// at once where high-availability.type is NONE.
func election(env environment, files FileSystem, logger logrus.FieldLogger) ha.Election {
	epoch := ids.Epoch(env.container.Attempt.Attempt)
	if dir := env.launch.HighAvailability; dir != "" {
		return ha.NewDirectory(ha.Options{Files: files, Dir: dir, Epoch: epoch, NoLogin: env.login == nil, Logger: logger})
	}
	return Unprotected(files, env.launch.StagingDir, epoch)
}

// Unprotected makes the Election of an attempt without high availability. Each attempt leads, and begins with nothing.
// The owner finds the address of REST in the staging directory.
func Unprotected(files FileSystem, stagingDir string, epoch ids.Epoch) ha.Election {
	return unprotected{ha.NewMemory().Election(epoch), unsaved{files: files, dir: stagingDir, epoch: epoch}}
}

type unprotected struct {
	ha.Election
	store unsaved // but for the Store of a term
}

// Lead implements ha.Election.
func (u unprotected) Lead(ctx context.Context) (ha.Term, error) {
	term, err := u.Election.Lead(ctx)
	u.store.Store = term.Store
	term.Store = u.store
	return term, err
}

// unsaved is a Store in memory, with files in the staging directory for those that read them.
type unsaved struct {
	ha.Store
	files FileSystem
	dir   string
	epoch ids.Epoch
}

// Dir implements ha.Store.
func (s unsaved) Dir() string { return s.dir }

// Publish writes the access file, which tells the owner how to reach REST. It appears whole: YARN may tell clients before
// that this attempt runs. An earlier attempt may do the same at this moment, and nothing keeps it from that.
func (s unsaved) Publish(ctx context.Context, _ string, access []byte) error {
	uri := s.dir + "/" + launch.AccessFile
	part := fmt.Sprintf("%s/.%s-%d", s.dir, launch.AccessFile, s.epoch)
	err := s.files.RemoveAll(ctx, part) // an earlier try's
	if err == nil {
		err = s.files.WriteFile(ctx, part, access, 0o600)
	}
	if err == nil {
		err = s.replace(ctx, part, uri)
	}
	if err != nil {
		return fmt.Errorf("announce the address of REST: %w", err)
	}
	return nil
}

// replace renames a file, and removes what has the name.
func (s unsaved) replace(ctx context.Context, part, uri string) error {
	for {
		if err := s.files.RemoveAll(ctx, uri); err != nil {
			return err
		}
		if err := s.files.Rename(ctx, part, uri); !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
}
