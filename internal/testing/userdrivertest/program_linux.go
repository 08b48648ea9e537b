// Package userdrivertest is a user's program for tests of packages that run programs beside the
// ApplicationMaster. A test's own binary is the program: its TestMain calls Main if the environment says
// that it was started as a driver.
//
// Only tests import the package. It starts no goroutines.
package userdrivertest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/control"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
)

// mark makes a binary a program built with the SDK.
var mark = "<bobbin sdk protocol version=7>"

// Plan plans the job of a program that reads an input, and prepares it on request, as env.Execute would.
type Plan func(start msg.DriverStart, input string, prepare bool) (jobgraph.JobGraph, error)

// Main is a driver without the SDK's main, and returns the exit code. words are what it does, in order, and
// value is that of control.Variable. It reports what is wrong on stderr, and returns 9.
//
//	count=INPUT    executes a job, and prints how it ended and how many bytes it collected
//	try=INPUT      the same, and goes on if the job cannot be planned or does not finish
//	abandon=INPUT  the same, and kills itself when the job runs
//	rush=INPUT     executes a second job, and receives nothing about the first
//	twice=INPUT    executes two jobs at once, and receives until the ApplicationMaster closes the connection
//	curse          fails to plan
//	die            kills itself
//	tokens         waits for new tokens, and prints their password
//	hog            holds 200 MB until the ApplicationMaster closes the connection; hog-at-once does so before it sends anything
//	breed          starts a child that outlives it and keeps its output open, and prints the child's process
//	               id; breed-at-once does so before it sends anything, and ends
//	hang           receives until the ApplicationMaster closes the connection
func Main(value string, words []string, plan Plan) int {
	fail := func(why any) int {
		fmt.Fprintln(os.Stderr, "driver:", why)
		return 9
	}
	_, fd, err := control.Parse(value)
	if err != nil {
		return fail(fmt.Sprint(err, mark))
	}
	socket, err := control.FromFD(fd)
	if err != nil {
		return fail(err)
	}
	conn := control.New(socket, msg.StarterToDriver)
	if len(words) > 0 && words[0] == "hog-at-once" {
		hog(conn)
		return 0
	}
	if len(words) > 0 && words[0] == "breed-at-once" {
		return fail(errors.Join(errors.New("it has a child"), breed()))
	}
	if err := conn.Send(msg.DriverHello{ProtocolVersion: jobgraph.ProtocolVersion}); err != nil {
		return fail(err)
	}
	m, err := conn.Receive()
	start, ok := m.(msg.DriverStart)
	if err != nil || !ok || start.Reach == nil {
		return fail(fmt.Sprint(m, err))
	}
	if os.Getenv(launch.Variable) != "" || os.Getenv(launch.TokenFileVariable) != "" {
		return fail("the environment holds what is the master's")
	}
	accepted := 0
	for _, word := range words {
		what, argument, _ := strings.Cut(word, "=")
		switch what {
		case "count", "try", "abandon": // counts lines of the input
			if code := count(conn, plan, start, what, argument, &accepted); code != 0 {
				return code
			}
		case "twice":
			graph, err := plan(start, argument, true)
			for range 2 {
				err = errors.Join(err, conn.Send(msg.ExecuteJob{Graph: graph}))
			}
			for err == nil {
				_, err = conn.Receive()
			}
			return 0
		case "curse":
			_ = conn.Send(msg.DriverFailed{Message: "the plan is cursed", Stack: "main.plan()"})
			return 1
		case "die":
			fmt.Fprintln(os.Stderr, "last words")
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		case "rush": // executes a second job, and receives nothing about the first
			if err := rush(conn, plan, socket, start, argument); err != nil {
				return fail(err)
			}
		case "tokens": // waits for new tokens, and prints their password
			m, err := conn.Receive()
			update, is := m.(msg.UpdateTokens)
			if err != nil || !is {
				return fail(fmt.Sprint(m, err))
			}
			held, err := creds.Parse(update.Tokens)
			if err != nil {
				return fail(err)
			}
			fmt.Fprintln(os.Stdout, string(held.Tokens["ns"].Password))
		case "hog":
			hog(conn)
			return 0
		case "breed":
			if err := breed(); err != nil {
				return fail(err)
			}
		case "hang": // until the ApplicationMaster closes the connection
			for err == nil {
				_, err = conn.Receive()
			}
			return 0
		}
	}
	return 0
}

// hog holds 200 MB until the ApplicationMaster closes the connection.
func hog(conn *control.Conn) {
	held := make([]byte, 200<<20)
	for i := range held {
		held[i] = 1
	}
	_, _ = conn.Receive()
	runtime.KeepAlive(held)
}

// breed starts a child, and does not wait for it.
func breed() error {
	child := exec.CommandContext(context.Background(), "sleep", "1000")
	child.Stdout = os.Stdout
	if err := child.Start(); err != nil {
		return err
	}
	fmt.Fprintln(os.Stdout, "child", child.Process.Pid)
	return child.Process.Release()
}

// rush executes two jobs at the same time. It sends the second when messages about the first have filled
// its socket, and then receives no more.
func rush(conn *control.Conn, plan Plan, socket net.Conn, start msg.DriverStart, input string) error {
	graph, err := plan(start, input, true)
	if err != nil {
		return err
	}
	if err := conn.Send(msg.ExecuteJob{Graph: graph}); err != nil {
		return err
	}
	raw, err := socket.(syscall.Conn).SyscallConn()
	if err != nil {
		return err
	}
	var fault error
	err = raw.Control(func(fd uintptr) {
		for unread := 0; unread < 100<<10 && fault == nil; {
			unread, fault = unix.IoctlGetInt(int(fd), unix.SIOCINQ)
		}
		if fault == nil {
			fault = conn.Send(msg.ExecuteJob{Graph: graph})
		}
		_, _ = unix.Poll([]unix.PollFd{{Fd: int32(fd)}}, -1) // until the ApplicationMaster closes the connection
	})
	return errors.Join(err, fault)
}

// count executes a job, as word says. accepted counts the jobs that the ApplicationMaster has accepted.
func count(conn *control.Conn, plan Plan, start msg.DriverStart, word, input string, accepted *int) int {
	var err error
	execute := func(unprepared bool) bool {
		var graph jobgraph.JobGraph
		if graph, err = plan(start, input, !unprepared); err == nil {
			err = conn.Send(msg.ExecuteJob{Graph: graph, Unprepared: unprepared})
			return true
		}
		if word == "try" {
			fmt.Fprintln(os.Stdout, "not planned")
		} else {
			_ = conn.Send(msg.DriverFailed{Message: err.Error()})
		}
		return false
	}
	planned := execute(*accepted < start.Accepted)
	collected := 0
	for planned && err == nil {
		var m msg.Message
		if m, err = conn.Receive(); err != nil {
			break
		}
		switch m := m.(type) {
		case msg.PrepareJob:
			planned = execute(false)
		case msg.JobAccepted:
			*accepted++
			if word == "abandon" {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			}
			if start.Detached {
				fmt.Fprintln(os.Stdout, "accepted", m.Job)
				return 0
			}
		case msg.UpdateTokens:
		case msg.CollectedRecords:
			collected += len(m.Records)
		case msg.JobEnded:
			fmt.Fprintln(os.Stdout, m.Status, collected)
			if m.Status != msg.JobFinished && word != "try" {
				return 1
			}
			return 0
		}
	}
	switch {
	case !planned && word == "try":
		return 0
	case !planned:
		return 1
	case !errors.Is(err, io.EOF):
		fmt.Fprintln(os.Stderr, "driver:", err)
	}
	return 8
}
