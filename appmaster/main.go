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

// Exit codes of the process, Flink's (ClusterEntrypoint); those above 255 are
// what is left of them.
const (
	exitOK      = 0
	exitStartup = 1
	exitFatal   = 2
	exitFailed  = 1443 & 0xff
	exitUnknown = 1445 & 0xff
)

// Main runs an ApplicationMaster to the end of its application, and gives the
// exit code. It is called once, by main.
func Main(start time.Time, getenv func(string) string) int {
	env, err := readEnvironment(getenv)
	if err != nil {
		fmt.Fprintln(os.Stderr, "appmaster:", err)
		return exitStartup
	}
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

// errTerminated is the cause of an end by SIGTERM: another attempt may follow,
// so nothing outside is touched.
var errTerminated = errors.New("container is stopped")

func run(start time.Time, env environment, logger *logrus.Logger) int {
	signalled, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	context.AfterFunc(signalled, func() { cancel(errTerminated) })

	logger.WithFields(logrus.Fields{"app": env.container.Attempt.Application, "attempt": env.container.Attempt.Attempt, "container": env.container}).
		Info("application master starts")
	s, err := startServices(ctx, start, env, logger)
	if err != nil {
		logger.WithError(err).Error("application master cannot start")
		return exitStartup
	}
	outcome, err := s.run(ctx)
	switch {
	case errors.Is(err, errTerminated):
		logger.Info("container is stopped")
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
