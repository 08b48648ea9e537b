package lines_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/dataflow/internal/compress"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/lines"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/memfs"
	"github.com/bobbin-yarn/bobbin/dataflow/operator"
)

// packed is the content of a file with this name and text.
func packed(t interface{ Fatal(...any) }, name, text string) string {
	format := compress.Of(name)
	if format == compress.None {
		return text
	}
	var file bytes.Buffer
	w, err := compress.NewWriter(&file, format)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return file.String()
}

// buffers are sizes with which a file of some kilobytes is read ahead, or loaded.
var buffers = []int{100, 1 << 20}

// It would catch members, frames and streams that are not read, and lines that are torn at their borders.
func TestCompressedFilesHaveTheirLines(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("one\ntwo\r\n\nfour", 1000)
	files := map[string]string{
		"/a.gz": packed(t, ".gz", text), "/b.zst": packed(t, ".zst", text),
		"/c.gz":  packed(t, ".gz", text[:1002]) + packed(t, ".gz", "") + packed(t, ".gz", text[1002:]),
		"/d.ZST": packed(t, ".zst", text[:1002]) + packed(t, ".zst", text[1002:]),
		"/e.gz":  packed(t, ".gz", ""), "/f.zst": "", "/g.txt": text,
	}
	names := []string{"/a.gz", "/b.zst", "/c.gz", "/d.ZST", "/e.gz", "/f.zst", "/g.txt"}
	want := slices.Repeat(naive(text), 5)
	for _, buffer := range buffers {
		f := memfs.New(files)
		var got []string
		err := each(t.Context(), lines.NewReader(f, lines.Options{Buffer: buffer}), splitOfAll(t, f, names), func(line []byte) error {
			got = append(got, string(line))
			return nil
		})
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("buffers of %d bytes: error %v, %d lines, want %d", buffer, err, len(got), len(want))
		}
	}
}

// The errors must be permanent and name the file, and lines that are not whole must not come out.
func TestFilesThatCannotBeDecompressed(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("a whole line\n", 1000)
	zst, gz := packed(t, ".zst", text), packed(t, ".gz", text)
	for name, c := range map[string]struct {
		name, content string
		want          error
	}{
		"cut":                 {"/cut.gz", gz[:len(gz)-10], compress.ErrDamaged},
		"cut in the trailer":  {"/cut.gz", gz[:len(gz)-1], compress.ErrDamaged},
		"cut, of zstd":        {"/cut.zst", zst[:len(zst)-1], compress.ErrDamaged},
		"a wrong checksum":    {"/sum.gz", gz[:len(gz)-8] + "sum." + gz[len(gz)-4:], compress.ErrDamaged},
		"text":                {"/text.bz2", text, compress.ErrOther},
		"gzip, named as zstd": {"/gzip.zst", gz, compress.ErrOther},
	} {
		for _, buffer := range buffers {
			f := memfs.New(map[string]string{c.name: c.content})
			err := each(t.Context(), lines.NewReader(f, lines.Options{Buffer: buffer}), whole(t, f, c.name), func(line []byte) error {
				if string(line) != "a whole line" {
					return fmt.Errorf("a line is torn: %q", line)
				}
				return nil
			})
			if !errors.Is(err, c.want) || !errors.Is(err, operator.ErrPermanent) || !strings.Contains(err.Error(), "mem://"+c.name) {
				t.Errorf("%s: error %v", name, err)
			}
		}
	}
}

// It would catch an attempt that fails for good, or takes half a file for a whole one, because a DataNode
// is gone; and a damaged file that is said to have changed.
func TestAFailureOfTheFileSystemIsNoDamage(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"/f.gz", "/f.zst"} {
		for _, broken := range []error{errors.New("datanode is gone"), fmt.Errorf("connection: %w", io.EOF)} {
			var text strings.Builder
			for i := range 50_000 {
				fmt.Fprintln(&text, i*i)
			}
			f := memfs.New(map[string]string{name: packed(t, name, text.String())})
			split, reads := whole(t, f, name), 0
			f.Fault = func(c memfs.Call) error {
				if c.Op != "Read" {
					return nil
				}
				if reads++; reads > 1 {
					return broken
				}
				return nil
			}
			err := each(t.Context(), lines.NewReader(f, lines.Options{Buffer: 1000}), split, func([]byte) error { return nil })
			if !errors.Is(err, broken) || errors.Is(err, operator.ErrPermanent) {
				t.Errorf("%s: error %v, want %v", name, err, broken)
			}
		}
	}
}

// A file of a few kilobytes may be a line of gigabytes. The test would catch a reader that waits for its end.
func TestABombIsALineThatIsTooLong(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"/f.gz", "/f.zst"} {
		bomb := packed(t, name, strings.Repeat("\x00", 8<<20))
		f := memfs.New(map[string]string{name: strings.Repeat(bomb, 1000)})
		for _, buffer := range buffers {
			err := each(t.Context(), lines.NewReader(f, lines.Options{Buffer: buffer, MaxLine: 2 << 20}), whole(t, f, name), func([]byte) error { return nil })
			if !errors.Is(err, lines.ErrLineTooLong) {
				t.Errorf("%s: error %v", name, err)
			}
		}
	}
}

// It would catch a part of a compressed file that is read as the whole file, twice.
func TestACompressedFileIsNotDivided(t *testing.T) {
	t.Parallel()
	f := memfs.New(map[string]string{"/f.gz": packed(t, "/f.gz", "one\n")})
	err := each(t.Context(), lines.NewReader(f, lines.Options{}), splitOf(t, f, "/f.gz", 0, 5), func([]byte) error { return nil })
	if !errors.Is(err, operator.ErrPermanent) {
		t.Errorf("error %v", err)
	}
}

// BenchmarkReadCompressed counts bytes of the text.
func BenchmarkReadCompressed(b *testing.B) {
	var text strings.Builder
	for i := 0; text.Len() < 32<<20; i++ {
		fmt.Fprintf(&text, "10.0.%d.%d GET /articles/%d 200 %d\n", i%7, i%251, i*i%100_003, i*7919%65_521)
	}
	bzip2, err := os.ReadFile("../compress/testdata/requests.bz2") // of 256 KiB
	if err != nil {
		b.Fatal(err)
	}
	for _, name := range []string{"/f.txt", "/f.gz", "/f.zst", "/f.bz2"} {
		b.Run(strings.TrimPrefix(path.Ext(name), "."), func(b *testing.B) {
			content := strings.Repeat(string(bzip2), 32)
			if name != "/f.bz2" {
				content = packed(b, name, text.String())
			}
			f := memfs.New(map[string]string{name: content})
			split, bytes := whole(b, f, name), int64(0)
			reader := lines.NewReader(f, lines.Options{})
			b.ReportAllocs()
			for b.Loop() {
				bytes = 0
				if err := each(b.Context(), reader, split, func(line []byte) error { bytes += int64(len(line)) + 1; return nil }); err != nil {
					b.Fatal(err)
				}
			}
			b.SetBytes(bytes)
		})
	}
}
