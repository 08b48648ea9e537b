package ha

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/internal/ids"
)

var (
	// ErrStorage says that a directory cannot hold what outlives a master. The text has the remedy.
	ErrStorage = errors.New("high availability needs a directory on HDFS (hdfs://) that is neither encrypted nor erasure coded: " +
		"name one (high-availability.storageDir), or do without (high-availability.type: NONE)")
	// ErrExposed says that other users may read or change the application's directory.
	ErrExposed = errors.New("the directory must belong to you, and be closed to all other users (mode 0700)")
)

// CheckStorage checks whether the application's directory, which must exist, can hold what outlives a master. It writes and
// removes an empty file there, because only a new file shows how HDFS would keep it. The error is ErrStorage if the
// directory is not on HDFS, or HDFS would encrypt or stripe files in it; a rename must be atomic, and files must be
// readable.
func CheckStorage(ctx context.Context, files filesystem.FileSystem, dir string, names ids.Source) error {
	uri, err := files.Qualify(dir)
	if err != nil { // a file system that is not supported, such as viewfs
		return fmt.Errorf("check %s: %w (%w)", dir, ErrStorage, err)
	}
	if !strings.HasPrefix(uri, "hdfs://") {
		return fmt.Errorf("check %s: %w", uri, ErrStorage)
	}
	trial := uri + "/." + names.Random()
	file, err := files.Create(ctx, trial, filesystem.ExistingParents)
	if err == nil {
		err = errors.Join(file.Close(), files.RemoveAll(ctx, trial))
	}
	switch {
	case errors.Is(err, filesystem.ErrEncryptionZone), errors.Is(err, filesystem.ErrErasureCoded):
		return fmt.Errorf("check %s: %w (%w)", uri, ErrStorage, err)
	case err != nil:
		return fmt.Errorf("check %s: %w", uri, err)
	}
	return nil
}

// Stage makes live-0 in the application's directory, which must exist. So an attempt can lead the application. The error is
// ErrExposed if the directory is not the user's alone: whoever can write there can name a leader, and whoever can read
// there has the key of the application's authority. Stage may be repeated.
func Stage(ctx context.Context, files FileSystem, dir string) error {
	status, err := files.Status(ctx, dir)
	if err == nil && (!status.IsDir || !status.Own || status.Mode.Perm()&0o077 != 0) {
		err = fmt.Errorf("%s (owner %s, mode %s): %w", status.URI, status.Owner, status.Mode, ErrExposed)
	}
	live := dir + "/" + place{}.String()
	for _, name := range []string{live, live + "/" + jobsDir, live + "/" + resultsDir} {
		if err != nil {
			break
		}
		if err = files.MkdirMode(ctx, name, 0o700); errors.Is(err, fs.ErrExist) {
			err = nil
		}
	}
	if err != nil {
		return fmt.Errorf("stage what outlives a master: %w", err)
	}
	return nil
}
