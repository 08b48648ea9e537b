package bobbin

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"runtime/debug"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/dataflow"
	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/internal/control"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/internal/logging"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/taskrunner/taskhost"
)

// runTaskHost runs the tasks of one job for the TaskExecutor at the other end of
// conn. What it logs goes to stderr, which the TaskExecutor keeps.
func runTaskHost(conn net.Conn) int {
	logger, err := logging.New(os.Stderr, logrus.InfoLevel.String())
	if err != nil {
		return fail(err)
	}
	err = taskhost.Run(context.Background(), control.New(conn), taskhost.Options{
		Program: ownProgram{},
		OpenFiles: func(start msg.StartHost) (filesystem.FileSystem, io.Closer, error) {
			files, err := dfs.Carried(start.HadoopConf, start.User, logger)
			return files, files, err
		},
		Stdout:         os.Stdout,
		SetMemoryLimit: func(bytes int64) { debug.SetMemoryLimit(bytes) },
		Logger:         logger,
	})
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
