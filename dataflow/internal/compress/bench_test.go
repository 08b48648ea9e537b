package compress_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/bobbin-yarn/bobbin/dataflow/internal/compress"
)

// requests is a text like the log of a web server.
func requests(size int) []byte {
	var text bytes.Buffer
	r := rand.New(rand.NewPCG(1, 2))
	for i := 0; text.Len() < size; i++ {
		fmt.Fprintf(&text, "10.%d.%d.%d - - [30/Nov/2026:10:%02d:%02d +0000] \"GET /articles/%d HTTP/1.1\" 200 %d\n",
			r.IntN(256), r.IntN(256), r.IntN(256), i/60000%60, i/1000%60, r.IntN(100_000), r.IntN(1<<16))
	}
	return text.Bytes()
}

// Both benchmarks count bytes of the text.
func BenchmarkWriter(b *testing.B) {
	text := requests(8 << 20)
	for _, format := range []compress.Format{compress.Gzip, compress.Zstd} {
		b.Run(string(format), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			var file bytes.Buffer
			for b.Loop() {
				file.Reset()
				pack(b, &file, text, format)
			}
			b.ReportMetric(float64(len(text))/float64(file.Len()), "ratio")
		})
	}
}

func pack(b *testing.B, file io.Writer, text []byte, format compress.Format) {
	b.Helper()
	w, err := compress.NewWriter(file, format)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := w.Write(text); err != nil {
		b.Fatal(err)
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
}

func BenchmarkReader(b *testing.B) {
	files := make(map[compress.Format][]byte)
	for _, format := range []compress.Format{compress.Gzip, compress.Zstd} {
		var file bytes.Buffer
		pack(b, &file, requests(8<<20), format)
		files[format] = file.Bytes()
	}
	var err error
	if files[compress.Bzip2], err = os.ReadFile("testdata/requests.bz2"); err != nil {
		b.Fatal(err)
	}
	files[compress.Bzip2] = bytes.Repeat(files[compress.Bzip2], 32)
	for format, file := range files {
		b.Run(string(format), func(b *testing.B) {
			var r compress.Reader
			defer r.Close()
			buffer := make([]byte, 1<<20)
			b.ReportAllocs()
			for b.Loop() {
				r.Reset(bytes.NewReader(file), format)
				n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, &r, buffer)
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(n)
			}
		})
	}
}
