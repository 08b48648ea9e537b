package dfsmodel_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/dataflow"
	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/integration/sim/dfsmodel"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/staging"
)

// local makes a file of this machine, to stage it.
func local(t testing.TB, content string) staging.File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "binary")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return staging.File{Path: path, Name: "binary", SHA256: fmt.Sprintf("%x", sha256.Sum256([]byte(content))), Size: int64(len(content))}
}

const home = "hdfs://sim/user/alice"

// submit stages an application, as the client does.
func submit(ctx context.Context, f *dfsmodel.FileSystem, name string, binary staging.File) (*staging.Application, error) {
	app, err := staging.New(f, home, 0).Begin(ctx, name, binary)
	if err != nil {
		return nil, err
	}
	r, _, err := app.Cache(ctx, binary, func(int64) {})
	if err == nil {
		var info filesystem.FileInfo
		if info, err = f.Stat(ctx, r.URI); err == nil && (info.ModTime.UnixMilli() != r.Timestamp || info.Size != r.Size) {
			err = fmt.Errorf("%+v is promised, and there is %+v", r, info)
		}
	}
	if err == nil {
		err = app.Put(ctx, "job", []byte("graph"))
	}
	return app, err
}

// collect removes what ended applications have left, as gc does an hour later.
func collect(t testing.TB, w *world) {
	t.Helper()
	w.now = w.now.Add(time.Hour)
	_, err := staging.New(w.process("gc"), home, 0).Collect(t.Context(), staging.Collection{
		Over: func(context.Context, string) (bool, error) { return true, nil }, MinAge: time.Minute, Now: w.now,
	})
	if err != nil {
		t.Error(err)
	}
}

// Each call of a submission in turn gets no answer, with and without its effect; the process then discards what it has
// staged, or dies. The test would catch files in the staging area that nothing removes, and an entry of the cache
// that is not whole.
func TestStagingSurvivesEachLostCall(t *testing.T) {
	t.Parallel()
	binary := local(t, "a program")
	ctx := t.Context()
	for _, f := range []fate{lost, unheard} {
		for _, dies := range []bool{false, true} {
			hit, calls := new(bool), 0
			for *hit = true; *hit; calls++ {
				w := newWorld(t)
				hit = w.nth(calls, f)
				app, err := submit(ctx, w.process("client"), "application_1_0001", binary)
				w.fate = nil
				if *hit != (err != nil) {
					t.Fatalf("call %d is %s: error is %v", calls, w.calls[calls], err)
				}
				if dies {
					w.space.Crash(w.now, "client")
				} else if app != nil {
					if err := app.Discard(ctx); err != nil {
						t.Error(err)
					}
				}
				if _, err := submit(ctx, w.process("next"), "application_1_0002", binary); err != nil {
					t.Errorf("after the loss of %s the next submission fails: %v", w.calls[calls], err)
				}
				collect(t, w)
				want(t, w, "/user/alice", "/user/alice/.bobbin/", "/user/alice/.bobbin/cache/")
			}
			if calls < 15 {
				t.Errorf("there were %d calls", calls)
			}
		}
	}
}

// The test would catch a running application that loses its hold of a program because one call of a release, or of the
// hold, has no answer.
func TestHoldsSurviveEachLostCall(t *testing.T) {
	t.Parallel()
	binary := local(t, "a program")
	ctx := t.Context()
	for _, f := range []fate{lost, unheard} {
		hit := new(bool)
		*hit = true
		for call := 0; *hit; call++ {
			w := newWorld(t)
			if _, err := submit(ctx, w.process("client"), "application_1_0001", binary); err != nil {
				t.Fatal(err)
			}
			const two = home + "/.bobbin/application_1_0002"
			if _, err := staging.New(w.process("other"), home, 0).Begin(ctx, "application_1_0002"); err != nil {
				t.Fatal(err)
			}
			before := len(w.calls)
			hit = w.nth(call, f)
			running := staging.Resume(w.process("am"), two, two, 0, ids.Source{})
			holding := running.Hold(ctx, binary.SHA256)
			_, finding := running.Find(ctx, binary.SHA256)
			if err := staging.Resume(w.process("first"), home+"/.bobbin/application_1_0001", home+"/.bobbin/application_1_0001", 0, ids.Source{}).Release(ctx, binary.SHA256); err != nil && !*hit {
				t.Error(err)
			}
			w.fate = nil
			if _, err := running.Find(ctx, binary.SHA256); err != nil {
				t.Errorf("after the loss of %s the program is not found: %v", w.calls[before+call], err)
			}
			if !*hit && errors.Join(holding, finding) != nil {
				t.Errorf("hold: %v, find: %v", holding, finding)
			}
		}
	}
}

// Each call of the removal of an unfinished output in turn gets no answer, and the removal is tried again. The test
// would catch an output that stays, another job's output that is removed, and a late attempt whose file is complete
// afterwards.
func TestDiscardSurvivesEachLostCall(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	const dir = "hdfs://sim/out"
	for _, others := range []bool{false, true} {
		for _, f := range []fate{lost, unheard} {
			hit := new(bool)
			*hit = true
			for call := 0; *hit; call++ {
				w := newWorld(t)
				worker, master := w.process("worker"), w.process("master")
				write(t, worker, "/out/_temporary/job/e1/v0-s0-a0/part-00000", "x")
				late := create(t, worker, "/out/_temporary/job/e1/v0-s1-a0/part-00001")
				left := []string{}
				if others {
					write(t, worker, "/out/_temporary/other/e1/v0-s0-a0/part-00000", "x")
					left = []string{"/out/_temporary/", "/out/_temporary/other/", "/out/_temporary/other/e1/", "/out/_temporary/other/e1/v0-s0-a0/", "/out/_temporary/other/e1/v0-s0-a0/part-00000 1"}
				}
				before := len(w.calls)
				hit = w.nth(call, f)
				err := dataflow.Discard(ctx, master, dir, "job", 1)
				w.fate = nil
				if *hit {
					if err == nil {
						t.Errorf("the loss of %s is not told", w.calls[before+call])
					}
					err = dataflow.Discard(ctx, master, dir, "job", 1)
				}
				if err != nil {
					t.Errorf("after the loss of call %d: %v", call, err)
				}
				if _, err := late.Write([]byte("x")); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("after the loss of call %d a late attempt writes: %v", call, err)
				}
				want(t, w, "/out", left...)
			}
		}
	}
}
