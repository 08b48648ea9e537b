package operator

import "errors"

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

type permanent struct{ error }

func (p permanent) Is(target error) bool { return target == ErrPermanent }
func (p permanent) Unwrap() error        { return p.error }
