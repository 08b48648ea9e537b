package operator

import (
	"errors"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
)

// ErrPermanent marks an error of Task.Run that another attempt would meet again. errors.Is finds
// it in the error. The host reports such an error as a permanent failure, and the job fails at
// once.
var ErrPermanent = errors.New("permanent failure")

// Permanent marks err as permanent and keeps its text. Permanent(nil) is nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return permanent{err}
}

// OfFiles marks an error of the job's file system as permanent if filesystem.Final reports true:
// permissions, quotas, kinds of files that cannot be read. Other errors may be temporary, such as
// an unreachable NameNode or DataNode.
func OfFiles(err error) error {
	if filesystem.Final(err) {
		return Permanent(err)
	}
	return err
}

type permanent struct{ error }

func (p permanent) Is(target error) bool { return target == ErrPermanent }
func (p permanent) Unwrap() error        { return p.error }
