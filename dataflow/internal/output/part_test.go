package output_test

import (
	"compress/gzip"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"github.com/bobbin-yarn/bobbin/dataflow/internal/compress"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/memfs"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/output"
)

// unpacked gives visible files as a reader sees them that decompresses them, with names without their ends.
func unpacked(t *testing.T, files map[string]string) map[string]string {
	t.Helper()
	all := make(map[string]string)
	for name, content := range files {
		var text io.Reader = strings.NewReader(content)
		var err error
		switch base, is := strings.CutSuffix(name, ".gz"); {
		case is:
			name = base
			text, err = gzip.NewReader(text)
		case strings.HasSuffix(name, ".zst"):
			name = strings.TrimSuffix(name, ".zst")
			text, err = zstd.NewReader(text, zstd.WithDecoderConcurrency(1))
		case strings.Contains(name, "part"):
			t.Errorf("%s is not compressed", name)
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		plain, err := io.ReadAll(text)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all[name] = string(plain)
	}
	return all
}

// Two tries of the commit die at any of their calls. The test would catch a commit that does not know parts in place by
// their longer names, and takes them for content of others.
func TestCompressedPartsAreCommitted(t *testing.T) {
	t.Parallel()
	for _, format := range []compress.Format{compress.Gzip, compress.Zstd} {
		for _, how := range []command{dieBefore, dieAfter} {
			for n, ended := 0, false; !ended; n++ {
				f := memfs.New(map[string]string{"/out/_SUCCESS": "", "/out/part-00000": "old", "/out/part-00001.gz": "old"})
				j, prepare := written("job", output.Replace)
				j.output.Compression = format
				if err := prepare(t.Context(), f); err != nil {
					t.Fatal(err)
				}
				for try := range 2 {
					p := begin(f, asGiven, j.committing(1, try))
					p.run(n)
					ended = p.ended
					p.finish(how)
				}
				p := begin(f, asGiven, j.committing(1, 2))
				p.finish(proceed)
				if diff := cmp.Diff(result("job", j.winners), unpacked(t, visible(f))); p.err != nil || diff != "" {
					t.Fatalf("%s, after tries that died at call %d: error %v (-want +got):\n%s", format, n, p.err, diff)
				}
				if names := left(f); names != nil {
					t.Fatalf("%s are left", names)
				}
			}
		}
	}
}

// An attempt that ends in the middle must leave no goroutine, and a failed write must not look like a whole part.
func TestErrorsOfCompressedParts(t *testing.T) {
	t.Parallel()
	full := errors.New("disk is full")
	for _, format := range []compress.Format{compress.None, compress.Gzip, compress.Zstd} {
		for _, op := range []string{"Write", "Close"} {
			f := memfs.New(nil)
			o := output.Output{Dir: "mem:///out", Job: "job", Epoch: 1, Compression: format}
			if err := o.Open(t.Context(), f, output.Dropped); err != nil {
				t.Fatal(err)
			}
			f.Fault = func(c memfs.Call) error {
				if c.Op == op {
					return full
				}
				return nil
			}
			part, err := o.Create(t.Context(), f, "a", 0)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.WriteString(part, "a line\n"); err != nil {
				t.Fatal(err)
			}
			if err := part.Close(); !errors.Is(err, full) {
				t.Errorf("%q, %s fails: error %v", format, op, err)
			}
			if part, err = o.Create(t.Context(), f, "b", 0); err != nil {
				t.Fatal(err)
			}
			part.Abort()
		}
	}
}
