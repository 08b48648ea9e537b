package userdriver

import (
	"context"
	"io"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/driver"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// Machine starts programs, on this process' machine or in a model. Its functions are called from any
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
	Next(ctx context.Context) (job msg.ExecuteJob, leave func(), err error)
	Tell(m msg.Message) error
	HangUp() error
	PID() int
	Kill()
	Close() error
}

var _ Child = (*driver.Driver)(nil)
