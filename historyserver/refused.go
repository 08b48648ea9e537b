package historyserver

import (
	"errors"
	"io/fs"
	"syscall"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
)

// mostRefused is how many refused archives are remembered, for the log. The log has others only at level debug.
const mostRefused = 100

// refusals are archives that HDFS or the local disk refuses. Each refresh tries them again, and the log has one line about each.
type refusals struct {
	known map[string]string // the causes at the last refresh, by URI
	now   map[string]string // those at this one
}

func newRefusals() *refusals {
	return &refusals{known: make(map[string]string), now: make(map[string]string)}
}

// add notes that an archive is refused, and reports whether the log has to say it: it is new, or has another cause.
func (r *refusals) add(uri string, err error) bool {
	if len(r.now) == mostRefused {
		return false
	}
	before, was := r.known[uri]
	r.now[uri] = causeOf(err)
	return !was || before != r.now[uri]
}

// next ends a refresh. If a directory was not listed, archives that were not tried count as they did before.
func (r *refusals) next(listed bool) {
	if !listed {
		for uri, cause := range r.known {
			if _, is := r.now[uri]; !is && len(r.now) < mostRefused {
				r.now[uri] = cause
			}
		}
	}
	r.known, r.now = r.now, make(map[string]string)
}

// causeOf tells causes apart. The text of an error may be another one at each try, because it names the DataNode.
func causeOf(err error) string {
	for _, cause := range []error{fs.ErrPermission, filesystem.ErrEncryptionZone, filesystem.ErrErasureCoded, syscall.ENOSPC, syscall.EDQUOT, fs.ErrNotExist} {
		if errors.Is(err, cause) {
			return cause.Error()
		}
	}
	return "another one"
}
