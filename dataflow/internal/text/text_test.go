package text_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/bobbin-yarn/bobbin/dataflow/connector"
	"github.com/bobbin-yarn/bobbin/dataflow/connector/connectortest"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/compress"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/memfs"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/output"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/text"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// compressions are the formats of the files.
var compressions = []compress.Format{compress.None, compress.Gzip, compress.Zstd}

// packed is a text as a file has it.
func packed(t *testing.T, content string, format compress.Format) string {
	t.Helper()
	if format == compress.None {
		return content
	}
	var b strings.Builder
	w, err := compress.NewWriter(&b, format)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Files of each kind are read as package connector says: in several splits, from each line on. It would catch a position
// that is written or read wrongly, and a reader that cannot be closed.
func TestSource(t *testing.T) {
	t.Parallel()
	for _, format := range compressions {
		t.Run(string("format "+format), func(t *testing.T) {
			t.Parallel()
			content := map[string]string{}
			var want [][]byte
			for file := range 4 {
				var b strings.Builder
				for n := range 30 * file { // the first one is empty
					line := fmt.Sprintf("line %d of file %d", n, file)
					want = append(want, []byte(line))
					b.WriteString(line + "\r\n")
				}
				content[fmt.Sprintf("/in/%d%s", file, format.Extension())] = packed(t, b.String(), format)
			}
			// A file that is larger than a split.
			wide := strings.Repeat("wide ", 2000)
			for range 30 {
				want = append(want, []byte(wide))
			}
			content["/in/large"+format.Extension()] = packed(t, strings.Repeat(wide+"\n", 30), format)
			err := connectortest.TestSource(t.Context(), connectortest.Source[[]byte]{
				New:        func() connector.Source[[]byte] { return text.Source{URIs: []string{"/in"}} },
				Want:       want,
				Text:       func(line []byte) string { return string(line) },
				FileSystem: memfs.New(content),
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// visible reads the output as a user does, who looks for _SUCCESS.
func visible(files *memfs.FS) func(ctx context.Context) ([]string, error) {
	return func(context.Context) (lines []string, err error) {
		content := files.Files()
		if _, complete := content["/out/_SUCCESS"]; !complete {
			return nil, nil
		}
		for name, part := range content {
			if !strings.HasPrefix(name, "/out/part-") {
				continue
			}
			reader := &compress.Reader{}
			defer reader.Close()
			var source io.Reader = strings.NewReader(part)
			if format := compress.Of(name); format != compress.None {
				reader.Reset(source, format)
				source = reader
			}
			all, err := io.ReadAll(source)
			if err != nil {
				return nil, err
			}
			for line := range strings.Lines(string(all)) {
				lines = append(lines, strings.TrimSuffix(line, "\n"))
			}
		}
		return lines, nil
	}
}

// Text is written as package connector says. It would catch a step of the commit that the sink does not make as before.
func TestSink(t *testing.T) {
	t.Parallel()
	for _, format := range compressions {
		for _, mode := range []output.Mode{output.Fail, output.Replace} {
			t.Run(fmt.Sprintf("format %s, mode %d", format, mode), func(t *testing.T) {
				t.Parallel()
				err := connectortest.TestSink(t.Context(), connectortest.Sink[string]{
					Elements: []string{"a", "b", "b", "", "c c", "d"},
					Target: func() connectortest.Target[string] {
						files := memfs.New(nil)
						return connectortest.Target[string]{
							New: func() connector.Sink[string] {
								return text.Sink[string]{URI: "/out", Mode: mode, Compression: format, Format: func(dst []byte, line string) []byte { return append(dst, line...) }}
							},
							Visible: visible(files), FileSystem: files,
						}
					},
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
	}
}
