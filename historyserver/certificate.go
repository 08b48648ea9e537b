package historyserver

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/internal/sched"
	"github.com/bobbin-yarn/bobbin/internal/sitecert"
)

// renewPause is how often the files of the certificate are read again. They are small.
const renewPause = time.Minute

// renewed is a certificate whose files are read again. If they cannot be used, the last one stays: its site may be about to
// replace both files, one after the other. The log says so, and when the certificate ends soon.
type renewed struct {
	current atomic.Pointer[sitecert.Certificate]
	read    func() (*sitecert.Certificate, error)
	logger  logrus.FieldLogger
	told    string // the last warning; only for watch
}

func renewing(c *sitecert.Certificate, read func() (*sitecert.Certificate, error), logger logrus.FieldLogger) *renewed {
	r := &renewed{read: read, logger: logger}
	r.current.Store(c)
	return r
}

// watch reads the files each renewPause, until ctx ends. It does not wait for a read that hangs then, as on a file system that is
// away: that read ends by itself or with the process, and nothing uses its result.
func (r *renewed) watch(ctx context.Context) {
	r.advise(sched.Now(ctx), nil)
	for sched.Sleep(ctx, renewPause) == nil {
		got := make(chan reread, 1)
		sched.Go(ctx, func() {
			c, err := r.read()
			got <- reread{c, err}
		})
		now, err := sched.Receive(ctx, got)
		if err != nil {
			return
		}
		r.take(sched.Now(ctx), now)
	}
}

// reread is what a read of the files gave.
type reread struct {
	certificate *sitecert.Certificate
	err         error
}

func (r *renewed) take(now time.Time, got reread) {
	if c := got.certificate; got.err == nil && !c.Equal(r.current.Load()) {
		r.current.Store(c)
		r.logger.WithFields(logrus.Fields{"names": c.Names(), "end": c.Ends()}).Info("the certificate is replaced")
	}
	r.advise(now, got.err)
}

// advise logs what is wrong with the certificate, and once a day that it ends soon.
func (r *renewed) advise(now time.Time, unread error) {
	c, warning := r.current.Load(), ""
	switch untimely, advice := c.Untimely(now), c.Advice(now); {
	case untimely != "":
		warning = "clients refuse the certificate: " + untimely
	case unread != nil:
		warning = "the certificate cannot be read again, and the last one stays"
	case advice != "":
		warning = advice // with the days that are left
	}
	if warning != r.told && warning != "" {
		logger := r.logger.WithField("end", c.Ends())
		if unread != nil {
			logger = logger.WithError(unread)
		}
		logger.Warn(warning)
	}
	r.told = warning
}
