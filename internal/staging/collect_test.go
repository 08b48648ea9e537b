package staging_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/staging"
)

// TestAnEmptyEntryIsCollected would catch an entry of an upload that failed at once and stays for ever, because
// its size fits what may be kept.
func TestAnEmptyEntryIsCollected(t *testing.T) {
	a, home, _ := area(t)
	entry := filepath.Join(home, ".bobbin", "cache", strings.Repeat("5a", 32))
	if err := os.MkdirAll(entry, 0o700); err != nil {
		t.Fatal(err)
	}
	removed, err := a.Collect(t.Context(), staging.Collection{Keep: 1 << 30, Now: time.Now().Add(time.Hour), MinAge: time.Minute})
	if err != nil || len(removed) != 1 {
		t.Errorf("Collect removes %v, %v", removed, err)
	}
	if _, err := os.Stat(entry); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the entry is there: %v", err)
	}
}

// TestCollect would catch removed files of unfinished applications, files of ended applications
// that stay forever, an unbounded cache, and a dry run that removes files or reports others.
func TestCollect(t *testing.T) {
	now := time.Now()
	const minAge = time.Hour
	for _, dryRun := range []bool{true, false} {
		a, home, files := area(t)
		root := filepath.Join(home, ".bobbin")
		old := func(elem ...string) {
			t.Helper()
			path := filepath.Join(append([]string{root}, elem...)...)
			at := now.Add(-24 * time.Hour)
			if err := os.Chtimes(path, at, at); err != nil {
				t.Fatal(err)
			}
		}
		cache := func(app *staging.Application, f staging.File) {
			t.Helper()
			if _, _, err := app.Cache(t.Context(), f, func(int64) {}); err != nil {
				t.Fatal(err)
			}
		}
		used, held, young := file(t, "used"), file(t, "held"), file(t, "young")
		unused, kept, aside, restored := file(t, "no longer used"), file(t, "kept"), file(t, "aside"), file(t, "restored")
		over := begin(t, a, "application_1_0001", used, unused, kept, young, aside)
		for _, f := range []staging.File{used, unused, kept, young, aside, held, restored} {
			cache(over, f)
		}
		begin(t, a, "application_1_0002", used, restored)
		if err := staging.Resume(files, staging.Dir("file://"+home, "application_1_0002"), staging.Dir("file://"+home, "application_1_0002"), 0, ids.Source{}).Hold(t.Context(), held.SHA256); err != nil {
			t.Fatal(err)
		}
		begin(t, a, "application_1_0003") // a moment ago
		if err := os.MkdirAll(filepath.Join(root, "notes"), 0o700); err != nil {
			t.Fatal(err)
		}
		for _, f := range []staging.File{aside, restored} {
			entry := filepath.Join(root, "cache", f.SHA256)
			if err := os.Rename(entry, entry+".0123"); err != nil {
				t.Fatal(err)
			}
			old("cache", f.SHA256+".0123")
		}
		for _, f := range []staging.File{used, held, unused} {
			old("cache", f.SHA256)
		}
		newer := now.Add(-2 * minAge)
		if err := os.Chtimes(filepath.Join(root, "cache", kept.SHA256), newer, newer); err != nil {
			t.Fatal(err)
		}
		old("application_1_0001")
		old("application_1_0002")
		old("notes")

		before := tree(t, home)
		removed, err := a.Collect(t.Context(), staging.Collection{
			Over: func(_ context.Context, application string) (bool, error) {
				return application != "application_1_0002", nil
			},
			MinAge: minAge, Keep: kept.Size, DryRun: dryRun, Now: now,
		})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range removed {
			got = append(got, strings.TrimPrefix(r.URI, "file://"+root+"/"))
		}
		slices.Sort(got)
		want := []string{"application_1_0001", "cache/" + unused.SHA256, "cache/" + aside.SHA256 + ".0123"}
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("dry run %t: removed (-want +got):\n%s", dryRun, diff)
		}
		after := tree(t, home)
		if dryRun {
			if diff := cmp.Diff(before, after); diff != "" {
				t.Errorf("the dry run has changed (-before +after):\n%s", diff)
			}
			continue
		}
		for _, f := range []staging.File{used, held, young, kept, restored} {
			if !slices.Contains(after, "/.bobbin/cache/"+f.SHA256+"/bobbin") {
				t.Errorf("%q is not in the cache any more: %q", f.Path, after)
			}
		}
		if len(after) != 5+3 { // refs of two applications, and the held entries of one
			t.Errorf("left are %q", after)
		}
	}
}

// vanishing removes an application's directory while its refs are read.
type vanishing struct {
	*dfs.FS
	dir string
}

type vanished struct {
	filesystem.File
	of vanishing
}

func (v vanishing) Open(ctx context.Context, uri string) (filesystem.File, error) {
	file, err := v.FS.Open(ctx, uri)
	return vanished{file, v}, err
}

var errNoBlocks = errors.New("no DataNode has the block")

func (v vanished) Read([]byte) (int, error) {
	return 0, errors.Join(errNoBlocks, v.of.RemoveAll(context.Background(), v.of.dir))
}

// TestAnApplicationThatIsUnclearHoldsUpNoOther would catch one odd directory that keeps all garbage
// forever, one that is removed although its application may run, and one that is not reported.
func TestAnApplicationThatIsUnclearHoldsUpNoOther(t *testing.T) {
	a, home, _ := area(t)
	for n := range 5 {
		begin(t, a, fmt.Sprintf("application_1_%04d", n))
	}
	removed, err := a.Collect(t.Context(), staging.Collection{
		Over: func(_ context.Context, application string) (bool, error) {
			if application == "application_1_0001" || application == "application_1_0003" {
				return false, fmt.Errorf("%s: %w", application, staging.ErrUnclear)
			}
			return true, nil
		},
		Now: time.Now().Add(time.Hour),
	})
	if !errors.Is(err, staging.ErrUnclear) || !strings.Contains(err.Error(), "application_1_0001") || !strings.Contains(err.Error(), "1 more") {
		t.Errorf("collect: %v, want what is not clear", err)
	}
	if len(removed) != 3 {
		t.Errorf("removed are %v, want the other three", removed)
	}
	left, err := filepath.Glob(filepath.Join(home, ".bobbin", "application_*"))
	if err != nil || len(left) != 2 || filepath.Base(left[0]) != "application_1_0001" || filepath.Base(left[1]) != "application_1_0003" {
		t.Errorf("left are %q, %v", left, err)
	}
}

// TestAnApplicationMayEndWhileOthersAreCollected would catch a clean-up that fails because an
// application has removed its own files meanwhile.
func TestAnApplicationMayEndWhileOthersAreCollected(t *testing.T) {
	a, home, files := area(t)
	f := file(t, "binary")
	dir := begin(t, a, "application_1_0001", f).Dir
	collection := staging.Collection{Now: time.Now(), Over: func(context.Context, string) (bool, error) { return false, nil }}
	for removes, want := range map[string]error{dir: nil, dir + "/other": errNoBlocks} {
		if _, err := files.Stat(t.Context(), dir); err != nil { // the first round removed it
			begin(t, a, "application_1_0001", f)
		}
		if _, err := staging.New(vanishing{files, removes}, "file://"+home, 0).Collect(t.Context(), collection); !errors.Is(err, want) {
			t.Errorf("while %s is removed: %v, want %v", removes, err, want)
		}
	}
}

// TestCollectOfNothing would catch an error on a cluster without any staged files.
func TestCollectOfNothing(t *testing.T) {
	a, _, _ := area(t)
	if removed, err := a.Collect(t.Context(), staging.Collection{Now: time.Now()}); err != nil || len(removed) != 0 {
		t.Errorf("removed %v, %v", removed, err)
	}
}
