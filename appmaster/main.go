package appmaster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/appmaster/dispatcher"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/logging"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// Exit codes of the process, as in Flink's ClusterEntrypoint. Of a code above 255 the system keeps the
// lowest byte.
const (
	exitOK      = 0
	exitStartup = 1
	exitFatal   = 2
	exitFailed  = 1443 & 0xff
	exitUnknown = 1445 & 0xff
	exitStuck   = -17 & 0xff // JvmShutdownSafeguard
)

// stopTime is how long the process may take to end after SIGTERM, as in Flink's JvmShutdownSafeguard. YARN
// waits less before it sends SIGKILL (yarn.nodemanager.sleep-delay-before-sigkill.ms, 250 ms).
const stopTime = 5 * time.Second

// Main runs an ApplicationMaster to the end of its application, and returns the exit code. main calls it
// once.
func Main(start time.Time, getenv func(string) string) int {
	env, err := readEnvironment(getenv)
	if err != nil {
		fmt.Fprintln(os.Stderr, "appmaster:", err)
		return exitStartup
	}
	env.variables = os.Environ()
	logger, file, err := logging.Open(env.logDir, "jobmanager", env.config.String(config.LoggingLevel))
	if err != nil {
		fmt.Fprintln(os.Stderr, "appmaster:", err)
		return exitStartup
	}
	defer file.Close() // nothing is logged after this
	code := run(start, env, logger)
	logger.WithField("code", code).Info("process ends")
	return code
}

// errTerminated is the cause of an end by SIGTERM. Another attempt may follow, so this process changes
// nothing outside itself.
var errTerminated = errors.New("container is stopped")

// run runs the application until it ends or YARN sends SIGTERM.
func run(start time.Time, env environment, logger *logrus.Logger) int {
	signalled, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	return guard(signalled, logger, func(ctx context.Context) int { return runApplication(ctx, start, env, logger) })
}

// guard runs f until it returns, under a context that ends with errTerminated when signalled ends. If f
// does not return within stopTime after that, guard returns, and the end of the process stops f.
func guard(signalled context.Context, logger logrus.FieldLogger, f func(context.Context) int) int {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(signalled))
	defer cancel(nil)
	code := make(chan int, 1)
	go func() { code <- f(ctx) }()
	select {
	case c := <-code:
		return c
	case <-signalled.Done():
		cancel(errTerminated)
	}
	late := time.NewTimer(stopTime)
	defer late.Stop()
	select {
	case c := <-code:
		return c
	case <-late.C:
		logger.WithField("after", stopTime).Error("services did not stop in time")
		return exitStuck
	}
}

func runApplication(ctx context.Context, start time.Time, env environment, logger *logrus.Logger) int {
	logger.WithFields(logrus.Fields{"app": env.container.Attempt.Application, "attempt": env.container.Attempt.Attempt, "container": env.container}).
		Info("application master starts")
	m, err := build(ctx, start, env, logger, connectYARN)
	switch {
	case err != nil && ctx.Err() != nil:
		logger.WithError(err).Info("application master is stopped before it has started")
		return exitUnknown
	case err != nil:
		logger.WithError(err).Error("application master cannot start")
		fmt.Fprintln(os.Stderr, "appmaster:", err) // YARN shows stderr to the owner
		return exitStartup
	}
	outcome, err := m.run(ctx)
	switch {
	case errors.Is(err, errTerminated):
		logger.WithError(err).Info("application master is stopped")
		return exitUnknown
	case err != nil:
		logger.WithError(err).Error("application master cannot go on")
		return exitFatal
	}
	return exitCode(outcome)
}

func exitCode(o dispatcher.Outcome) int {
	switch o.Status {
	case msg.ApplicationSucceeded, msg.ApplicationCanceled:
		return exitOK
	case msg.ApplicationFailed:
		return exitFailed
	default:
		return exitUnknown
	}
}
