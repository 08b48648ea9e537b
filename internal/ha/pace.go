package ha

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/internal/sched"
)

// Waits between tries while storage does not answer, and the time between two log messages about it.
const (
	firstWait = 100 * time.Millisecond
	maxWait   = 5 * time.Second
	logEvery  = 30 * time.Second
)

// pace paces the tries of one operation.
type pace struct {
	what    string
	log     logrus.FieldLogger
	noLogin bool
	wait    time.Duration
	logged  time.Time
}

func (d *Directory) pace(what string) pace {
	return pace{what: what, log: d.Logger, noLogin: d.NoLogin}
}

// again waits before the next try after an error. It returns the error if no retry mends it, and the cause of ctx if
// that ends.
func (p *pace) again(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if p.noLogin && dfs.NeedsTokens(err) {
		return fmt.Errorf("%w: %w", ErrNoCredentials, err)
	}
	if permanent(err) {
		return err
	}
	if now := sched.Now(ctx); p.logged.IsZero() || now.Sub(p.logged) >= logEvery {
		p.logged = now
		p.log.WithError(err).WithField("operation", p.what).Warn("storage for high availability gives no clear answer, trying again")
	}
	p.wait = min(max(2*p.wait, firstWait), maxWait)
	return sched.Sleep(ctx, p.wait)
}

// permanent reports whether no retry mends an error.
func permanent(err error) bool {
	for _, word := range []error{ErrSuperseded, ErrNothing, ErrEnded, errUnfit, errNoBlocks, filesystem.ErrTooLarge, fs.ErrNotExist, fs.ErrInvalid, dfs.ErrClosed} {
		if errors.Is(err, word) {
			return true
		}
	}
	return filesystem.Final(err)
}

// doubt is an error after which only a look tells what has happened. The error says nothing of the result, so callers
// must not test it.
type doubt struct{ err error }

func (d doubt) Error() string { return d.err.Error() }

// doubtful returns the error of a rename: doubt, unless no retry mends it.
func doubtful(err error) error {
	if err == nil || filesystem.Final(err) || errors.Is(err, dfs.ErrClosed) {
		return err
	}
	return doubt{err}
}
