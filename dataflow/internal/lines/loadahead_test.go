package lines_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/lines"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/memfs"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
)

// splitOfAll is one split of whole files.
func splitOfAll(t interface{ Fatal(...any) }, f *memfs.FS, names []string) jobgraph.Split {
	split := jobgraph.Split{Base: "mem:///"}
	for _, name := range names {
		part := splitOf(t, f, name, 0, 0).Parts[0]
		part.Length = part.FileLength
		split.Parts = append(split.Parts, part)
	}
	return split
}

// The reader loads several files at a time. The test would catch files in the wrong order, a last line
// without a newline that is joined with the next file's first line, and a skipped file among small,
// large and empty ones.
func TestFilesOfASplitAreReadOneAfterTheOther(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	rapid.Check(t, func(t *rapid.T) {
		files := map[string]string{}
		var names, want []string
		for i, words := range rapid.SliceOfN(rapid.IntRange(0, 12), 1, 40).Draw(t, "words") {
			name := fmt.Sprintf("/f%02d", i)
			text := strings.Repeat(name+"\n", words)
			if i%3 == 0 {
				text = strings.TrimSuffix(text, "\n")
			}
			files[name], names, want = text, append(names, name), append(want, naive(text)...)
		}
		f := memfs.New(files)
		reader := lines.NewReader(f, lines.Options{Buffer: rapid.IntRange(1, 40).Draw(t, "buffer")})
		for range 2 { // a reader reads splits one after the other
			var got []string
			err := each(ctx, reader, splitOfAll(t, f, names), func(line []byte) error {
				got = append(got, string(line))
				return nil
			})
			if err != nil || !slices.Equal(got, want) {
				t.Fatalf("error %v, lines (-want +got):\n%s", err, cmp.Diff(want, got))
			}
		}
	})
}

// remote is slow for each file, and counts the loads that have begun.
type remote struct {
	*memfs.FS
	begun atomic.Int64
}

const loadTime = 10 * time.Millisecond

func (r *remote) Load(ctx context.Context, uri string, limit int64) ([]byte, filesystem.FileInfo, error) {
	r.begun.Add(1)
	time.Sleep(loadTime)
	return r.FS.Load(ctx, uri, limit)
}

func manyFiles(n int) (*memfs.FS, []string) {
	files := map[string]string{}
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("/f%02d", i))
		files[names[i]] = "one\ntwo\n"
	}
	return memfs.New(files), names
}

// A small file costs two round trips and hardly anything else.
func TestSmallFilesAreLoadedSideBySide(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, names := manyFiles(80)
		began := time.Now()
		reader := lines.NewReader(&remote{FS: f}, lines.Options{})
		if err := each(t.Context(), reader, splitOfAll(t, f, names), func([]byte) error { return nil }); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > 80/8*loadTime {
			t.Errorf("80 files took %v", took)
		}
	})
}

// The test would catch a reader that loads all files of a split while its task is at the first line,
// or continues to load after the task has failed.
func TestLoadingAheadIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, names := manyFiles(80)
		r := &remote{FS: f}
		enough := errors.New("enough")
		var begun int64
		err := each(t.Context(), lines.NewReader(r, lines.Options{}), splitOfAll(t, f, names), func([]byte) error {
			time.Sleep(time.Second)
			synctest.Wait()
			begun = r.begun.Load()
			return enough
		})
		if !errors.Is(err, enough) || begun > 9 {
			t.Errorf("error %v; %d files were loaded for the first line", err, begun)
		}
		time.Sleep(time.Second)
		if later := r.begun.Load(); later > begun {
			t.Errorf("%d files were loaded after the end", later-begun)
		}
	})
}

// An error of a file must not be reported before the lines of the files before it.
func TestTheFirstFileThatFailsIsNamed(t *testing.T) {
	t.Parallel()
	f, names := manyFiles(20)
	split := splitOfAll(t, f, names)
	f.Write("/f05", "changed")
	f.Write("/f03", "changed, too")
	read := 0
	err := each(t.Context(), lines.NewReader(f, lines.Options{}), split, func([]byte) error { read++; return nil })
	if !errors.Is(err, lines.ErrChanged) || !strings.Contains(err.Error(), "/f03") || read != 6 {
		t.Errorf("error %v after %d lines", err, read)
	}
}
