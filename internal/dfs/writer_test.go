package dfs

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hdfsfake"
)

// It would catch a file that stays open because its last block was reported a moment too late, so
// that others wait an hour for its lease; and a Close that waits forever.
func TestCloseWaitsForTheLastBlock(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		unreported int
		takes      time.Duration
		complete   bool
	}{
		"it is there":             {0, 0, true},
		"it comes a little later": {3, (5 + 10 + 20) * time.Millisecond, true},
		"it never comes":          {1000, replicationPatience, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onHDFS(t, hdfsfake.Config{}, func(t *testing.T, f *FS, fake *hdfsfake.Fake) {
				w, err := f.Create(t.Context(), "/file", filesystem.ExistingParents)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := w.Write(pattern(1000)); err != nil {
					t.Fatal(err)
				}
				fake.Unreported(tc.unreported)
				began := time.Now()
				err = w.Close()
				if (err == nil) != tc.complete || time.Since(began) != tc.takes {
					t.Errorf("close gives %v after %v, want it after %v", err, time.Since(began), tc.takes)
				}
				if content, complete := fake.ReadFile("/file"); complete != tc.complete || !bytes.Equal(content, pattern(1000)) {
					t.Errorf("HDFS has %d bytes, complete: %t", len(content), complete)
				}
			})
		})
	}
}

// The library cannot continue after a pipeline has broken, and leaves two goroutines behind unless
// they are ended. The test would catch a file with a hole that counts as written, and those
// goroutines: the bubble does not end with them.
func TestTheFirstErrorOfAWriteIsFinal(t *testing.T) {
	t.Parallel()
	const size = 1 << 20
	for name, tc := range map[string]struct {
		strike func(*hdfsfake.Fake, int64)
		piece  int // bytes of one write
		size   int
	}{
		"cut":                         {(*hdfsfake.Fake).CutWrite, 30 << 10, size},
		"cut before the last packet":  {(*hdfsfake.Fake).CutWrite, 30 << 10, 20 << 10},
		"cut at the end of a block":   {(*hdfsfake.Fake).CutWrite, 500 << 10, size},
		"refused":                     {(*hdfsfake.Fake).RefuseWrite, 30 << 10, size},
		"refused before the last one": {(*hdfsfake.Fake).RefuseWrite, 30 << 10, 20 << 10},
	} {
		for _, after := range []int64{0, 100 << 10} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				onHDFS(t, hdfsfake.Config{BlockSize: 500 << 10}, func(t *testing.T, f *FS, fake *hdfsfake.Fake) {
					w, err := f.Create(t.Context(), "/file", filesystem.ExistingParents)
					if err != nil {
						t.Fatal(err)
					}
					tc.strike(fake, min(after, int64(tc.size)-1))
					var failed error
					for written := 0; failed == nil && written < tc.size; {
						n, err := w.Write(pattern(min(tc.piece, tc.size-written)))
						failed = err
						written += n
						synctest.Wait() // it cannot continue
					}
					if failed != nil {
						if _, err := w.Write([]byte("x")); !errors.Is(err, failed) {
							t.Errorf("the next write gives %v, want %v", err, failed)
						}
					} else if tc.size == size {
						t.Error("all was written over a connection that broke")
					}
					first := w.Close()
					if again := w.Close(); first == nil || failed != nil && !errors.Is(first, failed) || !errors.Is(again, first) {
						t.Errorf("close gives %v, and then %v, want %v", first, again, failed)
					}
					if _, err := w.Write([]byte("x")); !errors.Is(err, fs.ErrClosed) {
						t.Errorf("a write after close gives %v", err)
					}
					if _, complete := fake.ReadFile("/file"); complete || len(fake.Calls("complete")) > 0 {
						t.Error("the file counts as complete")
					}
				})
			})
		}
	}
}

// A reader that sees half a file takes it for the whole file. The test would catch the remains of a
// failed copy, also after the caller has gone.
func TestAnUploadThatFailsLeavesNothing(t *testing.T) {
	t.Parallel()
	local := filepath.Join(t.TempDir(), "local")
	if err := os.WriteFile(local, pattern(3<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]func(*hdfsfake.Fake, context.CancelCauseFunc) UploadOptions{
		"a pipeline breaks": func(fake *hdfsfake.Fake, _ context.CancelCauseFunc) UploadOptions {
			fake.CutWrite(100 << 10)
			return UploadOptions{}
		},
		"the caller leaves": func(_ *hdfsfake.Fake, leave context.CancelCauseFunc) UploadOptions {
			return UploadOptions{Progress: func(int64) { leave(errStopped) }}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onHDFS(t, hdfsfake.Config{BlockSize: 1 << 20}, func(t *testing.T, f *FS, fake *hdfsfake.Fake) {
				ctx, leave := contextWithCause(t)
				if _, err := f.Upload(ctx, local, "/file", tc(fake, leave)); err == nil {
					t.Error("it has succeeded")
				}
				if left := fake.Paths(); len(left) > 0 {
					t.Errorf("left are %v", left)
				}
			})
		})
	}
}

// If the answer to a file's creation came too late, the file would stay open, and its lease would
// be renewed, for as long as the process lives.
func TestAFileThatIsMadeTooLateGoes(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func(*hdfsfake.Fake){
		"and is removed": func(*hdfsfake.Fake) {},
		"and stays where the NameNode wants it so": func(fake *hdfsfake.Fake) {
			fake.Refuse("delete", hdfsfake.Before, "org.apache.hadoop.security.AccessControlException", "no")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onHDFS(t, hdfsfake.Config{}, func(t *testing.T, f *FS, fake *hdfsfake.Fake) {
				fake.Delay("create", 300*time.Millisecond)
				fault(fake)
				ctx, cancel := context.WithTimeoutCause(t.Context(), 100*time.Millisecond, errStopped)
				defer cancel()
				if _, err := f.Create(ctx, "/file", filesystem.ExistingParents); !errors.Is(err, errStopped) {
					t.Errorf("create gives %v, want %v", err, errStopped)
				}
				time.Sleep(500 * time.Millisecond)
				removed := len(fake.Calls("delete")) == 1 && len(fake.Paths()) == 0
				if content, complete := fake.ReadFile("/file"); removed != (name == "and is removed") || !removed && !complete {
					t.Errorf("left are %v; the file has %d bytes and is complete: %t", fake.Paths(), len(content), complete)
				}
			})
		})
	}
}

// It would catch a file that ends before its second block: the NameNode gives none until the first
// is reported.
func TestTheNextBlockIsAskedForAgain(t *testing.T) {
	t.Parallel()
	onHDFS(t, hdfsfake.Config{BlockSize: 64 << 10}, func(t *testing.T, f *FS, fake *hdfsfake.Fake) {
		w, err := f.Create(t.Context(), "/file", filesystem.ExistingParents)
		if err != nil {
			t.Fatal(err)
		}
		want := pattern(100 << 10)
		if _, err := w.Write(want[:10]); err != nil {
			t.Fatal(err)
		}
		fake.Refuse("addBlock", hdfsfake.Before, "org.apache.hadoop.hdfs.server.namenode.NotReplicatedYetException", "not yet")
		if _, err := io.Copy(w, bytes.NewReader(want[10:])); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if got, complete := fake.ReadFile("/file"); !complete || !bytes.Equal(got, want) {
			t.Errorf("HDFS has %d bytes, complete: %t", len(got), complete)
		}
	})
}

// stuck is a file whose DataNodes are silent. Its Close ends with their time limit, long after its
// user has given up.
type stuck struct{ interrupt context.CancelCauseFunc }

func (s stuck) Write(b []byte) (int, error) { return len(b), nil }

func (s stuck) Close() error {
	s.interrupt(errInterrupted)
	return errSilent
}

var errInterrupted, errSilent = errors.New("interrupted"), errors.New("no byte has moved")

// It would catch Ctrl-C that is reported as a fault of HDFS, with the exit code of a fault.
func TestAnInterruptedUploadIsAnInterruption(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	err := copyAll(ctx, stuck{cancel}, bytes.NewReader([]byte("content")), nil)
	if !errors.Is(err, errInterrupted) || !errors.Is(err, errSilent) {
		t.Errorf("it ends with %v, want both causes", err)
	}
}
