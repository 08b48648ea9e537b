package compress_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	stdgzip "compress/gzip"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/dataflow/internal/compress"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// It would catch a compressed file that is read as if it were text.
func TestNamesTellTheFormat(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]compress.Format{
		"/logs/a.gz": compress.Gzip, "a.GZ": compress.Gzip, "a.txt.gzip": compress.Gzip, "a.zst": compress.Zstd, "a.zstd": compress.Zstd,
		"a.bz2": compress.Bzip2, "a.txt": compress.None, "a": compress.None, "/x.gz/a": compress.None, "gz": compress.None,
	} {
		if got := compress.Of(name); got != want || compress.Unreadable(name) {
			t.Errorf("%s: %q, unreadable %v, want %q", name, got, compress.Unreadable(name), want)
		}
	}
	for _, name := range []string{"a.lz4", "a.Z", "a.snappy", "a.zip", "a.tgz", "a.tar.gz", "a.TAR.zst", "/x/a.tar"} {
		if !compress.Unreadable(name) {
			t.Errorf("%s counts as readable", name)
		}
	}
}

// reader returns a function that decompresses files, one after the other.
func reader(t interface{ Cleanup(func()) }) func(file io.Reader, format compress.Format) (string, error) {
	r := new(compress.Reader)
	t.Cleanup(r.Close)
	return func(file io.Reader, format compress.Format) (string, error) {
		r.Reset(file, format)
		text, err := io.ReadAll(r)
		return string(text), err
	}
}

// sample is the text of the files in testdata, which gzip, zstd and bzip2 have written: files of
// several members, frames and streams, of the largest window, without a checksum, with a frame to
// skip, and with a name.
func sample() string {
	var text strings.Builder
	for i := range 400 {
		fmt.Fprintf(&text, "line %d of a sample\n", i)
	}
	return text.String()
}

// It would catch a reader that stops after the first member of a file, and one that keeps something of
// the file before.
func TestFilesOfOtherToolsAreRead(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob("testdata/files/*")
	if err != nil || len(names) < 9 {
		t.Fatal(names, err)
	}
	var r compress.Reader
	defer r.Close()
	for range 2 {
		for _, name := range names {
			content, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			for _, file := range []io.Reader{bytes.NewReader(content), iotest.OneByteReader(bytes.NewReader(content)), iotest.DataErrReader(bytes.NewReader(content))} {
				r.Reset(file, compress.Of(name))
				text, err := io.ReadAll(iotest.HalfReader(&r))
				if err != nil || string(text) != sample() {
					t.Errorf("%s: %d bytes, %v", name, len(text), err)
				}
			}
		}
	}
}

// A cut file that reads without an error would lose lines. Only a cut between two members shows nothing.
func TestCutFilesAreDamaged(t *testing.T) {
	t.Parallel()
	read := reader(t)
	for name, whole := range map[string]int{"gzip.gz": 0, "members.gz": 1, "frames.zstd": 1, "skippable.zst": 1, "level19.zst": 0, "streams.bz2": 1} {
		content, err := os.ReadFile("testdata/files/" + name)
		if err != nil {
			t.Fatal(err)
		}
		complete := 0
		for n := 1; n < len(content); n++ {
			switch text, err := read(bytes.NewReader(content[:n]), compress.Of(name)); {
			case err == nil:
				complete++
			case !errors.Is(err, compress.ErrDamaged) && !errors.Is(err, compress.ErrOther):
				t.Errorf("%s, %d bytes: error %v", name, n, err)
			case !strings.HasPrefix(sample(), text):
				t.Errorf("%s, %d bytes: read %q", name, n, text)
			}
		}
		if complete != whole {
			t.Errorf("%s: %d beginnings of it are complete, want %d", name, complete, whole)
		}
	}
}

// It would catch a checksum that is not checked: then a disk's error would become a wrong result.
func TestChangedBytesAreNoticed(t *testing.T) {
	t.Parallel()
	read := reader(t)
	for _, name := range []string{"gzip.gz", "level19.zst", "bzip2.bz2"} {
		content, err := os.ReadFile("testdata/files/" + name)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(content); i += 3 {
			changed := bytes.Clone(content)
			changed[i] ^= 0x10
			text, err := read(bytes.NewReader(changed), compress.Of(name))
			if err == nil && text != sample() {
				t.Errorf("%s, byte %d changed: another text without an error", name, i)
			}
			if bad := new(compress.Error); err != nil && (!errors.As(err, &bad) || bad.Offset > int64(len(content))) {
				t.Errorf("%s, byte %d changed: error %v", name, i, err)
			}
		}
	}
}

func TestErrorsOfFiles(t *testing.T) {
	t.Parallel()
	read := reader(t)
	long, err := os.ReadFile("testdata/long31.zst")
	if err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile("testdata/files/gzip.gz")
	if err != nil {
		t.Fatal(err)
	}
	single := []byte{0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0, 0, 0, 0, 0xff, 0, 0, 0, 1, 0, 0} // has 1 TiB of text in one segment, it says
	for name, c := range map[string]struct {
		content []byte
		format  compress.Format
		want    error
	}{
		"an empty file":            {nil, compress.Zstd, nil},
		"text":                     {[]byte("2026-11-30 GET /\n"), compress.Gzip, compress.ErrOther},
		"gzip under zstd's name":   {good, compress.Zstd, compress.ErrOther},
		"gzip under bzip2's name":  {good, compress.Bzip2, compress.ErrOther},
		"one byte of a format":     {good[:1], compress.Gzip, compress.ErrOther},
		"a window of 2 GiB":        {long, compress.Zstd, compress.ErrUnsupported},
		"a segment of a terabyte":  {single, compress.Zstd, compress.ErrUnsupported},
		"text after a gzip member": {append(bytes.Clone(good), "text"...), compress.Gzip, compress.ErrDamaged},
	} {
		if text, err := read(bytes.NewReader(c.content), c.format); !errors.Is(err, c.want) || err != nil && !errors.As(err, new(*compress.Error)) {
			t.Errorf("%s: %q, error %v, want %v", name, text, err, c.want)
		}
	}
}

// A DataNode's error says nothing about the file. It would catch an attempt that fails for good because a
// decoder takes such an error for damage, or for the end of the file.
func TestErrorsOfReadingComeBackAsTheyAre(t *testing.T) {
	t.Parallel()
	read := reader(t)
	for _, cause := range []error{errors.New("datanode is gone"), io.ErrUnexpectedEOF, fmt.Errorf("connection: %w", io.EOF)} {
		for _, name := range []string{"members.gz", "frames.zstd", "skippable.zst", "streams.bz2"} {
			content, err := os.ReadFile("testdata/files/" + name)
			if err != nil {
				t.Fatal(err)
			}
			for n := 0; n < len(content); n += 7 {
				_, err := read(io.MultiReader(bytes.NewReader(content[:n]), iotest.ErrReader(cause)), compress.Of(name))
				if err != cause { //nolint:errorlint // it comes back as it is
					t.Fatalf("%s: error %v after %d bytes, want %v", name, err, n, cause)
				}
			}
		}
	}
}

// Any text, written in any pieces into several members, is read back.
func TestReadersReadWhatWritersWrite(t *testing.T) {
	t.Parallel()
	read := reader(t)
	rapid.Check(t, func(t *rapid.T) {
		format := rapid.SampledFrom([]compress.Format{compress.Gzip, compress.Zstd}).Draw(t, "format")
		var want, file bytes.Buffer
		for range rapid.IntRange(1, 3).Draw(t, "members") {
			w, err := compress.NewWriter(&file, format)
			if err != nil {
				t.Fatal(err)
			}
			for range rapid.IntRange(0, 5).Draw(t, "pieces") {
				piece := bytes.Repeat(rapid.SliceOf(rapid.Byte()).Draw(t, "piece"), rapid.IntRange(0, 5000).Draw(t, "times"))
				want.Write(piece)
				if _, err := w.Write(piece); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
		}
		text, err := read(bytes.NewReader(file.Bytes()), format)
		if err != nil || text != want.String() {
			t.Fatalf("%s: %d bytes, want %d; %v", format, len(text), want.Len(), err)
		}
		if format == compress.Gzip { // another implementation agrees
			r, err := stdgzip.NewReader(&file)
			if err != nil {
				t.Fatal(err)
			}
			if other, err := io.ReadAll(r); err != nil || string(other) != text {
				t.Fatalf("compress/gzip reads %d bytes; %v", len(other), err)
			}
		}
	})
}

func TestBzip2IsNotWritten(t *testing.T) {
	t.Parallel()
	for _, format := range []compress.Format{compress.None, compress.Bzip2, "lz4"} {
		if _, err := compress.NewWriter(io.Discard, format); err == nil || compress.Writable(format) {
			t.Errorf("%q is written", format)
		}
	}
}
