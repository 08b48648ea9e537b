package ha_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/integration/sim/dfsmodel"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/internal/ha"
	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// backend is one of the ways to store what outlives a master, as an application's client has staged it.
type backend struct {
	*testing.T
	attempt func(ids.Epoch) ha.Election
	ha.Retrieval
	// tree returns all files with their contents, and all directories; nil if there are none.
	tree func() []string
}

// lead makes an attempt the leader.
func (b *backend) lead(ctx context.Context, epoch ids.Epoch) ha.Term {
	b.Helper()
	term, err := b.attempt(epoch).Lead(ctx)
	if err != nil {
		b.Errorf("attempt %d: %v", epoch, err)
		return ha.Term{Store: none{}}
	}
	return term
}

// none is the Store of an attempt that a test could not make the leader. It panics.
type none struct{ ha.Store }

// is checks what callers can test of an error.
func (b *backend) is(want string, what string, err error) {
	b.Helper()
	if got := class(err); got != want {
		b.Errorf("%s: the error is %q (%v), want %q", what, got, err, want)
	}
}

func otherClass(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "not exist"
	case errors.Is(err, fs.ErrExist):
		return "exist"
	case errors.Is(err, filesystem.ErrTooLarge):
		return "too large"
	default:
		return "other"
	}
}

// onBackends runs a test on each backend.
func onBackends(t *testing.T, test func(ctx context.Context, b *backend)) {
	t.Helper()
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		m := ha.NewMemory()
		test(t.Context(), &backend{t, m.Election, m, func() []string { return nil }})
	})
	t.Run("disk", func(t *testing.T) {
		t.Parallel()
		files := dfs.New(dfs.Options{})
		t.Cleanup(func() { _ = files.Close() })
		dir := t.TempDir()
		if err := os.Chmod(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		uri := "file://" + dir
		if err := ha.Stage(t.Context(), files, uri); err != nil {
			t.Fatal(err)
		}
		test(t.Context(), &backend{
			t, func(epoch ids.Epoch) ha.Election { return attempt(files, uri, epoch) }, ha.NewRetrieval(files, uri),
			func() []string { return onDisk(t, dir) },
		})
	})
	t.Run("HDFS", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, 1)
		w.process("all", func(ctx context.Context, files *dfsmodel.FileSystem) {
			test(ctx, &backend{
				t, func(epoch ids.Epoch) ha.Election { return attempt(files, home, epoch) }, ha.NewRetrieval(files, home),
				w.tree,
			})
		})
		w.run(t)
	})
}

// onDisk returns all files below a directory with their contents, and all directories.
func onDisk(t *testing.T, dir string) []string {
	lines := []string{}
	err := filepath.WalkDir(dir, func(at string, d fs.DirEntry, err error) error {
		name := strings.TrimPrefix(at, dir+"/")
		switch {
		case at == dir && errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil || at == dir:
			return err
		case d.IsDir():
			lines = append(lines, name+"/")
		default:
			content, err := os.ReadFile(at)
			lines = append(lines, strings.TrimSuffix(name+" "+string(content), " "))
			return err
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	slices.Sort(lines)
	return lines
}

// content is all that a Store tells.
type content struct {
	Authority string
	Jobs      []ha.JobEntry
	Graphs    map[ids.JobID]string // with how it was submitted
	Commits   map[ids.JobID]map[int]string
	Results   []ha.ResultEntry
	Bodies    map[ids.JobID]string
	Stopped   bool
}

// read reads all that a Store tells.
func (b *backend) read(ctx context.Context, s ha.Store) content {
	b.Helper()
	c, err := read(ctx, s)
	if err != nil {
		b.Errorf("read everything: %v", err)
	}
	return c
}

func read(ctx context.Context, s ha.Store) (c content, err error) {
	c = content{Graphs: map[ids.JobID]string{}, Commits: map[ids.JobID]map[int]string{}, Bodies: map[ids.JobID]string{}}
	pem, err := s.Authority(ctx)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return c, err
	}
	c.Authority = string(pem)
	if c.Jobs, err = s.Jobs(ctx); err != nil {
		return c, err
	}
	for _, e := range c.Jobs {
		job, err := s.Job(ctx, e.ID)
		if err != nil {
			return c, err
		}
		c.Graphs[e.ID] = string(job.Graph) + " " + string(job.Submitted)
		commits, err := s.Commits(ctx, e.ID)
		if err != nil {
			return c, err
		}
		for region, commit := range commits {
			if c.Commits[e.ID] == nil {
				c.Commits[e.ID] = map[int]string{}
			}
			c.Commits[e.ID][region] = string(commit.Record)
			if commit.Finished {
				c.Commits[e.ID][region] += ", finished"
			}
		}
	}
	if c.Results, err = s.Results(ctx); err != nil {
		return c, err
	}
	for _, e := range c.Results {
		body, err := s.Result(ctx, e.ID)
		if err != nil {
			return c, err
		}
		c.Bodies[e.ID] = string(body)
		head, err := s.ResultHead(ctx, e.ID, 3)
		if err != nil {
			return c, err
		}
		if want := string(body[:min(3, len(body))]); string(head) != want {
			return c, fmt.Errorf("the result of %s begins with %q, want %q", e.ID, head, want)
		}
	}
	c.Stopped, err = s.Stopped(ctx)
	return c, err
}
