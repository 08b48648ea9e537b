package appmaster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/appmaster/dispatcher"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/logging"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/shutdown"
	"github.com/bobbin-yarn/bobbin/internal/startup"
)

// Exit codes of the process, as in Flink's ClusterEntrypoint. Of a code above 255 the system keeps the
// lowest byte.
const (
	exitOK      = 0
	exitStartup = 1
	exitFatal   = 2
	exitFailed  = 1443 & 0xff
	exitUnknown = 1445 & 0xff
)

// Main runs an ApplicationMaster to the end of its application, and returns the exit code. main calls it
// once.
func Main(start time.Time, getenv func(string) string) int {
	env, err := readEnvironment(getenv)
	if err != nil {
		fmt.Fprintln(os.Stderr, "appmaster:", err)
		return exitStartup
	}
	env.variables = os.Environ()
	logger, file, err := logging.Open(env.logDir, launch.MasterLog, env.config.String(config.LoggingLevel))
	if err != nil {
		fmt.Fprintln(os.Stderr, "appmaster:", err)
		return exitStartup
	}
	defer file.Close() // nothing is logged after this
	code := run(start, env, logger)
	logger.WithField("code", code).Info("process ends")
	return code
}

// run runs the application until it ends or the process receives a signal. YARN sends SIGTERM. After a
// signal another attempt may follow, so this process changes nothing outside itself.
func run(start time.Time, env environment, logger *logrus.Logger) int {
	return shutdown.Guard(shutdown.Signals(), func() logrus.FieldLogger { return logger }, func(ctx context.Context) int {
		return runApplication(ctx, start, env, logger)
	})
}

func runApplication(ctx context.Context, start time.Time, env environment, logger *logrus.Logger) int {
	startup.Log(logger, logrus.InfoLevel, env.describe())
	m, err := build(ctx, start, env, logger, connectYARN)
	switch {
	case err != nil && ctx.Err() != nil:
		logger.WithError(err).Info("application master is stopped before it has started")
		return exitUnknown
	case err != nil:
		return cannotStart(logger, err)
	}
	outcome, err := m.run(ctx)
	received, signalled := shutdown.By(err)
	switch {
	case signalled:
		logger.WithError(received).Info("application master is stopped")
		return exitUnknown
	case errors.Is(err, ErrNotStarted):
		return cannotStart(logger, err)
	case err != nil:
		logger.WithError(err).Error("application master cannot go on")
		fmt.Fprintln(os.Stderr, "appmaster:", err) // YARN shows stderr to the owner
		return exitFatal
	}
	return exitCode(outcome)
}

func cannotStart(logger logrus.FieldLogger, err error) int {
	logger.WithError(err).Error("application master cannot start")
	fmt.Fprintln(os.Stderr, "appmaster:", err) // YARN shows stderr to the owner
	return exitStartup
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
