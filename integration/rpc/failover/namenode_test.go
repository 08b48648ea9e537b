package failover

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
)

const blockSize = 64 << 10 // bytes; small, so that files of many blocks call the NameNode often

// job is one kind of work on HDFS, which one goroutine repeats.
type job struct {
	name string
	step func(ctx context.Context, round int) error // one step
	end  func(ctx context.Context) error            // checks the result; nil: step does

	made    atomic.Int64
	longest time.Duration // longest time of a step
}

// The test would catch a file that is lost with the NameNode, bytes that are written or read twice
// or not at all, a move that is refused because it was already done, and a token that clients of
// the other NameNode do not find.
func TestTheActiveNameNodeGoesUnderLoad(t *testing.T) {
	other := clusters.Use(t, clusters.Open)
	c := clusters.Change(t, clusters.Pair, "kills the active NameNode")
	ctx := t.Context()
	conf := withOther(hdfsConf(t, c), other)
	plain := rpctest.FS(t, dfs.Options{Conf: conf, User: rpctest.Me(t)})
	bearer := rpctest.FS(t, dfs.Options{Conf: conf, User: "somebody", Credentials: withToken(ctx, t, plain)})
	dir := scratch(t, plain)
	jobs := []*job{
		writing(ctx, t, plain, dir+"/written"), writing(ctx, t, bearer, dir+"/written-with-a-token"),
		reading(ctx, t, plain, dir+"/read"), reading(ctx, t, bearer, dir+"/read-with-a-token"),
		moving(ctx, t, plain, dir+"/moved"), moving(ctx, t, bearer, dir+"/moved-with-a-token"),
		making(plain, dir+"/made"),
	}
	liveOn(ctx, t, jobs, func() error {
		return errors.Join(c.Kill(ctx, "namenode1"), c.Activate(ctx, "namenode2"))
	})

	twoFileSystems(ctx, t, plain, dir, other)

	// The killed NameNode comes back as a standby, and each nameservice is its own.
	if err := c.Restart(ctx, "namenode1"); err != nil {
		t.Fatal(err)
	}
	for _, authority := range []string{"bobbin", "alias"} {
		if _, err := plain.Stat(ctx, strings.Replace(dir, "bobbin", authority, 1)+"/written"); err != nil {
			t.Errorf("by nameservice %s: %v", authority, err)
		}
	}
	first := rpctest.NameNode(t, c, rpctest.NameNodeOptions(t, c, rpctest.Me(t)))
	if _, err := first.Locate(ctx, "/", 0, 1); !errors.Is(err, yarnrpc.ErrStandby) {
		t.Errorf("the first NameNode alone: %v", err)
	}
}

// A NameNode that hangs keeps its connections. The test would catch a call without a time limit,
// and a limit shorter than the other NameNode's answer.
func TestTheActiveNameNodeStopsWithItsConnectionsHalfOpen(t *testing.T) {
	cluster.Long(t)
	c := clusters.Change(t, clusters.Pair, "stops the active NameNode")
	ctx := t.Context()
	f := rpctest.FS(t, dfs.Options{Conf: hdfsConf(t, c), User: rpctest.Me(t), Patience: 2 * time.Minute})
	dir := scratch(t, f)
	liveOn(ctx, t, []*job{writing(ctx, t, f, dir+"/written"), reading(ctx, t, f, dir+"/read"), moving(ctx, t, f, dir+"/moved")}, func() error {
		return errors.Join(c.Pause(ctx, "namenode1"), c.Activate(ctx, "namenode2"))
	})
}

// liveOn runs the jobs while one NameNode is lost and the other one becomes active.
func liveOn(ctx context.Context, t *testing.T, jobs []*job, lose func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	stop := make(chan struct{})
	var working sync.WaitGroup
	defer working.Wait()
	defer cancel()
	for _, j := range jobs {
		working.Go(func() {
			if err := j.run(ctx, stop); err != nil {
				t.Errorf("%s, step %d: %v", j.name, j.made.Load(), err)
			}
		})
	}
	awaitSteps(t, jobs, 3)
	began := time.Now()
	if err := lose(); err != nil {
		t.Error(err)
	}
	cluster.Figure(t, "the other NameNode is active, after %v", time.Since(began).Round(time.Millisecond))
	awaitSteps(t, jobs, 3) // the step under way, and more
	close(stop)
	working.Wait()
	for _, j := range jobs {
		if j.end != nil && !t.Failed() {
			if err := j.end(ctx); err != nil {
				t.Errorf("%s, after %d steps: %v", j.name, j.made.Load(), err)
			}
		}
		cluster.Figure(t, "%s: the longest of %d steps took %v", j.name, j.made.Load(), j.longest.Round(time.Millisecond))
	}
}

func (j *job) run(ctx context.Context, stop <-chan struct{}) error {
	for round := 0; ; round++ {
		began := time.Now()
		if err := j.step(ctx, round); err != nil {
			return fmt.Errorf("after %v: %w", time.Since(began), err)
		}
		j.longest = max(j.longest, time.Since(began))
		j.made.Add(1)
		select {
		case <-stop:
			return nil
		default:
		}
	}
}

// awaitSteps waits until each job has made this number of further steps.
func awaitSteps(t *testing.T, jobs []*job, more int64) {
	t.Helper()
	before := make([]int64, len(jobs))
	for i, j := range jobs {
		before[i] = j.made.Load()
	}
	wait.Satisfied(t, "more steps of each job", func() error {
		for i, j := range jobs {
			if made := j.made.Load(); made < before[i]+more && !t.Failed() { // this job may have been the one
				return fmt.Errorf("%s has made %d steps, and %d before", j.name, made, before[i])
			}
		}
		return nil
	})
}

// writing writes a file, a little more than a block in each step.
func writing(ctx context.Context, t *testing.T, f *dfs.FS, uri string) *job {
	piece := rpctest.Noise(blockSize + 100)
	w, err := f.Create(ctx, uri, filesystem.ExistingParents)
	if err != nil {
		t.Fatal(err)
	}
	j := &job{name: "writing " + uri}
	j.step = func(context.Context, int) error {
		_, err := w.Write(piece)
		return err
	}
	j.end = func(ctx context.Context) error {
		if err := w.Close(); err != nil {
			return err
		}
		want := bytes.Repeat(piece, int(j.made.Load()))
		got, err := f.ReadFile(ctx, uri, int64(len(want)))
		if err == nil && !bytes.Equal(got, want) {
			err = fmt.Errorf("%d bytes differ from the %d written", len(got), len(want))
		}
		return err
	}
	return j
}

// reading opens and reads a file in each step.
func reading(ctx context.Context, t *testing.T, f *dfs.FS, uri string) *job {
	content := rpctest.Noise(5*blockSize + 1)
	if err := f.WriteFile(ctx, uri, content, 0o644); err != nil {
		t.Fatal(err)
	}
	return &job{name: "reading " + uri, step: func(ctx context.Context, _ int) error {
		file, err := f.Open(ctx, uri)
		if err != nil {
			return err
		}
		got, err := io.ReadAll(file)
		if err == nil && !bytes.Equal(got, content) {
			err = fmt.Errorf("%d bytes differ from the %d written", len(got), len(content))
		}
		return errors.Join(err, file.Close())
	}}
}

// moving renames a file in each step.
func moving(ctx context.Context, t *testing.T, f *dfs.FS, uri string) *job {
	name := func(round int) string { return fmt.Sprintf("%s.%d", uri, round) }
	if err := f.WriteFile(ctx, name(0), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	return &job{name: "moving " + uri, step: func(ctx context.Context, round int) error {
		return f.Rename(ctx, name(round), name(round+1))
	}}
}

// making makes a directory and a file in it, and removes both, in each step.
func making(f *dfs.FS, uri string) *job {
	return &job{name: "making " + uri, step: func(ctx context.Context, _ int) error {
		if err := f.MkdirAll(ctx, uri+"/a/b"); err != nil {
			return err
		}
		if err := f.WriteFile(ctx, uri+"/a/b/c", []byte("x"), 0o600); err != nil {
			return err
		}
		entries, err := f.List(ctx, uri+"/a/b")
		if err != nil || len(entries) != 1 {
			return fmt.Errorf("%d entries: %w", len(entries), err)
		}
		if err := f.RemoveAll(ctx, uri); err != nil {
			return err
		}
		if _, err := f.Stat(ctx, uri); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("a removed file still exists: %w", err)
		}
		return nil
	}}
}

// hdfsConf returns the cluster's configuration with small blocks, and with another name for the
// nameservice.
func hdfsConf(t *testing.T, c *cluster.Cluster) *hadoopconf.Conf {
	t.Helper()
	conf := rpctest.Conf(t, c)
	addresses, _, err := conf.NameNodes("bobbin")
	if err != nil || len(addresses) != 2 {
		t.Fatalf("the nameservice has %v, %v", addresses, err)
	}
	return conf.With("test", map[string]string{
		"dfs.blocksize": fmt.Sprint(blockSize), "dfs.nameservices": "bobbin,alias", "dfs.ha.namenodes.alias": "a,b",
		"dfs.namenode.rpc-address.alias.a": addresses[1], "dfs.namenode.rpc-address.alias.b": addresses[0],
		"dfs.client.failover.max.attempts": "200", // a machine may be busy
	})
}

// withToken returns credentials with only a token of f's user, for the nameservice.
func withToken(ctx context.Context, t *testing.T, f *dfs.FS) func() *creds.Credentials {
	t.Helper()
	token, err := f.DelegationToken(ctx, "/", rpctest.Me(t))
	if err != nil {
		t.Fatal(err)
	}
	all := creds.New()
	all.Tokens[token.Service] = token
	return func() *creds.Credentials { return all }
}

// scratch makes a directory that is removed with its test, because jobs write as much as they can.
func scratch(t *testing.T, f *dfs.FS) string {
	t.Helper()
	dir := rpctest.Scratch(t, f)
	t.Cleanup(func() {
		if err := f.RemoveAll(wait.Context(t), dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}
