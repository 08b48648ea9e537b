package operator

import (
	"errors"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
)

// ErrPermanent is what errors.Is finds in an error of Task.Run that another
// attempt would meet again: the host reports it as a permanent failure, and the
// job fails at once.
var ErrPermanent = errors.New("permanent failure")

// Permanent marks err as permanent and leaves its text alone; nil stays nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return permanent{err}
}

// OfFiles marks an error of the job's file system as permanent where it is that system's last word
// (filesystem.Final): permissions, quotas, kinds of files that cannot be read. All else may pass,
// such as a NameNode or a DataNode that is away.
func OfFiles(err error) error {
	if filesystem.Final(err) {
		return Permanent(err)
	}
	return err
}

type permanent struct{ error }

func (p permanent) Is(target error) bool { return target == ErrPermanent }
func (p permanent) Unwrap() error        { return p.error }
