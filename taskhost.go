package bobbin

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"runtime/debug"
	"sync/atomic"

	"github.com/bobbin-yarn/bobbin/internal/control"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/internal/logging"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/taskrunner/taskhost"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
)

// runTaskHost runs the tasks of one job for the TaskExecutor at the other end of conn. It logs to a file of its
// own, because stdout and stderr are the user's.
func runTaskHost(conn net.Conn) int {
	var log io.Closer = io.NopCloser(nil)
	err := taskhost.Run(context.Background(), control.New(conn, msg.TaskExecutorToHost), taskhost.Options{
		Program: taskhost.Registered{},
		Open: func(start msg.StartHost) (taskhost.Surroundings, error) {
			logger, file, err := logging.Open(start.LogDir, "taskhost-"+string(start.Job.ID), start.LogLevel)
			if err != nil {
				return taskhost.Surroundings{}, err
			}
			log = file
			var tokens heldTokens
			if err := tokens.update(start.Tokens); err != nil {
				return taskhost.Surroundings{}, err
			}
			files, err := dfs.Carried(dfs.Handed{
				HadoopConf: start.HadoopConf, User: start.User, Credentials: tokens.Load, Logger: logger,
			})
			if err != nil {
				return taskhost.Surroundings{}, err
			}
			return taskhost.Surroundings{Files: files, CloseFiles: files.Close, UpdateTokens: tokens.update, Logger: logger}, nil
		},
		Stdout:         os.Stdout,
		SetMemoryLimit: func(bytes int64) { debug.SetMemoryLimit(bytes) },
	})
	log.Close()
	if err != nil && !errors.Is(err, taskhost.ErrAbandoned) {
		return fail(err)
	}
	return exitOK
}

// heldTokens are the tokens with which a task host opens connections to HDFS. Any goroutine may replace them at
// any time.
type heldTokens struct {
	atomic.Pointer[creds.Credentials]
}

// update replaces the tokens. marshalled is a result of creds.Credentials.Marshal; it is empty if there are no
// tokens.
func (h *heldTokens) update(marshalled msg.Secret) error {
	if len(marshalled) == 0 {
		h.Store(nil)
		return nil
	}
	tokens, err := creds.Parse(marshalled)
	if err != nil {
		return err
	}
	h.Store(tokens)
	return nil
}
