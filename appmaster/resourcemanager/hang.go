package resourcemanager

import (
	"context"
	"time"

	"github.com/sirupsen/logrus"
)

// HangTime is how long the ResourceManager waits for WorkerProvider.Order, and a WorkerProvider for Report,
// 15 min. Neither does anything slow with what it is told, so one that takes longer hangs. By
// default YARN bears a silent ApplicationMaster for as long
// (yarn.am.liveness-monitor.expiry-interval-ms): a process that was stopped for that time is not
// wanted any more anyway.
const HangTime = 15 * time.Minute

// slowTime is after how long the log tells that one of them is waited for: jobs may fail
// meanwhile for want of what it was to bring.
const slowTime = time.Minute

// BoundHang gives the context of a call of Order or Report, which ends after HangTime with a
// cause that says who hangs. It is to be cancelled when the call is over. A call that takes more
// than a minute is logged.
func BoundHang(ctx context.Context, logger logrus.FieldLogger, hangs error) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeoutCause(ctx, HangTime, hangs)
	slow := time.AfterFunc(slowTime, func() {
		logger.WithError(hangs).Warnf("no answer for %v; after %v the ResourceManager ends with this error", slowTime, HangTime)
	})
	return ctx, func() {
		slow.Stop()
		cancel()
	}
}
