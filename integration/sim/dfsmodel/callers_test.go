package dfsmodel_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/integration/sim/dfsmodel"
)

// start is the time at which each test begins.
var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// fate is what becomes of a call.
type fate int

const (
	answered fate = iota
	lost          // it is not executed
	unheard       // it is executed, and the answer is lost
	late          // its caller leaves, and it is executed later
)

// network makes calls one after the other. Each takes a millisecond.
type network struct {
	now   time.Time
	calls []string                         // with the client, in the order of their execution
	fate  func(op dfsmodel.Operation) fate // nil: all are answered
	later []func(now time.Time) error      // effects of late calls, for the test
}

func (n *network) Call(ctx context.Context, op dfsmodel.Operation, effect func(now time.Time) error) error {
	n.calls = append(n.calls, op.Client+" "+op.String())
	n.now = n.now.Add(time.Millisecond)
	if ctx.Err() != nil {
		return dfsmodel.Abandoned(ctx, op)
	}
	f := answered
	if n.fate != nil {
		f = n.fate(op)
	}
	switch f {
	case lost:
		return dfsmodel.Unanswered(op, false)
	case unheard:
		_ = effect(n.now) // nobody hears it
		return dfsmodel.Unanswered(op, true)
	case late:
		n.later = append(n.later, effect)
		return dfsmodel.Unanswered(op, true)
	default:
		return effect(n.now)
	}
}

// world is an HDFS and the processes on it. All use one network.
type world struct {
	*network
	space *dfsmodel.Namespace
}

// newWorld makes an HDFS with the home directory of alice.
func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{network: &network{now: start}, space: dfsmodel.NewNamespace(start)}
	if err := w.space.Mkdirs(w.now, "/user/alice", 0o755, "alice"); err != nil {
		t.Fatal(err)
	}
	return w
}

// process makes the access of a process of alice.
func (w *world) process(name string) *dfsmodel.FileSystem {
	return dfsmodel.New(dfsmodel.Options{Namespace: w.space, Caller: w.network, Client: name, User: "alice"})
}

// tree returns what is below a directory, one line for each entry.
func (w *world) tree(dir string) []string {
	lines := []string{}
	for _, s := range w.space.Tree(w.now, dir) {
		switch {
		case s.IsDir:
			lines = append(lines, s.Path+"/")
		case s.Writer != "":
			lines = append(lines, fmt.Sprintf("%s open by %s", s.Path, s.Writer))
		default:
			lines = append(lines, fmt.Sprintf("%s %d", s.Path, s.Size))
		}
	}
	return lines
}

// nth gives the n-th call from now, from 0, a fate. hit says whether there was such a call.
func (n *network) nth(call int, f fate) (hit *bool) {
	hit = new(bool)
	n.fate = func(dfsmodel.Operation) fate {
		call--
		if call == -1 {
			*hit = true
			return f
		}
		return answered
	}
	return hit
}
