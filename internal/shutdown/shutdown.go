// Package shutdown ends a process by a signal: in order at the first one, at once at the second, and by
// force if the end takes too long. Guard starts one goroutine, which ends with its function. The package
// imports nothing of this module.
package shutdown

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/sirupsen/logrus"
)

const (
	// Grace is how long a process may take to end after a signal, as in Flink's JvmShutdownSafeguard.
	// YARN waits less before it sends SIGKILL (yarn.nodemanager.sleep-delay-before-sigkill.ms, 250 ms).
	Grace = 5 * time.Second
	// Stuck is the exit code of a process that does not end within Grace: Flink's -17, of which the
	// system keeps the lowest byte.
	Stuck = -17 & 0xff
	// signalled is added to a signal's number for an exit code, as shells and JVMs do.
	signalled = 128
)

// Received is the cause of a context that a signal has ended.
type Received struct{ Signal syscall.Signal }

// Error names the signal.
func (r Received) Error() string { return "the process received " + Name(r.Signal) }

// Code is the exit code of a process that the signal has ended: 143 for SIGTERM.
func (r Received) Code() int { return signalled + int(r.Signal) }

// By returns the signal that has ended a context, or that an error wraps.
func By(err error) (Received, bool) { return errors.AsType[Received](err) }

// Name is the usual name of a signal.
func Name(s syscall.Signal) string {
	switch s {
	case syscall.SIGHUP:
		return "SIGHUP"
	case syscall.SIGINT:
		return "SIGINT"
	case syscall.SIGTERM:
		return "SIGTERM"
	default:
		return fmt.Sprintf("signal %d", int(s))
	}
}

// Signals returns the signals that end a process: SIGHUP, unless nohup ignores it, SIGINT and SIGTERM.
// From now on they do not end the process by themselves.
func Signals() <-chan os.Signal {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(signals, syscall.SIGHUP)
	}
	return signals
}

// Guard runs f until it returns, and returns its result. At the first signal the context of f ends, with a
// Received as its cause. If f does not return within Grace after that, or another signal comes, Guard
// returns without f: the end of the process stops f. log may be called from any goroutine; it returns nil
// while there is no log.
func Guard(signals <-chan os.Signal, log func() logrus.FieldLogger, f func(context.Context) int) int {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	code := make(chan int, 1)
	go func() { code <- f(ctx) }()
	var late <-chan time.Time
	for {
		select {
		case c := <-code:
			return c
		case s := <-signals:
			received := Received{s.(syscall.Signal)} // Unix and Windows have no others
			entry := in(log).WithField("signal", Name(received.Signal))
			if late != nil {
				entry.Warn("another signal: the process ends at once")
				return received.Code()
			}
			entry.Info("signal received: the process ends")
			cancel(received)
			timer := time.NewTimer(Grace)
			defer timer.Stop()
			late = timer.C
		case <-late:
			in(log).WithField("after", Grace).Error("services did not stop in time")
			return Stuck
		}
	}
}

// in returns the log, or one that drops everything.
func in(log func() logrus.FieldLogger) logrus.FieldLogger {
	if l := log(); l != nil {
		return l
	}
	none := logrus.New()
	none.SetLevel(logrus.PanicLevel)
	return none
}
