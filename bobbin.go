// Package bobbin makes a program out of a dataflow job. The program calls Main as the
// first statement of its main function, and Main decides what the process is. Started by
// hand, the process is a cluster of its own. Started by the client, it is the driver,
// which plans and executes jobs. Started by a TaskExecutor, it is a task host, which runs
// a job's tasks.
//
// Main owns the process. This is the only package that imports all roles and puts them
// together.
package bobbin

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/bobbin-yarn/bobbin/client/terminal"
	"github.com/bobbin-yarn/bobbin/dataflow"
	"github.com/bobbin-yarn/bobbin/internal/control"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// mark tells the client that a program is built with the SDK, and for which
// protocol version, without running it.
var mark = "<bobbin sdk protocol version=7>" //nolint:gochecknoglobals // must be data of the binary

// Driver is the part of a program that runs once. It reads its arguments and executes any
// number of jobs. If the user asks for help with a flag, it returns flag.ErrHelp, which is no failure.
type Driver func(ctx context.Context, env *dataflow.Env) error

// Exit codes of a program.
const (
	exitOK          = 0
	exitFailed      = 1
	exitInterrupted = 130
)

// errDriverPanicked is a panic of the driver, outside of planning.
var errDriverPanicked = errors.New("panic in the driver")

// Main runs the program and does not return. If the driver returns an error, Main prints
// it and exits with code 1.
func Main(driver Driver) {
	parent := control.Speak()
	code := run(driver, parent)
	parent.Ended()
	os.Exit(code) //nolint:forbidigo // Main is the program's main
}

func run(driver Driver, parent *control.Speaker) int {
	runtime.KeepAlive(mark)
	value, started := os.LookupEnv(control.Variable)
	options := os.Getenv(control.OptionsVariable)
	// A program that this one starts has another role, and must not get these options.
	if err := errors.Join(os.Unsetenv(control.Variable), os.Unsetenv(control.OptionsVariable)); err != nil {
		return fail(err)
	}
	if !started {
		return runLocal(driver, options, parent)
	}
	role, fd, err := control.Parse(value)
	if err != nil {
		return fail(err)
	}
	conn, err := control.FromFD(fd)
	if err != nil {
		return fail(err)
	}
	if role == control.RoleTaskHost {
		return runTaskHost(conn)
	}
	return runDriver(driver, control.New(conn, msg.StarterToDriver))
}

// fail prints the program's name and an error.
func fail(err error) int {
	fmt.Fprintf(terminal.Screen(os.Stderr), "%s: %v\n", filepath.Base(os.Args[0]), err)
	return exitFailed
}

// call runs the driver and turns a panic into an error. A user who asked for help has got it.
func call(ctx context.Context, driver Driver, env *dataflow.Env) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("%w: %v\n%s", errDriverPanicked, value, userStack())
		}
	}()
	if err := driver(ctx, env); !errors.Is(err, flag.ErrHelp) {
		return err
	}
	return nil
}

// userStack is the stack of the panicking goroutine, bounded.
func userStack() string {
	const limit = 16 << 10
	buffer := make([]byte, limit)
	return string(buffer[:runtime.Stack(buffer, false)])
}
