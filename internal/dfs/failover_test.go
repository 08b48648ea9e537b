package dfs

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hdfsfake"
)

// A rename or a create that is executed twice fails the second time, because its target exists. The
// test would catch retries with a new call id, which the NameNode cannot recognize, and answers
// that belong to another call.
func TestACallWhoseAnswerIsLostIsDoneOnce(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		method string
		call   func(context.Context, *FS) error
		left   []string
	}{
		"rename": {"rename2", func(ctx context.Context, f *FS) error { return f.Rename(ctx, "/file", "/moved") }, []string{"/moved"}},
		"create": {"create", func(ctx context.Context, f *FS) error {
			return f.WriteFile(ctx, "/new", pattern(10), 0o600)
		}, []string{"/file", "/new"}},
		"delete": {"delete", func(ctx context.Context, f *FS) error { return f.RemoveAll(ctx, "/file") }, []string{}},
	} {
		for _, nameNodes := range []int{1, 2} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				onHDFS(t, hdfsfake.Config{NameNodes: nameNodes}, func(t *testing.T, f *FS, fake *hdfsfake.Fake) {
					fake.WriteFile("/file", pattern(10))
					fake.Drop(tc.method, hdfsfake.After)
					if err := tc.call(t.Context(), f); err != nil {
						t.Error(err)
					}
					calls := fake.Calls(tc.method)
					if fake.Executed(tc.method) != 1 || len(calls) < 2 || calls[len(calls)-1].Retry == 0 {
						t.Errorf("%s was executed %d times: %+v", tc.method, fake.Executed(tc.method), calls)
					}
					if diff := cmp.Diff(tc.left, append([]string{}, fake.Paths()...)); diff != "" {
						t.Errorf("what is there (-want +got):\n%s", diff)
					}
				})
			})
		}
	}
}

// A NameNode executes mkdirs again. The test would catch a caller that is told that its new directory was
// there before.
func TestADirectoryWhoseAnswerIsLostIsMade(t *testing.T) {
	t.Parallel()
	onHDFS(t, hdfsfake.Config{}, func(t *testing.T, f *FS, fake *hdfsfake.Fake) {
		fake.Drop("mkdirs", hdfsfake.After)
		if err := f.Mkdir(t.Context(), "/dir"); err != nil || fake.Executed("mkdirs") != 2 {
			t.Errorf("the directory was made %d times: %v", fake.Executed("mkdirs"), err)
		}
	})
}

// The NameNode that takes over knows the call too.
func TestACallWhoseAnswerIsLostInAFailOverIsDoneOnce(t *testing.T) {
	t.Parallel()
	onHDFS(t, hdfsfake.Config{NameNodes: 2}, func(t *testing.T, f *FS, fake *hdfsfake.Fake) {
		fake.WriteFile("/file", pattern(10))
		if _, err := f.Stat(t.Context(), "/file"); err != nil {
			t.Fatal(err)
		}
		fake.Delay("rename2", 100*time.Millisecond)
		fake.Drop("rename2", hdfsfake.After) // at the retry
		renamed := make(chan error, 1)
		go func() { renamed <- f.Rename(t.Context(), "/file", "/moved") }()
		time.Sleep(50 * time.Millisecond)
		fake.StopNameNode(0) // before it is executed
		fake.Activate(1)
		if err := <-renamed; err != nil {
			t.Error(err)
		}
		if calls := fake.Calls("rename2"); fake.Executed("rename2") != 1 || calls[len(calls)-1].NameNode != 1 {
			t.Errorf("renames: %+v", calls)
		}
	})
}

// It would catch a connection that is used again after a read from it has failed. Then the answer
// to the abandoned call would count as the answer to the next call.
func TestAnAnswerThatComesTooLateIsNobodys(t *testing.T) {
	t.Parallel()
	onHDFS(t, hdfsfake.Config{}, func(t *testing.T, f *FS, fake *hdfsfake.Fake) {
		fake.WriteFile("/a", pattern(1))
		fake.WriteFile("/bb", pattern(2))
		if _, err := f.Stat(t.Context(), "/a"); err != nil {
			t.Fatal(err)
		}
		fake.Delay("getFileInfo", 500*time.Millisecond)
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if _, err := f.Stat(ctx, "/a"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("stat: %v, want %v", err, context.DeadlineExceeded)
		}
		time.Sleep(600 * time.Millisecond)
		for range 2 {
			if info, err := f.Stat(t.Context(), "/bb"); err != nil || info.Size != 2 {
				t.Errorf("the next call gives %+v, %v", info, err)
			}
		}
	})
}

// It would catch a job that fails because the NameNode restarts, which takes minutes on a large
// cluster.
func TestANameNodeThatComesBackIsWaitedFor(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		away, patience time.Duration
		call           func(context.Context, *FS) error
	}{
		// This call does not go through the library, so it may wait.
		"for minutes": {2 * time.Minute, clusterPatience, func(ctx context.Context, f *FS) error { return f.Rename(ctx, "/file", "/moved") }},
		"through the library": {200 * time.Millisecond, testPatience, func(ctx context.Context, f *FS) error {
			return f.MkdirAll(ctx, "/dir")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onHDFS(t, hdfsfake.Config{}, func(t *testing.T, _ *FS, fake *hdfsfake.Fake) {
				f := New(Options{Conf: fake.Conf(), User: "alice", Dial: fake.Dial, Patience: tc.patience})
				defer f.Close()
				fake.WriteFile("/file", pattern(10))
				fake.StopNameNode(0)
				time.AfterFunc(tc.away, func() { fake.StartNameNode(0) })
				if err := tc.call(t.Context(), f); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// It would catch a file that ends, or loses a block, because the NameNode fails over while it is
// written or read.
func TestFilesGoOnWhenTheNameNodeFailsOver(t *testing.T) {
	t.Parallel()
	for name, failOver := range map[string]func(*hdfsfake.Fake){
		"to a standby":    func(fake *hdfsfake.Fake) { fake.Activate(1) },
		"from a dead one": func(fake *hdfsfake.Fake) { fake.Activate(1); fake.StopNameNode(0) },
		"and then back": func(fake *hdfsfake.Fake) {
			fake.Activate(1)
			fake.StopNameNode(0)
			fake.StartNameNode(0)
			fake.Activate(0)
		},
		"over connections": func(fake *hdfsfake.Fake) { fake.StopNameNode(0); fake.StartNameNode(0) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onHDFS(t, hdfsfake.Config{NameNodes: 2, BlockSize: 64 << 10}, func(t *testing.T, f *FS, fake *hdfsfake.Fake) {
				want := pattern(200 << 10)
				w, err := f.Create(t.Context(), "/file", filesystem.ExistingParents)
				if err != nil {
					t.Fatal(err)
				}
				half := len(want) / 2
				if _, err := w.Write(want[:half]); err != nil {
					t.Fatal(err)
				}
				failOver(fake)
				if _, err := w.Write(want[half:]); err != nil {
					t.Fatal(err)
				}
				if err := w.Close(); err != nil {
					t.Fatal(err)
				}
				if got, complete := fake.ReadFile("/file"); !complete || !bytes.Equal(got, want) {
					t.Fatalf("HDFS has %d bytes, complete: %t", len(got), complete)
				}
				file, err := f.Open(t.Context(), "/file")
				if err != nil {
					t.Fatal(err)
				}
				defer file.Close()
				fake.CutRead(0) // so that the reader calls the NameNode in the middle
				fake.StartNameNode(0)
				fake.Activate(0)
				if got, err := io.ReadAll(file); err != nil || !bytes.Equal(got, want) {
					t.Errorf("%d bytes are read, %v", len(got), err)
				}
			})
		})
	}
}

// It would catch calls that wait for each other. Each would make the library's client anew, or two
// that connect at the same time would hang.
func TestCallsAtTheSameTimeShareAClient(t *testing.T) {
	t.Parallel()
	onHDFS(t, hdfsfake.Config{}, func(t *testing.T, f *FS, fake *hdfsfake.Fake) {
		fake.WriteFile("/file", pattern(10))
		failed := make(chan error)
		const calls = 8
		for range calls {
			go func() { failed <- f.MkdirAll(t.Context(), "/dir") }()
		}
		for range calls {
			if err := <-failed; err != nil {
				t.Error(err)
			}
		}
		connected := len(fake.Calls("getServerDefaults"))
		if err := f.MkdirAll(t.Context(), "/file"); !errors.Is(err, fs.ErrExist) {
			t.Error(err)
		}
		synctest.Wait()
		if again := len(fake.Calls("getServerDefaults")); connected == 0 || again != connected {
			t.Errorf("after %d first calls another client was made: %d", connected, again)
		}
	})
}
