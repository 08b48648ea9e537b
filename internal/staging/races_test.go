package staging_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/staging"
)

// actor is a process whose calls to the file system wait for their turn.
type actor struct {
	*dfs.FS
	asks, turn chan struct{}
	err        error // read after asks is closed
}

func (a *actor) await() {
	a.asks <- struct{}{}
	<-a.turn
}

func (a *actor) Stat(ctx context.Context, uri string) (filesystem.FileInfo, error) {
	a.await()
	return a.FS.Stat(ctx, uri)
}

func (a *actor) Status(ctx context.Context, uri string) (dfs.Status, error) {
	a.await()
	return a.FS.Status(ctx, uri)
}

func (a *actor) List(ctx context.Context, dir string) ([]filesystem.FileInfo, error) {
	a.await()
	return a.FS.List(ctx, dir)
}

func (a *actor) Open(ctx context.Context, uri string) (filesystem.File, error) {
	a.await()
	return a.FS.Open(ctx, uri)
}

func (a *actor) CreateMode(ctx context.Context, uri string, o dfs.CreateOptions) (io.WriteCloser, error) {
	a.await()
	return a.FS.CreateMode(ctx, uri, o)
}

func (a *actor) MkdirAllMode(ctx context.Context, dir string, mode fs.FileMode) error {
	a.await()
	return a.FS.MkdirAllMode(ctx, dir, mode)
}

func (a *actor) Rename(ctx context.Context, from, to string) error {
	a.await()
	return a.FS.Rename(ctx, from, to)
}

func (a *actor) RemoveAll(ctx context.Context, uri string) error {
	a.await()
	return a.FS.RemoveAll(ctx, uri)
}

// interleave runs processes to their ends, one call to the file system at a time, in an order that
// rapid chooses.
func interleave(t *rapid.T, files *dfs.FS, processes ...func(*actor) error) []*actor {
	actors := make([]*actor, len(processes))
	var running sync.WaitGroup
	for i, process := range processes {
		a := &actor{FS: files, asks: make(chan struct{}), turn: make(chan struct{})}
		actors[i] = a
		running.Go(func() { // ends with the process
			defer close(a.asks)
			a.err = process(a)
		})
	}
	waiting := make([]bool, len(actors))
	for {
		var ready []int
		for i, a := range actors {
			if !waiting[i] {
				_, waiting[i] = <-a.asks
			}
			if waiting[i] {
				ready = append(ready, i)
			}
		}
		if len(ready) == 0 {
			running.Wait()
			return actors
		}
		next := rapid.SampledFrom(ready).Draw(t, "next")
		waiting[next] = false
		actors[next].turn <- struct{}{}
	}
}

// TestWhoCollectsMeetsWhoSubmits would catch a cache file that a submission has found and that is
// gone, or replaced, when containers localize it, because of a clean-up at the same time.
func TestWhoCollectsMeetsWhoSubmits(t *testing.T) {
	files := dfs.New(dfs.Options{})
	t.Cleanup(func() { _ = files.Close() })
	content := file(t, "binary")
	rapid.Check(t, func(r *rapid.T) {
		home := t.TempDir()
		uri := "file://" + home
		long := time.Now().Add(-24 * time.Hour)
		over, err := staging.New(files, uri, 0).Begin(t.Context(), "application_1_0001", content)
		if err == nil {
			_, _, err = over.Cache(t.Context(), content, func(int64) {})
		}
		for _, dir := range []string{"application_1_0001", "cache/" + content.SHA256} {
			err = errors.Join(err, os.Chtimes(filepath.Join(home, staging.DirName, dir), long, long))
		}
		if err != nil {
			r.Fatal(err)
		}
		collect := func(a *actor) error {
			_, err := staging.New(a, uri, 0).Collect(t.Context(), staging.Collection{
				Over: func(_ context.Context, application string) (bool, error) {
					return application == "application_1_0001", nil
				},
				MinAge: time.Hour, Now: time.Now(),
			})
			return err
		}
		var promised launch.Resource
		submit := func(a *actor) error {
			app, err := staging.New(a, uri, 0).Begin(t.Context(), "application_1_0002", content)
			if err == nil {
				promised, _, err = app.Cache(t.Context(), content, func(int64) {})
			}
			return err
		}
		for _, a := range interleave(r, files, collect, submit) {
			if a.err != nil {
				r.Error(a.err)
			}
		}
		info, err := os.Stat(strings.TrimPrefix(promised.URI, "file://"))
		if err != nil || info.ModTime().UnixMilli() != promised.Timestamp {
			r.Errorf("the submission was promised %s of %d, and there is %v, %v", promised.URI, promised.Timestamp, info, err)
		}
		for _, a := range interleave(r, files, collect, collect) {
			if a.err != nil {
				r.Error(a.err)
			}
		}
		if left, err := os.ReadDir(filepath.Join(home, staging.DirName, "cache")); err != nil || len(left) != 1 {
			r.Errorf("the cache has %s, %v", fmt.Sprint(left), err)
		}
	})
}
