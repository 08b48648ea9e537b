// Command bobbin is all of Bobbin except users' programs: the client, and the ApplicationMaster and the
// TaskExecutor, which YARN starts from the same binary.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster"
	"github.com/bobbin-yarn/bobbin/client/cli"
	"github.com/bobbin-yarn/bobbin/client/run"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/version"
	"github.com/bobbin-yarn/bobbin/taskrunner"
)

func main() { os.Exit(process(time.Now(), os.Args[1:])) }

func process(start time.Time, args []string) int {
	if len(args) == 1 {
		switch args[0] {
		case "appmaster":
			return appmaster.Main(start, os.Getenv)
		case launch.WorkerRole:
			return taskrunner.Main(start, os.Getenv)
		}
	}
	executable, err := os.Executable()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bobbin:", err)
		return cli.ExitFailed
	}
	debug.SetGCPercent(400) // a command allocates a few MB and ends
	ctx, cancel := context.WithCancelCause(context.Background())
	go interrupt(caught(), cancel)
	return cli.Run(ctx, cli.Process{
		Args: args, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Getenv: os.Getenv, Executable: executable, Version: version.Text(), Build: version.BuildOf(), Start: start,
	})
}

// caught returns the signals that end a command: Ctrl-C, SIGTERM, and SIGHUP of a closed terminal, unless nohup
// ignores SIGHUP. After caught has returned, these signals no longer end the process directly, so that the
// command can clean up.
func caught() <-chan os.Signal {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(signals, syscall.SIGHUP)
	}
	return signals
}

// interrupt ends the command at the first signal, and the process at the second.
func interrupt(signals <-chan os.Signal, cancel context.CancelCauseFunc) {
	if first := <-signals; first == os.Interrupt {
		cancel(run.ErrInterrupted)
	} else {
		cancel(run.ErrTerminated)
	}
	<-signals
	fmt.Fprintln(os.Stderr, "bobbin: interrupted again: an application that this command started may still run; bobbin applications lists it, bobbin kill ends it")
	os.Exit(cli.ExitInterrupted)
}
