package historyserver

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/sirupsen/logrus"
)

// folderName begins the names of local folders.
const folderName = "bobbin-history-"

// folder is a local folder. A lock on it (flock(2)) says that its server lives, and ends with the process.
type folder struct {
	path string
	lock *os.File // nil: the file system has no locks
}

// errTaken says that another server takes a folder for one that is left, because it had no lock yet.
var errTaken = errors.New("another history server removes the folder")

// mostFolders is how many folders a server makes until no other one takes its folder away. That is a matter of a moment.
const mostFolders = 10

// newFolder makes a local folder in a directory; "": that for temporary files.
func newFolder(dir string) (f folder, err error) {
	for range mostFolders {
		if f.path, err = os.MkdirTemp(dir, folderName); err != nil {
			return f, err
		}
		if f.lock, err = lockFolder(f.path); !errors.Is(err, errTaken) && !errors.Is(err, fs.ErrNotExist) {
			return f, nil // where there are no locks, others cannot take one to remove it
		}
	}
	return f, err
}

// remove removes a folder with its content.
func (f folder) remove() error {
	err := os.RemoveAll(f.path)
	if f.lock != nil {
		f.lock.Close()
	}
	return err
}

// lockFolder locks a folder. The error is errTaken if another server has it, and fs.ErrNotExist if that has removed it.
func lockFolder(path string) (*os.File, error) {
	lock, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = errTaken
	}
	var locked, there fs.FileInfo
	if err == nil {
		locked, err = lock.Stat()
	}
	if err == nil {
		there, err = os.Lstat(path)
	}
	if err == nil && !os.SameFile(locked, there) {
		err = fs.ErrNotExist
	}
	if err != nil {
		lock.Close()
		return nil, err
	}
	return lock, nil
}

// removeLeft removes the folders of servers of the same user that were killed. One may have 16 GB.
func removeLeft(dir string, logger logrus.FieldLogger) {
	dir = cmp.Or(dir, os.TempDir())
	entries, err := os.ReadDir(dir)
	if err != nil {
		logger.WithError(err).Warn("folders of history servers that were killed stay")
		return
	}
	for _, e := range entries {
		left := folder{path: filepath.Join(dir, e.Name())}
		if !strings.HasPrefix(e.Name(), folderName) || !isOwn(left.path) {
			continue
		}
		if left.lock, err = lockFolder(left.path); err != nil {
			continue // its server lives
		}
		if err := left.remove(); err != nil {
			logger.WithField("folder", left.path).WithError(err).Warn("the folder of a history server that was killed stays")
			continue
		}
		logger.WithField("folder", left.path).Info("the folder of a history server that was killed is removed")
	}
}

// isOwn reports whether a path is that of a folder of this user. All users may write to a directory for temporary files.
func isOwn(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || !info.IsDir() {
		return false
	}
	stat, is := info.Sys().(*syscall.Stat_t)
	return is && int(stat.Uid) == os.Geteuid()
}
