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
	"github.com/bobbin-yarn/bobbin/internal/ha"
	"github.com/bobbin-yarn/bobbin/internal/ids"
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

func (a *actor) MkdirMode(ctx context.Context, dir string, mode fs.FileMode) error {
	a.await()
	return a.FS.MkdirMode(ctx, dir, mode)
}

func (a *actor) Load(ctx context.Context, uri string, limit int64) ([]byte, filesystem.FileInfo, error) {
	a.await()
	return a.FS.Load(ctx, uri, limit)
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

// leadersFiles is the file system of an ApplicationMaster.
type leadersFiles interface {
	staging.FileSystem
	ha.FileSystem
}

// A session's ApplicationMaster was replaced, and releases a program. The next one needs this program. Meanwhile another
// process cleans the cache. The test would catch a program that is gone although a leader's job uses it, and a record that
// nobody finds while the directory with it is renamed.
func TestTheLastLeaderReleasesWhatTheNextOneHolds(t *testing.T) {
	files := dfs.New(dfs.Options{})
	t.Cleanup(func() { _ = files.Close() })
	content := file(t, "binary")
	rapid.Check(t, func(r *rapid.T) {
		home := t.TempDir()
		uri := "file://" + home
		session, err := staging.New(files, uri, 0).Begin(t.Context(), "application_1_0001")
		if err != nil {
			r.Fatal(err)
		}
		lead := func(f leadersFiles, epoch ids.Epoch) (*staging.Running, error) {
			term, err := ha.NewDirectory(ha.Options{Files: f, Dir: session.Dir, Epoch: epoch}).Lead(t.Context())
			if err != nil {
				return nil, err
			}
			return staging.Resume(f, session.Dir, term.Store.Dir(), 0, ids.Source{}), nil
		}
		use := func(running *staging.Running) (staging.Entry, error) { // as package programs does
			err := running.Hold(t.Context(), content.SHA256)
			if err != nil {
				return staging.Entry{}, err
			}
			entry, err := running.Find(t.Context(), content.SHA256)
			if !errors.Is(err, fs.ErrNotExist) {
				return entry, err
			}
			temporary, err := running.Receive(t.Context(), strings.NewReader("binary"))
			if err != nil {
				return staging.Entry{}, err
			}
			return running.File(t.Context(), temporary, content.SHA256, content.Name)
		}
		err = ha.Stage(t.Context(), files, session.Dir)
		if err == nil {
			var first *staging.Running
			if first, err = lead(files, 1); err == nil {
				_, err = use(first)
			}
		}
		long := time.Now().Add(-24 * time.Hour)
		if err = errors.Join(err, os.Chtimes(filepath.Join(home, staging.DirName, "cache", content.SHA256), long, long)); err != nil {
			r.Fatal(err)
		}
		var promised staging.Entry
		held := rapid.Bool().Draw(r, "the next one only recovers it")
		last := func(a *actor) error {
			return staging.Resume(a, session.Dir, session.Dir+"/live-1", 0, ids.Source{}).Release(t.Context(), content.SHA256)
		}
		next := func(a *actor) error {
			running, err := lead(a, 2)
			if err != nil {
				return err
			}
			if held {
				recovered, err := running.Holds(t.Context())
				if err != nil || len(recovered) == 0 { // it was released before
					return err
				}
				promised, err = running.Find(t.Context(), content.SHA256)
				return err
			}
			promised, err = use(running)
			return err
		}
		clean := func(a *actor) error {
			_, err := staging.New(a, uri, 0).Collect(t.Context(), staging.Collection{
				Over: func(context.Context, string) (bool, error) { return false, nil }, MinAge: time.Hour, Now: time.Now(),
			})
			return err
		}
		actors := interleave(r, files, last, next, clean)
		for _, a := range actors {
			if a.err != nil {
				r.Error(a.err)
			}
		}
		if promised.URI == "" {
			return
		}
		info, err := os.Stat(strings.TrimPrefix(promised.URI, "file://"))
		if err != nil || info.ModTime().UnixMilli() != promised.Timestamp {
			r.Errorf("the next leader was promised %s of %d, and there is %v, %v", promised.URI, promised.Timestamp, info, err)
		}
		if records, err := os.ReadDir(filepath.Join(home, staging.DirName, "application_1_0001", "live-2", "refs.d")); err != nil || len(records) != 1 {
			r.Errorf("the next leader's records are %v, %v", records, err)
		}
	})
}
