package compress_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/bobbin-yarn/bobbin/dataflow/internal/compress"
)

// FuzzReader reads any bytes in each format. It would catch a panic, an error that does not say what the
// file has, and memory that grows with a file of few bytes.
func FuzzReader(f *testing.F) {
	names, err := filepath.Glob("testdata/files/*")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range append(names, "testdata/long31.zst") {
		content, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(content)
	}
	f.Add([]byte("text"))
	f.Add([]byte{0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0, 0, 0, 0, 0xff, 0, 0, 0, 1, 0, 0})
	f.Fuzz(func(t *testing.T, content []byte) {
		var r compress.Reader
		defer r.Close()
		for _, format := range []compress.Format{compress.Gzip, compress.Zstd, compress.Bzip2} {
			r.Reset(bytes.NewReader(content), format)
			_, err := io.Copy(io.Discard, io.LimitReader(struct{ io.Reader }{&r}, 1<<20))
			if bad := new(compress.Error); err != nil && (!errors.As(err, &bad) || bad.Offset < 0 || bad.Offset > int64(len(content))) {
				t.Errorf("%s: error %v", format, err)
			}
		}
	})
}
