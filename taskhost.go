package bobbin

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"runtime/debug"

	"github.com/bobbin-yarn/bobbin/dataflow"
	"github.com/bobbin-yarn/bobbin/internal/control"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/internal/logging"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/taskrunner/taskhost"
)

// runTaskHost runs the tasks of one job for the TaskExecutor at the other end of
// conn. Its log is a file of its own: stdout and stderr are the user's.
func runTaskHost(conn net.Conn) int {
	var log io.Closer = io.NopCloser(nil)
	err := taskhost.Run(context.Background(), control.New(conn), taskhost.Options{
		Program: ownProgram{},
		Open: func(start msg.StartHost) (taskhost.Surroundings, error) {
			logger, file, err := logging.Open(start.LogDir, "taskhost-"+string(start.Job.ID), start.LogLevel)
			if err != nil {
				return taskhost.Surroundings{}, err
			}
			log = file
			files, err := dfs.Carried(start.HadoopConf, start.User, logger)
			if err != nil {
				return taskhost.Surroundings{}, err
			}
			return taskhost.Surroundings{Files: files, CloseFiles: files.Close, Logger: logger}, nil
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

// ownProgram makes the tasks of the jobs that are registered in this process.
type ownProgram struct{}

// Compile builds a job.
func (ownProgram) Compile(job string, args []byte, parallelism int, config map[string]string) (taskhost.Compiled, error) {
	compiled, err := dataflow.Compile(job, args, dataflow.PlanOptions{Parallelism: parallelism, Config: config})
	if err != nil {
		return taskhost.Compiled{}, err
	}
	return taskhost.Compiled{Graph: compiled.Graph, Tasks: compiled.Tasks}, nil
}
