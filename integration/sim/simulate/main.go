// Program simulate runs schedules of the simulation on all processors.
//
//	go run ./integration/sim/simulate [-from SEED] [-runs N] [-out DIR]
//
// A schedule that breaks a rule is made smaller as long as it still breaks the rule. Its transcript goes
// into the folder, and its last lines to stdout, with the schedule as Go text for a named regression.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bobbin-yarn/bobbin/integration/sim"
)

func main() {
	from := flag.Uint64("from", 1, "the first seed")
	runs := flag.Uint64("runs", 20000, "number of schedules")
	out := flag.String("out", "out/sim", "folder for transcripts")
	flag.Parse()
	e := &explorer{next: *from, end: *from + *runs, out: *out}
	found, err := e.run()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if found > 0 {
		fmt.Printf("%d findings; transcripts are in %s\n", found, *out)
		os.Exit(1)
	}
}

// mostFindings is after how many findings it ends: many seeds find the same.
const mostFindings = 5

// explorer takes one seed after the other.
type explorer struct {
	end uint64
	out string

	events, virtual atomic.Int64

	mu    sync.Mutex // guards what follows
	next  uint64
	found int
	err   error
}

func (e *explorer) run() (found int, err error) {
	start, from := time.Now(), e.next
	var running sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		running.Go(e.work)
	}
	running.Wait()
	took := time.Since(start)
	fmt.Printf("%d schedules, %d events, %.0f hours of virtual time in %.1f s; %d findings\n",
		e.next-from, e.events.Load(), time.Duration(e.virtual.Load()).Hours(), took.Seconds(), e.found)
	return e.found, e.err
}

// take gives the next seed; false: there is none.
func (e *explorer) take() (seed uint64, more bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.next >= e.end || e.found >= mostFindings || e.err != nil {
		return 0, false
	}
	e.next++
	return e.next - 1, true
}

func (e *explorer) work() {
	for seed, more := e.take(); more; seed, more = e.take() {
		s := sim.Draw(seed)
		r, err := s.Run(nil)
		e.events.Add(int64(r.Events))
		e.virtual.Add(int64(r.Time))
		if err == nil && r.Broken != nil {
			err = e.tell(s, r)
		}
		if err != nil {
			e.mu.Lock()
			e.err = err
			e.mu.Unlock()
		}
	}
}

// lastLines is how much of a transcript is printed.
const lastLines = 40

// tell shrinks a schedule, writes its transcript and prints what is needed to look into it.
func (e *explorer) tell(s sim.Schedule, r sim.Result) error {
	small, err := sim.Shrink(s, r.Broken.Rule)
	if err != nil {
		return err
	}
	var log bytes.Buffer
	if r, err = small.Run(&log); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.found++
	file := filepath.Join(e.out, fmt.Sprintf("seed-%d.txt", s.Seed))
	if err := os.MkdirAll(e.out, 0o750); err != nil {
		return fmt.Errorf("make folder for transcripts: %w", err)
	}
	if err := os.WriteFile(file, log.Bytes(), 0o600); err != nil {
		return fmt.Errorf("write transcript: %w", err)
	}
	lines := bytes.Split(bytes.TrimSpace(log.Bytes()), []byte("\n"))
	lines = lines[max(0, len(lines)-lastLines):]
	fmt.Printf("%s\nseed %d breaks a rule after %d events and %v: %v\ntranscript: %s\n%v\n\n",
		bytes.Join(lines, []byte("\n")), s.Seed, r.Events, r.Time, r.Broken, file, small)
	return nil
}
