package userdriver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/driver"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/procmem"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
)

// TestAProgramsEnvironmentIsItsOwn would catch a program with the ApplicationMaster's own variables, and a
// program without a memory limit.
func TestAProgramsEnvironmentIsItsOwn(t *testing.T) {
	t.Parallel()
	own := []string{"PATH=/bin", launch.Variable + "=secret", launch.TokenFileVariable + "=/tokens", "GOMEMLIMIT=409MiB", "GOMAXPROCS=2", "X=" + launch.Variable}
	got := environment(slices.Clone(own), 128<<20)
	if want := "PATH=/bin X=" + launch.Variable + " GOMEMLIMIT=128MiB"; strings.Join(got, " ") != want {
		t.Errorf("a driver's environment is %q, want %q", got, want)
	}
}

// TestWhatAProgramStartsEndsWithIt would catch a command that outlives the program which started it. Nothing counts
// the command's memory then, and the NodeManager kills the ApplicationMaster's container, with all jobs.
func TestWhatAProgramStartsEndsWithIt(t *testing.T) {
	t.Parallel()
	await := func(t *testing.T, over func() bool) {
		t.Helper()
		ticker := time.NewTicker(10 * time.Millisecond)
		defer ticker.Stop()
		for !over() { // until the test binary's deadline, which fails
			select {
			case <-ticker.C:
			case <-t.Context().Done():
				t.Fatal("test ended")
			}
		}
	}
	childOf := func(t *testing.T, d testDrivers) (pid int) {
		t.Helper()
		await(t, func() bool {
			text, _ := os.ReadFile(filepath.Join(d.logDir, Log+".stdout")) // it may not be there yet
			n, _ := fmt.Sscanf(string(text), "child %d\n", &pid)
			return n == 1
		})
		return pid
	}
	lives := func(pid int) bool { return procmem.OfProcess(pid) > 0 }
	// The test process itself fills the container.
	limits := Limits{Container: 16 << 20, Each: 24 << 20, Raise: config.JobManagerProcessSize}
	for name, end := range map[string]func(t *testing.T) (child int){
		"its memory is needed": func(t *testing.T) int {
			d, p := start(t, &fakeCluster{}, limits, "breed", "hog")
			child := childOf(t, d)
			await(t, func() bool { d.relieve(); return p.killed.Load() != nil })
			return child // nobody has called Close yet
		},
		"it is ended": func(t *testing.T) int {
			d, p := start(t, &fakeCluster{}, Limits{}, "breed", "hang")
			child := childOf(t, d)
			if err := p.Close(); err != nil {
				t.Error(err)
			}
			return child
		},
		"it ends by itself": func(t *testing.T) int {
			d, p := start(t, &fakeCluster{}, Limits{}, "breed", "count=a")
			if _, err := p.Serve(t.Context()); !errors.Is(err, io.EOF) {
				t.Errorf("served to %v", err)
			}
			return childOf(t, d)
		},
		"it does not start": func(t *testing.T) int {
			d := newDrivers(t, &fakeCluster{}, Limits{})
			if _, err := d.Start(t.Context(), Program{File: os.Args[0], Arguments: []string{"breed-at-once"}, Log: Log}); !errors.Is(err, driver.ErrExit) {
				t.Errorf("started with %v", err)
			}
			return childOf(t, d)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, p := start(t, &fakeCluster{}, Limits{}, "breed", "hang")
			other := childOf(t, d)
			child := end(t)
			await(t, func() bool { return !lives(child) })
			if !lives(other) {
				t.Error("a child of another program has ended")
			}
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestNewTokensReachPrograms would catch a program that runs for days and whose later jobs cannot list
// their inputs.
func TestNewTokensReachPrograms(t *testing.T) {
	t.Parallel()
	secret := func(text string) msg.Secret {
		c := creds.New()
		c.Tokens["ns"] = &creds.Token{Kind: creds.KindHDFSDelegation, Service: "ns", Password: []byte(text)}
		return c.Marshal()
	}
	d, p := start(t, &fakeCluster{}, Limits{}, "tokens", "tokens", "count=x", "tokens", "hang")
	ctx, stop := context.WithCancelCause(t.Context())
	var serving sync.WaitGroup
	over := errors.New("test is over")
	serving.Go(func() {
		if _, err := p.Serve(ctx); !errors.Is(err, over) {
			t.Errorf("served to %v", err)
		}
	})
	printed := ""
	for n := 0; strings.Count(printed, "token") < 3; n++ { // an earlier update that was not sent yet is dropped
		d.UpdateTokens(secret(fmt.Sprintf("token %d", n)))
		printed = logged(t, d, ".stdout")
	}
	stop(over)
	serving.Wait()
	if !strings.Contains(printed, "FINISHED 2\n") {
		t.Errorf("the program printed %q", printed)
	}
}
