package lines_test

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/dataflow/internal/lines"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/memfs"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/dataflow/operator"
)

// readFrom returns the lines of a split from a position on, at most so many, and the position after them.
func readFrom(t *rapid.T, r *lines.Reader, split jobgraph.Split, from lines.Position, most int) ([]string, lines.Position) {
	t.Helper()
	if err := r.Open(t.Context(), split, from); err != nil {
		t.Fatal(err)
	}
	var got []string
	for len(got) < most {
		line, err := r.Next()
		if err == io.EOF { //nolint:errorlint // as Next says
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(line))
	}
	return got, r.Position()
}

// A reader may stop at any line, and another one continue there. It would catch a line that is lost or
// read twice at the border of buffers, parts and splits, in files of each kind.
func TestReadingContinuesAtAnyLine(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		split, f := anySplit(t)
		options := lines.Options{Buffer: rapid.IntRange(1, 40).Draw(t, "buffer")}
		r := lines.NewReader(f, options)
		defer r.Close()
		all, end := readFrom(t, r, split, lines.Position{}, 1<<20)
		if want := (lines.Position{Part: len(split.Parts)}); end != want {
			t.Fatalf("position %+v at the end, want %+v", end, want)
		}
		stop := rapid.IntRange(0, len(all)).Draw(t, "stop")
		head, at := readFrom(t, r, split, lines.Position{}, stop)
		if rapid.Bool().Draw(t, "other reader") {
			r.Close()
			r = lines.NewReader(f, options)
		}
		rest, end := readFrom(t, r, split, at, 1<<20)
		if diff := cmp.Diff(all, slices.Concat(head, rest)); diff != "" || end.Part != len(split.Parts) {
			t.Fatalf("stopped after %d lines at %+v (-want +got):\n%s", stop, at, diff)
		}
		if more, _ := readFrom(t, r, split, end, 1); more != nil {
			t.Fatalf("after the end: %q", more)
		}
	})
}

// anySplit is a split of parts of small, large and empty files, some of them compressed.
func anySplit(t *rapid.T) (jobgraph.Split, *memfs.FS) {
	files := map[string]string{}
	var names []string
	for i := range rapid.IntRange(1, 6).Draw(t, "files") {
		text := strings.Join(rapid.SliceOf(rapid.SampledFrom([]string{"\n", "\r\n", "\r", "a", "bc", strings.Repeat("long", 9)})).Draw(t, "text"), "")
		extension := rapid.SampledFrom([]string{"", ".gz", ".zst"}).Draw(t, "extension")
		name := fmt.Sprintf("/f%d%s", i, extension)
		files[name], names = packed(t, name, text), append(names, name)
	}
	f := memfs.New(files)
	split := splitOfAll(t, f, names)
	if size := split.Parts[0].FileLength; len(names) == 1 && strings.HasSuffix(names[0], "f0") {
		split.Parts[0].Offset = rapid.Int64Range(0, size).Draw(t, "offset")
		split.Parts[0].Length = rapid.Int64Range(0, size-split.Parts[0].Offset).Draw(t, "length")
	}
	return split, f
}

// It would catch a checkpoint of another job that makes lines disappear.
func TestAPositionOfAnotherSplitIsRefused(t *testing.T) {
	t.Parallel()
	f := memfs.New(map[string]string{"/f": "one\ntwo\n", "/f.gz": packed(t, "/f.gz", "one\ntwo\n")})
	split := splitOfAll(t, f, []string{"/f", "/f.gz"})
	r := lines.NewReader(f, lines.Options{})
	defer r.Close()
	for _, p := range []lines.Position{{Part: -1}, {Part: 3}, {Part: 2, Offset: 1}, {Offset: -1}, {Offset: 9}, {Part: 1, Offset: 10}} {
		err := r.Open(t.Context(), split, p)
		if err == nil {
			_, err = r.Next()
		}
		if !errors.Is(err, lines.ErrPosition) || !errors.Is(err, operator.ErrPermanent) {
			t.Errorf("%+v: error %v", p, err)
		}
	}
}
