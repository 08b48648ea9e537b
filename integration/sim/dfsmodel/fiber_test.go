package dfsmodel_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/integration/sim/dfsmodel"
	"github.com/bobbin-yarn/bobbin/integration/sim/engine"
	"github.com/bobbin-yarn/bobbin/internal/sched"
)

// wire is the network of one process of an engine: a call arrives after a millisecond, whatever becomes of the process
// meanwhile, and its answer takes as long.
type wire struct {
	engine  *engine.Engine
	process *engine.Process
	calls   *[]string
}

func (n *wire) Call(ctx context.Context, op dfsmodel.Operation, effect func(now time.Time) error) error {
	var result error
	answered := false
	n.engine.After(time.Millisecond, nil, func() {
		err := effect(n.engine.Now())
		*n.calls = append(*n.calls, fmt.Sprint(n.engine.Now().Sub(start), " ", op.Client, " ", op, ": ", err))
		n.engine.After(time.Millisecond, n.process, func() { result, answered = err, true })
	})
	sched.Until(ctx, func() bool { return answered })
	return result
}

// publish runs a process that writes a file beside its place and renames it, and one that reads the file until it is
// there. The first one is killed after some time. It returns all calls, and what is left.
func publish(t *testing.T, killed time.Duration) (calls []string, left []dfsmodel.Status, read string) {
	t.Helper()
	e := engine.New(start, 1)
	defer e.Close()
	space := dfsmodel.NewNamespace(start)
	process := func(name string, main func(ctx context.Context, f *dfsmodel.FileSystem)) *engine.Process {
		n := &wire{engine: e, calls: &calls}
		f := dfsmodel.New(dfsmodel.Options{Namespace: space, Caller: n, Client: name, User: "alice"})
		n.process = e.Start(name, func(ctx context.Context) { main(ctx, f) }, func() { space.Crash(e.Now(), name) })
		return n.process
	}
	writer := process("writer", func(ctx context.Context, f *dfsmodel.FileSystem) {
		err := f.MkdirAll(ctx, "/d")
		if err == nil {
			err = errors.Join(f.WriteFile(ctx, "/d/.new", []byte("whole"), 0o600), f.Rename(ctx, "/d/.new", "/d/file"))
		}
		if err != nil {
			t.Error(err)
		}
	})
	process("reader", func(ctx context.Context, f *dfsmodel.FileSystem) {
		for range 20 {
			content, err := f.ReadFile(ctx, "/d/file", 100)
			if read = string(content); err == nil {
				return
			}
			if !errors.Is(err, fs.ErrNotExist) {
				t.Error(err)
			}
		}
	})
	e.After(killed, nil, writer.Kill)
	for e.Step() {
	}
	if err := e.Err(); err != nil {
		t.Error(err)
	}
	return calls, space.Tree(e.Now().Add(dfsmodel.HardLimit+dfsmodel.RecoveryTime+time.Second), "/"), read
}

// The writer is killed at each time in turn. The test would catch a call that a server forgets because its sender has
// died, a lease that a killed process renews, a file that is visible in part after a rename, and a fiber that cannot be
// stopped in a call.
func TestAProcessIsKilledBetweenItsCalls(t *testing.T) {
	t.Parallel()
	outcomes := map[string]bool{}
	for killed := time.Duration(0); killed < 25*time.Millisecond; killed += time.Millisecond / 2 {
		calls, left, read := publish(t, killed)
		again, _, _ := publish(t, killed)
		if diff := cmp.Diff(calls, again); diff != "" {
			t.Errorf("killed after %v, two runs differ:\n%s", killed, diff)
		}
		outcome := ""
		for _, s := range left {
			if s.Writer != "" {
				t.Errorf("killed after %v, a file stays open: %+v", killed, s)
			}
			outcome += fmt.Sprint(s.Path, " ", s.Size, " ")
		}
		outcomes[outcome] = true
		if read != "" && read != "whole" || (read == "") != (outcome != "/d 0 /d/file 5 ") {
			t.Errorf("killed after %v, the reader has %q, and there is %q", killed, read, outcome)
		}
	}
	want := map[string]bool{"/d 0 ": true, "/d 0 /d/.new 0 ": true, "/d 0 /d/.new 5 ": true, "/d 0 /d/file 5 ": true}
	if diff := cmp.Diff(want, outcomes); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
}
