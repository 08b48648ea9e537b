package resourcemanager

import (
	"context"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/internal/sched"
)

// HangTime is how long the ResourceManager waits for WorkerProvider.Order, and a WorkerProvider for
// Report, 15 min. Both return quickly, so a call that takes longer hangs. YARN, too, gives up an
// ApplicationMaster that is silent for this time by default
// (yarn.am.liveness-monitor.expiry-interval-ms). So a process that was stopped for that long has
// already lost its attempt.
const HangTime = 15 * time.Minute

// slowTime is the time after which the log says that a call waits: without its result, jobs may
// fail meanwhile.
const slowTime = time.Minute

// BoundHang gives the context for a call of Order or Report. It ends after HangTime, and hangs is
// its cause. The caller cancels it after the call. A call that takes more than a minute is logged.
func BoundHang(ctx context.Context, logger logrus.FieldLogger, hangs error) (context.Context, context.CancelFunc) {
	ctx, cancel := sched.WithTimeoutCause(ctx, HangTime, hangs)
	stop := sched.AfterFunc(ctx, slowTime, func() {
		logger.WithError(hangs).Warnf("no answer for %v; after %v the ResourceManager ends with this error", slowTime, HangTime)
	})
	return ctx, func() {
		stop()
		cancel()
	}
}
