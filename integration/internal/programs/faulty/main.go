// Command faulty fails in the way that its first argument names, for the tests of the messages that users get.
package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/dataflow"
)

// Args are the job's arguments.
type Args struct {
	Mode   string
	Input  string
	Output string
}

// impatient begins the mode of a driver that ends on SIGUSR1. Its tasks wait until the file that the mode names appears
// on their machine.
const impatient = "impatient:"

var faulty = dataflow.Job("faulty", plan)

func plan(p *dataflow.Plan, a Args) error {
	switch a.Mode {
	case "plan-panic":
		panic("the plan is cursed")
	case "plan-hang":
		time.Sleep(time.Hour) //nolint:forbidigo // slowness is what it is for
	case "plan-error":
		return fmt.Errorf("the plan is refused")
	}
	lines := dataflow.ReadText(p, a.Input)
	if a.Mode == "two-plans" {
		lines = dataflow.Filter(lines, func([]byte) bool { return true }, dataflow.Named(rand.Text()))
	}
	seen := dataflow.FlatMap(lines, func(line []byte, emit func([]byte)) {
		if sizes, is := strings.CutPrefix(a.Mode, full); is {
			fill(sizes, line, emit)
			return
		}
		misbehave(a.Mode)
		emit(line)
	}, dataflow.Named("misbehave"))
	length := 1 // of keys
	if strings.HasPrefix(a.Mode, full) {
		length = fullKey
	}
	counts := dataflow.Count(dataflow.KeyBy(seen, func(line []byte) []byte { return line[:min(length, len(line))] }))
	dataflow.WriteText(counts, a.Output, func(dst []byte, kv dataflow.KV[[]byte, int64]) []byte {
		return strconv.AppendInt(append(append(dst, bytes.TrimSpace(kv.Key)...), '\t'), kv.Value, 10)
	})
	return nil
}

// recurse overflows any stack: n is never negative.
func recurse(n int) int {
	if n < 0 {
		return n
	}
	return recurse(n+1) + n
}

// full begins the mode of tasks that hold memory for three checks of the NodeManager: "task-full:HEAP:OFFHEAP:KEYS", in MB
// and for each line. Keys have fullKey bytes.
const (
	full    = "task-full:"
	fullKey = 1000
)

// fill holds memory of Go's heap, and memory that Go does not manage, while the keys of a line fill the table of the
// count behind the exchange.
func fill(sizes string, line []byte, emit func([]byte)) {
	var heap, offHeap, keys int
	if _, err := fmt.Sscanf(sizes, "%d:%d:%d", &heap, &offHeap, &keys); err != nil {
		panic(err)
	}
	mapped, err := syscall.Mmap(-1, 0, offHeap<<20, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		panic(err)
	}
	held := make([]byte, heap<<20)
	for _, memory := range [][]byte{held, mapped} {
		for i := 0; i < len(memory); i += 4 << 10 { // touches each page
			memory[i] = 1
		}
	}
	for i := range keys {
		emit(fmt.Appendf(nil, "%-*s", fullKey, fmt.Sprintf("%s%d", line, i)))
	}
	time.Sleep(9 * time.Second) //nolint:forbidigo // the NodeManager checks each 3 s
	runtime.KeepAlive(held)
	if err := syscall.Munmap(mapped); err != nil {
		panic(err)
	}
}

// misbehave is called for each line.
func misbehave(mode string) {
	if gate, is := strings.CutPrefix(mode, impatient); is { // the driver ends before the job
		for _, err := os.Stat(gate); err != nil; _, err = os.Stat(gate) {
			time.Sleep(100 * time.Millisecond) //nolint:forbidigo // slowness is what it is for
		}
	}
	switch mode {
	case "task-panic":
		panic("a task has had enough")
	case "task-rant":
		panic("a task rants: " + strings.Repeat("why? ", 100_000))
	case "task-recurse":
		debug.SetMaxStack(16 << 20)
		fmt.Fprintln(os.Stderr, recurse(1))
	case "task-exit":
		fmt.Fprintln(os.Stderr, "last words of the task")
		os.Exit(7)
	case "task-hungry":
		for all := [][]byte(nil); len(all) < 1<<20; {
			more := make([]byte, 4<<20)
			for i := 0; i < len(more); i += 4 << 10 { // touches each page
				more[i] = 1
			}
			all = append(all, more)
		}
	case "slow": // long enough for a test to act on it
		time.Sleep(time.Millisecond) //nolint:forbidigo // slowness is what it is for
	}
}

func main() {
	bobbin.Main(func(ctx context.Context, env *dataflow.Env) error {
		args := env.Args()
		if len(args) != 3 {
			return fmt.Errorf("usage: faulty MODE INPUT OUTPUT, got %d arguments", len(args))
		}
		if args[0] == "no-execute" {
			return nil
		}
		switch args[0] {
		case "driver-error":
			return fmt.Errorf("the driver does not feel like it")
		case "driver-panic":
			panic("the driver loses its head")
		case "driver-exit":
			fmt.Fprintln(os.Stderr, "last words of the driver")
			os.Exit(9)
		}
		if strings.HasPrefix(args[0], impatient) {
			patience, end := context.WithCancelCause(ctx)
			defer end(nil)
			enough := make(chan os.Signal, 1)
			signal.Notify(enough, syscall.SIGUSR1)
			go func() { // ends with the process at the latest
				<-enough
				end(errors.New("the driver has waited long enough"))
			}()
			ctx = patience
		}
		executions := 1
		if args[0] == "twice" {
			executions = 2
		}
		for i := range executions {
			output := args[2] + strings.Repeat("-again", i)
			if _, err := env.Execute(ctx, faulty, Args{args[0], args[1], output}); err != nil {
				return err
			}
		}
		return nil
	})
}
