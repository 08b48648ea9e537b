package appmaster

import (
	"context"
	"errors"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/internal/sched"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hdfs"
)

// pauseBetweenTries is how long a step waits before it is tried again.
const pauseBetweenTries = time.Second

// patiently repeats a step while HDFS does not answer, until ctx ends: the next attempt would not be better off.
func patiently(ctx context.Context, logger logrus.FieldLogger, what string, step func() error) error {
	for {
		err := step()
		if err == nil || !unanswered(err) {
			return err
		}
		logger.WithError(err).WithField("step", what).Warn("HDFS does not answer, and the ApplicationMaster waits for it")
		if err := sched.Sleep(ctx, pauseBetweenTries); err != nil {
			return context.Cause(ctx)
		}
	}
}

// unanswered reports whether HDFS has given no answer, as it does while it is away or fails over.
func unanswered(err error) bool {
	_, lost := errors.AsType[*yarnrpc.CallError](err)
	return lost || errors.Is(err, hdfs.ErrUnreachable) || errors.Is(err, hdfs.ErrPipeline)
}
