package cluster

import (
	"context"
	"errors"
	"os/exec"
	"testing"
	"time"
)

// The test would catch a limit that counts the clusters of only one process, an ended cluster that keeps its place, and
// a cluster with AtOnce that waits.
func TestPlacesAreLimitedAcrossProcesses(t *testing.T) {
	p := places{dir: t.TempDir(), limit: 2}
	take := func(dir string, atOnce bool) error {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		return p.take(ctx, dir, atOnce, discard())
	}
	if err := errors.Join(take("one", false), take("two", false)); err != nil {
		t.Fatal(err)
	}
	if err := take("three", false); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a third cluster beside two: %v", err)
	}
	if err := take("urgent", true); err != nil {
		t.Errorf("one that others wait for: %v", err)
	}
	if err := errors.Join(p.giveBack("one"), p.giveBack("urgent"), take("three", false)); err != nil {
		t.Errorf("after another has ended: %v", err)
	}

	gone := exec.Command("true") // after Wait no process has this id
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	if err := p.write(place{Dir: "two", Starter: gone.ProcessState.Pid()}); err != nil {
		t.Fatal(err)
	}
	if err := take("four", false); err != nil {
		t.Errorf("beside one whose starter was killed: %v", err)
	}
}

// The test would catch a living cluster that no longer counts after the end of the process that started it.
func TestADetachedClusterKeepsItsPlace(t *testing.T) {
	dir := t.TempDir()
	p := places{dir: t.TempDir(), limit: 1}
	s := &spec{Dir: dir, Daemons: []daemon{{Name: "namenode", Kind: nameNode}}}
	if err := s.write(); err != nil {
		t.Fatal(err)
	}
	process, err := startBegun(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.notePid(s.Daemons[0], process.Process.Pid); err != nil {
		t.Fatal(err)
	}
	if err := p.started(dir); err != nil {
		t.Fatal(err)
	}
	if alive, err := p.alive(); err != nil || len(alive) != 1 {
		t.Errorf("alive are %v, %v", alive, err)
	}
	_ = process.Process.Kill()
	_ = process.Wait() // killed
	if alive, err := p.alive(); err != nil || len(alive) != 0 {
		t.Errorf("after its end alive are %v, %v", alive, err)
	}
}
