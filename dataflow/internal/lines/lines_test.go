package lines_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/lines"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/memfs"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/dataflow/operator"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// naive splits a text into lines by a second, simple implementation.
func naive(text string) []string {
	if text == "" {
		return nil
	}
	var all []string
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		all = append(all, strings.TrimSuffix(line, "\r"))
	}
	return all
}

// For any text, splits and size of reads, the splits together give each line once, in
// order within a split. Catches lines lost or doubled at the border of splits and
// buffers, a divided "\r\n", a missing last newline, and a panic that names another line than its own.
func TestEachLineIsReadExactlyOnce(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(rapid.SampledFrom([]string{
			"\n", "\r\n", "\r", "a", "bc", "\ufeff", " ", strings.Repeat("long", 9),
		})).Draw(t, "text"), "")
		f := memfs.New(map[string]string{"/f": text})
		size := int64(len(text))
		cuts := append(rapid.SliceOf(rapid.Int64Range(0, size)).Draw(t, "cuts"), 0, size)
		slices.Sort(cuts)
		reader := lines.NewReader(f, lines.Options{Buffer: rapid.IntRange(1, 20).Draw(t, "buffer")})
		var got []string
		for i := range cuts[1:] {
			split := splitOf(t, f, "/f", cuts[i], cuts[i+1]-cuts[i])
			err := each(ctx, reader, split, func(line []byte) error {
				got = append(got, string(line))
				var at int
				if _, err := fmt.Sscanf(reader.At(), "reading mem:///f, the line at byte %d", &at); err != nil || !strings.HasPrefix(text[at:], string(line)) || at > 0 && text[at-1] != '\n' {
					t.Fatalf("line %q of %q is said to be %q (%v)", line, text, reader.At(), err)
				}
				return nil
			})
			if reader.At() != "" {
				t.Fatalf("at the end: %q", reader.At())
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(naive(text), got); diff != "" {
			t.Fatalf("lines of %q cut at %v (-want +got):\n%s", text, cuts, diff)
		}
	})
}

// Users may change a line in place, and append to it. This must not change the next line.
func TestALineMayBeChangedInPlace(t *testing.T) {
	t.Parallel()
	f := memfs.New(map[string]string{"/f": "one\ntwo\r\nthree"})
	var got []string
	err := each(t.Context(), lines.NewReader(f, lines.Options{Buffer: 6}), whole(t, f, "/f"), func(line []byte) error {
		got = append(got, string(line))
		for i := range line {
			line[i] = '\n'
		}
		_ = append(line, "!!"...)
		return nil
	})
	if diff := cmp.Diff([]string{"one", "two", "three"}, got); err != nil || diff != "" {
		t.Errorf("error %v, lines (-want +got):\n%s", err, diff)
	}
}

func TestLongLines(t *testing.T) {
	t.Parallel()
	const longest = 300 << 10
	for name, c := range map[string]struct {
		text string
		want error
	}{
		"as long as the bound":            {"a\n" + strings.Repeat("x", longest) + "\r\nb", nil},
		"longer by a byte":                {"a\n" + strings.Repeat("x", longest+1) + "\nb", lines.ErrLineTooLong},
		"longer, at the end of the file":  {"a\n" + strings.Repeat("x", longest+2), lines.ErrLineTooLong},
		"much longer than all the memory": {strings.Repeat("x", 10*longest), lines.ErrLineTooLong},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := memfs.New(map[string]string{"/f": c.text})
			var got []string
			err := each(t.Context(), lines.NewReader(f, lines.Options{Buffer: 64 << 10, MaxLine: longest}), whole(t, f, "/f"), func(line []byte) error {
				got = append(got, string(line))
				return nil
			})
			if !errors.Is(err, c.want) {
				t.Fatalf("error %v, want %v", err, c.want)
			}
			if c.want != nil && !errors.Is(err, operator.ErrPermanent) {
				t.Errorf("error %v is not permanent", err)
			}
			if c.want == nil && !slices.Equal(got, naive(c.text)) {
				t.Errorf("got %d lines", len(got))
			}
		})
	}
}

// A job must not mix two versions of a file, nor accept a truncated file.
func TestAChangedFileIsAPermanentError(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(context.Context, *memfs.FS) error{
		"another length": func(_ context.Context, f *memfs.FS) error {
			f.Write("/f", "one\ntwo\nthree\n")
			return nil
		},
		"same length, written anew": func(_ context.Context, f *memfs.FS) error {
			f.Write("/f", "one\nTWO\n")
			return nil
		},
		"removed": func(ctx context.Context, f *memfs.FS) error { return f.RemoveAll(ctx, "/f") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := memfs.New(map[string]string{"/f": "one\ntwo\n"})
			split := whole(t, f, "/f")
			if err := change(t.Context(), f); err != nil {
				t.Fatal(err)
			}
			for _, buffer := range []int{1, 100} { // read ahead, loaded
				err := each(t.Context(), lines.NewReader(f, lines.Options{Buffer: buffer}), split, func([]byte) error { return nil })
				if !errors.Is(err, lines.ErrChanged) || !errors.Is(err, operator.ErrPermanent) || !strings.Contains(err.Error(), "mem:///f") {
					t.Errorf("error %v, want a permanent ErrChanged that names the file", err)
				}
			}
		})
	}
}

// shrinking is a file that is shorter than its description says.
type shrinking struct{ *memfs.FS }

func (s shrinking) Open(ctx context.Context, uri string) (filesystem.File, error) {
	before, err := s.Stat(ctx, uri)
	if err != nil {
		return nil, err
	}
	s.Write(uri, "one\nt")
	file, err := s.FS.Open(ctx, uri)
	return shrunk{file, before}, err
}

func (s shrinking) Load(ctx context.Context, uri string, limit int64) ([]byte, filesystem.FileInfo, error) {
	before, err := s.Stat(ctx, uri)
	if err != nil {
		return nil, before, err
	}
	s.Write(uri, "one\nt")
	content, _, err := s.FS.Load(ctx, uri, limit)
	return content, before, err
}

type shrunk struct {
	filesystem.File
	before filesystem.FileInfo
}

func (s shrunk) Info() filesystem.FileInfo { return s.before }

func TestAFileThatShrinksWhileItIsReadIsAPermanentError(t *testing.T) {
	t.Parallel()
	for _, buffer := range []int{2, 100} { // read ahead, loaded
		f := memfs.New(map[string]string{"/f": "one\ntwo\n"})
		err := each(t.Context(), lines.NewReader(shrinking{f}, lines.Options{Buffer: buffer}), whole(t, f, "/f"), func([]byte) error { return nil })
		if !errors.Is(err, lines.ErrChanged) || !errors.Is(err, operator.ErrPermanent) {
			t.Errorf("buffer of %d: error %v, want a permanent ErrChanged", buffer, err)
		}
	}
}

// Next must return the error of each call, and Close end the goroutine that reads ahead.
func TestFailuresOfTheFileSystemAreReported(t *testing.T) {
	t.Parallel()
	broken := errors.New("datanode is gone")
	for op, buffer := range map[string]int{"Load": 100, "Open": 1, "Read": 1} {
		f := memfs.New(map[string]string{"/f": "one\ntwo\n"})
		split := whole(t, f, "/f")
		f.Fault = func(c memfs.Call) error {
			if c.Op == op {
				return broken
			}
			return nil
		}
		err := each(t.Context(), lines.NewReader(f, lines.Options{Buffer: buffer}), split, func([]byte) error { return nil })
		if !errors.Is(err, broken) || errors.Is(err, operator.ErrPermanent) {
			t.Errorf("%s fails: error %v, want a passing one that wraps the cause", op, err)
		}
	}
}

// A DataNode that closes its connection also sends fewer bytes than requested. The test would catch a
// job that then fails permanently, as if its input had changed, and hides the cause.
func TestAConnectionThatEndsIsNoChangeOfTheFile(t *testing.T) {
	t.Parallel()
	for _, end := range []error{io.ErrUnexpectedEOF, io.EOF} {
		f := memfs.New(map[string]string{"/f": "one\ntwo\n"})
		split := whole(t, f, "/f")
		hungUp := fmt.Errorf("read from DataNode 10.0.0.1:9866: %w", end)
		reads := 0
		f.Fault = func(c memfs.Call) error {
			if c.Op != "Read" {
				return nil
			}
			if reads++; reads > 1 { // which is of a file that has more
				return hungUp
			}
			return nil
		}
		err := each(t.Context(), lines.NewReader(f, lines.Options{Buffer: 2}), split, func([]byte) error { return nil })
		if !errors.Is(err, hungUp) || errors.Is(err, operator.ErrPermanent) || errors.Is(err, lines.ErrChanged) {
			t.Errorf("error %v, want a passing one that wraps %v", err, hungUp)
		}
	}
}

func TestASplitMayBeClosedAtAnyLine(t *testing.T) {
	t.Parallel()
	f := memfs.New(map[string]string{"/f": strings.Repeat("line\n", 10_000)})
	reader := lines.NewReader(f, lines.Options{Buffer: 100})
	enough := errors.New("enough")
	for range 5 { // more often than there are buffers: none may be lost
		calls := 0
		err := each(t.Context(), reader, whole(t, f, "/f"), func([]byte) error {
			calls++
			return enough
		})
		if !errors.Is(err, enough) || calls != 1 {
			t.Fatalf("error %v after %d calls, want the caller's own after one", err, calls)
		}
	}
}

// stuck is a file whose reads end only when it is closed, as with a peer that
// sends nothing.
type stuck struct {
	info   filesystem.FileInfo
	closed chan struct{}
}

func (s stuck) Read([]byte) (int, error)     { <-s.closed; return 0, io.ErrClosedPipe }
func (stuck) Seek(int64, int) (int64, error) { return 0, nil }
func (s stuck) Close() error                 { close(s.closed); return nil }
func (s stuck) Info() filesystem.FileInfo    { return s.info }

type stuckFS struct{ *memfs.FS }

func (s stuckFS) Open(ctx context.Context, uri string) (filesystem.File, error) {
	info, err := s.Stat(ctx, uri)
	return stuck{info, make(chan struct{})}, err
}

func (s stuckFS) Load(ctx context.Context, _ string, _ int64) ([]byte, filesystem.FileInfo, error) {
	<-ctx.Done()
	return nil, filesystem.FileInfo{}, context.Cause(ctx)
}

func TestCancellingEndsABlockedRead(t *testing.T) {
	t.Parallel()
	f := memfs.New(map[string]string{"/f": "one\n"})
	cause := errors.New("job is cancelled")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(time.Millisecond, func() { cancel(cause) })
	for name, buffer := range map[string]int{"a file that is loaded": 100, "a file that is read ahead": 1} {
		err := each(ctx, lines.NewReader(stuckFS{f}, lines.Options{Buffer: buffer}), whole(t, f, "/f"), func([]byte) error { return nil })
		if !errors.Is(err, cause) {
			t.Errorf("%s: error %v, want the cause of the cancellation", name, err)
		}
	}
}

func whole(t testing.TB, f *memfs.FS, uri string) jobgraph.Split {
	t.Helper()
	s := splitOf(t, f, uri, 0, 0)
	s.Parts[0].Length = s.Parts[0].FileLength
	return s
}

func splitOf(t interface{ Fatal(...any) }, f *memfs.FS, uri string, offset, length int64) jobgraph.Split {
	info, err := f.Stat(context.Background(), uri)
	if err != nil {
		t.Fatal(err)
	}
	return jobgraph.Split{Base: "mem:///", Parts: []jobgraph.Part{{
		Name: strings.TrimPrefix(info.URI, "mem:///"), Offset: offset, Length: length, FileLength: info.Size, FileModTime: info.ModTime.UnixMilli(),
	}}}
}

func BenchmarkRead(b *testing.B) {
	for _, length := range []int{20, 80, 1000} {
		b.Run(fmt.Sprintf("lines of %d bytes", length), func(b *testing.B) {
			text := strings.Repeat(strings.Repeat("x", length-1)+"\n", 64<<20/length)
			f := memfs.New(map[string]string{"/f": text})
			split := whole(b, f, "/f")
			reader := lines.NewReader(f, lines.Options{})
			b.SetBytes(split.Bytes())
			b.ReportAllocs()
			for b.Loop() {
				if err := each(b.Context(), reader, split, func([]byte) error { return nil }); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
