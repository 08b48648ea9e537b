package userdriver

import (
	"context"
	"io"
	"os"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/driver"
	"github.com/bobbin-yarn/bobbin/internal/logging"
	"github.com/bobbin-yarn/bobbin/internal/memory"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// Machine is where programs run: that of this process, or a model of one. Its functions are called from any
// goroutine.
type Machine struct {
	// Start starts a program and exchanges hellos with it, as driver.Start does. It passes the process to
	// begun before the program has sent anything.
	Start func(ctx context.Context, file string, arguments []string, o driver.Options, begun func(Child)) error
	// OpenLog opens a log of programs, to append to it.
	OpenLog func(name string) (io.WriteCloser, error)
	// Measure returns the memory that this process holds, and what each of these processes holds with its
	// children. nil: nothing measures memory.
	Measure func(pids []int) (own config.Bytes, trees []config.Bytes)
}

// Child is the process of a program. Only one goroutine may use it, but any goroutine may call Tell, HangUp,
// PID and Kill. driver.Driver says what the methods do.
type Child interface {
	Next(ctx context.Context) (graph jobgraph.JobGraph, leave func(), err error)
	Tell(m msg.Message) error
	HangUp() error
	PID() int
	Kill()
	Close() error
}

var _ Child = (*driver.Driver)(nil)

// Local is the machine of this process. It keeps programs' logs in a folder.
func Local(logDir string) Machine {
	return Machine{
		Start:   startLocal,
		OpenLog: func(name string) (io.WriteCloser, error) { return logging.OpenFile(logDir, name) },
		Measure: measureLocal,
	}
}

func startLocal(ctx context.Context, file string, arguments []string, o driver.Options, begun func(Child)) error {
	o.Begun = func(d *driver.Driver) { begun(d) }
	_, err := driver.Start(ctx, file, arguments, o)
	return err
}

func measureLocal(pids []int) (own config.Bytes, trees []config.Bytes) {
	for _, pid := range pids {
		trees = append(trees, memory.OfTree(pid))
	}
	return memory.OfProcess(os.Getpid()), trees
}
