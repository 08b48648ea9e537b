// Command streams measures an ApplicationMaster with many workers. It starts its roles and their server in a child
// process, and the workers as goroutines in this one. They connect over TLS on loopback. Tasks run on all slots, and
// report progress each second. It prints one line of JSON.
//
//	streams -workers 1000 -steps 4 -slots 4 -settle 30s [-limit 103MiB] [-profile DIR]
//
// -limit is the child's GOMEMLIMIT, which an ApplicationMaster has from its container.
// In each step the same number of workers is added, by a job that needs their slots. Then it waits, and measures the
// child's memory, and its processor time while it waits. With -profile the child writes profiles of its heap and of
// its processor time during the last wait.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/memory"
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "streams:", err)
		os.Exit(1)
	}
}

// asMaster is the first argument of the child. asProfiled follows if it writes profiles.
const (
	asMaster   = "master"
	asProfiled = "profiled"
)

func run(ctx context.Context, args []string) error {
	if len(args) > 0 && args[0] == asMaster {
		if len(args) > 1 { // before anything is allocated: each allocation of some 4 KiB is in the profile
			runtime.MemProfileRate = 4 << 10
		}
		return master(ctx, os.Stdin, os.Stdout)
	}
	var p plan
	flags := flag.NewFlagSet("streams", flag.ContinueOnError)
	flags.IntVar(&p.workers, "workers", 1000, "`number` of workers at the end")
	flags.IntVar(&p.steps, "steps", 4, "`number` of steps in which they come")
	flags.IntVar(&p.slots, "slots", 4, "slots of each worker")
	flags.DurationVar(&p.settle, "settle", 30*time.Second, "`time` of a measurement")
	flags.StringVar(&p.limit, "limit", "off", "`GOMEMLIMIT` of the child")
	flags.StringVar(&p.profiles, "profile", "", "existing `directory` for profiles; \"\": none")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if p.steps < 1 || p.workers < p.steps || p.slots < 1 {
		return errors.New("there must be at least one worker in each step, and a slot on each")
	}
	measured, err := p.run(ctx)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(measured)
}

// The parent sends requests to the child, one line of JSON each. The child answers each with one reply that has
// Measured or Grown; between them it sends workers to start.
type (
	request struct {
		Grow    *grow    `json:",omitempty"`
		Measure *measure `json:",omitempty"`
	}
	// grow runs one more job, and waits until all of its tasks run.
	grow    struct{ Workers int }
	measure struct {
		Settle   time.Duration
		Profiles string // directory; "": none
	}
	// hello comes before the requests.
	hello struct{ Slots int }
	reply struct {
		Worker   *started  `json:",omitempty"`
		Measured *Measured `json:",omitempty"`
		Grown    *grown    `json:",omitempty"`
		Error    string    `json:",omitempty"`
	}
	// started is a worker to start.
	started struct {
		Container, Address string
		Memory             memory.Worker
		Secret             []byte
	}
	// grown is the time from the submission until all tasks run, and the child's processor time in it.
	grown struct{ Took, CPU time.Duration }
)

// Measured is the child's state after a step.
type Measured struct {
	Workers    int
	Took       time.Duration // from the submission until all tasks run
	GrowCPU    time.Duration // processor time in that time
	RSS        int64         // bytes, before a collection of garbage
	Heap       int64         // bytes in use after it
	Stacks     int64         // bytes
	Goroutines int
	Files      int     // open file descriptors
	CPU        float64 // processors in use
}
