package bobbin

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"runtime/debug"
	"sync/atomic"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/internal/control"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/internal/inquiry"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/logging"
	"github.com/bobbin-yarn/bobbin/internal/machine"
	"github.com/bobbin-yarn/bobbin/internal/metrics"
	"github.com/bobbin-yarn/bobbin/internal/metrics/hadoop"
	"github.com/bobbin-yarn/bobbin/internal/metrics/status"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/shutdown"
	"github.com/bobbin-yarn/bobbin/internal/startup"
	"github.com/bobbin-yarn/bobbin/taskrunner/taskhost"
)

// runTaskHost runs the tasks of one job for the TaskExecutor at the other end of conn. It logs to a file of its
// own, because stdout and stderr are the user's.
//
// A signal ends the host in order, as if its TaskExecutor had told it to end. The code of the user's program
// may handle signals too.
func runTaskHost(conn net.Conn) int {
	var opened atomic.Pointer[logrus.Logger]
	log := func() logrus.FieldLogger {
		if l := opened.Load(); l != nil {
			return l
		}
		return nil
	}
	return shutdown.Guard(shutdown.Signals(), log, func(ctx context.Context) int { return runTasks(ctx, conn, &opened) })
}

// runTasks runs a task host until it is told to end, or ctx ends by a signal. It stores the log once it is open.
func runTasks(ctx context.Context, conn net.Conn, opened *atomic.Pointer[logrus.Logger]) int {
	var log io.Closer = io.NopCloser(nil)
	err := taskhost.Run(ctx, control.New(conn, msg.TaskExecutorToHost), taskhost.Options{
		Program: taskhost.Registered{},
		Open: func(start msg.StartHost) (taskhost.Surroundings, error) {
			logger, file, err := logging.Open(start.LogDir, "taskhost-"+string(start.Job.ID), start.LogLevel)
			if err != nil {
				return taskhost.Surroundings{}, err
			}
			log = file
			opened.Store(logger)
			startup.Log(logger, logrus.InfoLevel, describeHost(start))
			calls := hadoop.New(nil, metrics.Scope{}) // the TaskExecutor and the ApplicationMaster show them
			var tokens dfs.Tokens
			if err := tokens.Update(start.Tokens); err != nil {
				return taskhost.Surroundings{}, err
			}
			files, err := dfs.Carried(dfs.Handed{
				HadoopConf: start.HadoopConf, User: start.User, Credentials: tokens.Load, Logger: logger,
				Observe: calls.Observe, ObserveData: calls.ObserveData,
			})
			if err != nil {
				return taskhost.Surroundings{}, err
			}
			return taskhost.Surroundings{
				Files: files, CloseFiles: files.Close, UpdateTokens: tokens.Update, Logger: logger,
				HDFS: calls.HDFS, Process: status.New(0).Read, // the TaskExecutor knows the budget
				Desk: inquiry.New(string(start.Host), "", launch.ProfileDir), // the TaskExecutor shows the logs
			}, nil
		},
		Stdout:         os.Stdout,
		SetMemoryLimit: func(bytes int64) { debug.SetMemoryLimit(bytes) },
	})
	if received, signalled := shutdown.By(err); signalled {
		log.Close()
		return received.Code()
	}
	log.Close()
	if err != nil && !errors.Is(err, taskhost.ErrAbandoned) {
		return fail(err)
	}
	return exitOK
}

// describeHost is what the first lines of a task host's log say.
func describeHost(start msg.StartHost) startup.Process {
	work, err := os.Getwd()
	if err != nil {
		work = ""
	}
	return startup.Process{
		Role: "task host", Identity: startup.Identity{User: start.User, Credentials: startup.TokensIf(len(start.Tokens) > 0)},
		Attempt: launch.AttemptOf(start.Resource), Container: string(start.Resource), Node: start.ListenHost, Job: string(start.Job.ID),
		WorkDir: work, LogDir: start.LogDir, LocalDirs: start.LocalDirs,
		Machine: machine.Read(), Options: start.Job.Config,
		Memory: []startup.Division{{Of: "task host", Total: start.Memory.Share(), Parts: start.Memory.Parts()}},
	}
}
