package output_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/memfs"
)

// process makes one file system call for each step of the test. It can die before or after any call, and a call can fail.
// A process without steps for a while is a frozen process, which comes back late. At any time only one process runs.
type process struct {
	waiting chan struct{} // it stands before a call, or has ended (closed)
	next    memfs.Call    // the call before which it stands
	command chan command
	dead    bool
	failing bool // the call has its effect, and fails
	ended   bool
	err     error // how it ended
}

type command int

const (
	proceed    command = iota
	dieBefore          // the process makes no more calls
	dieAfter           // the call has its effect, and no answer comes any more
	failBefore         // the call fails
	failAfter          // the call has its effect, and its answer is lost
)

var (
	errDied = errors.New("process died")
	errLost = errors.New("connection reset")
)

// inOrder is the order of the moves of RenameAll.
type inOrder func(n int, swap func(i, j int))

func asGiven(int, func(i, j int)) {}

// orderOf gives a random order.
func orderOf(seed uint64) inOrder { return rand.New(rand.NewPCG(seed, 0)).Shuffle }

// anyOrder is a file system that does the moves of RenameAll in another order.
type anyOrder struct {
	*memfs.FS
	shuffle inOrder
}

func (f anyOrder) RenameAll(ctx context.Context, moves []filesystem.Move) error {
	f.shuffle(len(moves), func(i, j int) { moves[i], moves[j] = moves[j], moves[i] })
	return f.FS.RenameAll(ctx, moves)
}

// begin runs a function as a process.
func begin(f *memfs.FS, order inOrder, do func(context.Context, filesystem.FileSystem) error) *process {
	p := &process{waiting: make(chan struct{}), command: make(chan command)}
	go func() { // ends with do, which the test steps to its end
		defer close(p.waiting)
		p.err = do(context.Background(), anyOrder{f.View(p.fault), order})
	}()
	p.await()
	return p
}

func (p *process) await() {
	_, alive := <-p.waiting
	p.ended = !alive
}

func (p *process) fault(c memfs.Call) error {
	if p.dead {
		return errDied
	}
	if c.Done {
		if p.failing {
			p.failing = false
			return errLost
		}
		return nil
	}
	p.next, p.failing = c, false
	p.waiting <- struct{}{}
	switch <-p.command {
	case dieBefore:
		p.dead = true
		return errDied
	case failBefore:
		return errLost
	case dieAfter:
		p.dead = true
	case failAfter:
		p.failing = true
	case proceed:
	}
	return nil
}

// step lets the process make its next call, and reports whether it has ended.
func (p *process) step(c command) (ended bool) {
	if !p.ended {
		p.command <- c
		p.await()
	}
	return p.ended
}

// finish gives the process the same command at each call until it has ended.
func (p *process) finish(how command) {
	for !p.step(how) {
	}
}

// run lets the process make this number of calls, or fewer until it has ended.
func (p *process) run(calls int) {
	for range calls {
		if p.step(proceed) {
			return
		}
	}
}

// stopBefore lets the process run up to its n-th call of this kind.
func (p *process) stopBefore(t *testing.T, n int, op, uri string) {
	t.Helper()
	for {
		if p.next.Op == op && p.next.URI == uri {
			if n--; n == 0 {
				return
			}
		}
		if p.step(proceed) {
			t.Fatalf("it ends before %s of %s: %v", op, uri, p.err)
		}
	}
}
