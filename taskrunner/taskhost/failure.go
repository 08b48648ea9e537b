package taskhost

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"runtime/pprof"
	"strings"

	"github.com/bobbin-yarn/bobbin/dataflow/operator"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/inquiry"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/taskrunner/exchange"
)

// panicError is a recovered panic of user code.
type panicError struct {
	text  string
	stack string
	cause error // the value of the panic if that is an error
}

func (p *panicError) Error() string { return "panic: " + p.text }

// Unwrap lets a function panic with an error that is permanent.
func (p *panicError) Unwrap() error { return p.cause }

// errGoexit is the error of a task whose code calls runtime.Goexit, as test helpers do.
var errGoexit = errors.New("the task's code called runtime.Goexit; return an error instead")

// failureOf converts a task's error into a msg.Failure.
func failureOf(err error) *msg.Failure {
	stack := ""
	if p, is := errors.AsType[*panicError](err); is {
		stack = p.stack
	}
	failure := msg.NewFailure(err.Error(), stack)
	failure.Permanent = errors.Is(err, operator.ErrPermanent)
	if lost, is := errors.AsType[*exchange.PeerLostError](err); is {
		failure.PeerLost = lost.Host
	}
	if lost, is := errors.AsType[*exchange.PartitionLostError](err); is {
		failure.PartitionLost = &lost.Partition
	}
	return failure
}

// maxFrames bounds the number of frames in a user's stack.
const maxFrames = 64

// userStack gives the frames of the panicking goroutine, from the function that panicked to the
// last one of the task's code. A deferred function of caller calls it.
func userStack(caller string) string {
	var pcs [maxFrames + 16]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs[:])])
	var stack strings.Builder
	panicked := false
	for n := 0; n < maxFrames; {
		frame, more := frames.Next()
		switch {
		case !panicked:
			panicked = frame.Function == "runtime.gopanic"
		case strings.HasSuffix(frame.Function, caller):
			return stack.String()
		case n == 0 && strings.HasPrefix(frame.Function, "runtime."): // frames of the runtime above the panic
		default:
			n++
			fmt.Fprintf(&stack, "%s\n\t%s:%d\n", frame.Function, frame.File, frame.Line)
		}
		if !more {
			break
		}
	}
	return stack.String()
}

// Labels of a task's goroutine, and of goroutines that it starts. Profiles show them for each task.
const (
	taskLabel = inquiry.TaskLabel
	hostLabel = "host"
)

// stacksOf gives the stacks of the goroutines of each task of a host, by the text of its execution.
func stacksOf(host ids.HostID) map[string]string {
	var profile bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&profile, 1); err != nil {
		return nil
	}
	stacks := make(map[string]string)
	for group := range strings.SplitSeq(profile.String(), "\n\n") {
		_, label, ours := strings.Cut(group, fmt.Sprintf("%q:\"", taskLabel))
		execution, _, _ := strings.Cut(label, `"`)
		if !ours || !strings.Contains(group, fmt.Sprintf("%q:%q", hostLabel, host)) {
			continue
		}
		var stack strings.Builder
		for line := range strings.Lines(group) {
			// "#	0x4a1b2c	main.main+0x1d	/src/main.go:12"
			if columns := strings.Fields(line); len(columns) == 4 && columns[0] == "#" {
				function, _, _ := strings.Cut(columns[2], "+0x")
				fmt.Fprintf(&stack, "%s\n\t%s\n", function, columns[3])
			}
		}
		stacks[execution] += stack.String()
	}
	return stacks
}
