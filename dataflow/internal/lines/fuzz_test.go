package lines_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/dataflow/internal/compress"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/lines"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/memfs"
	"github.com/bobbin-yarn/bobbin/dataflow/operator"
)

// FuzzLines reads a file of any bytes in two splits. It would catch bytes that end a
// line too early, and a line that is lost or doubled at the border of splits or reads.
func FuzzLines(f *testing.F) {
	f.Add("one\ntwo\r\n\r\n\rthree", uint16(4), uint8(3))
	f.Add("\x00\xff\u2028\v\f\n", uint16(1), uint8(0))
	f.Add("", uint16(0), uint8(1))
	f.Fuzz(func(t *testing.T, text string, cut uint16, buffer uint8) {
		files := memfs.New(map[string]string{"/f": text})
		size := int64(len(text))
		at := min(int64(cut), size)
		reader := lines.NewReader(files, lines.Options{Buffer: int(buffer) + 1})
		var got []string
		for _, run := range [][2]int64{{0, at}, {at, size - at}} {
			err := each(t.Context(), reader, splitOf(t, files, "/f", run[0], run[1]), func(line []byte) error {
				got = append(got, string(line))
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(naive(text), got); diff != "" {
			t.Errorf("lines of %q cut at %d (-want +got):\n%s", text, at, diff)
		}
	})
}

// FuzzCompressed reads a compressed file of any bytes, as a whole and by a goroutine. It would catch an
// error that another attempt would not have, and lines of a file that is not sound but gives no error.
func FuzzCompressed(f *testing.F) {
	names, err := filepath.Glob("../compress/testdata/files/*")
	if err != nil || len(names) == 0 {
		f.Fatal(names, err)
	}
	for _, name := range names {
		content, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(content), filepath.Ext(name))
	}
	f.Add("text", ".gz")
	f.Fuzz(func(t *testing.T, content, extension string) {
		if compress.Of(extension) == compress.None {
			return
		}
		files := memfs.New(map[string]string{"/f" + extension: content})
		split := splitOfAll(t, files, []string{"/f" + extension})
		var got [2][]string
		var failed [2]error
		for i, buffer := range []int{100, 1 << 16} {
			failed[i] = each(t.Context(), lines.NewReader(files, lines.Options{Buffer: buffer, MaxLine: 1 << 16}), split, func(line []byte) error {
				if len(got[i]) == 1<<14 { // enough
					return errEnough
				}
				got[i] = append(got[i], string(line))
				return nil
			})
			if failed[i] != nil && !errors.Is(failed[i], operator.ErrPermanent) && !errors.Is(failed[i], errEnough) {
				t.Errorf("error %v", failed[i])
			}
		}
		if (failed[0] == nil) != (failed[1] == nil) || failed[0] == nil && !cmp.Equal(got[0], got[1]) {
			t.Errorf("errors %v; %d and %d lines", failed, len(got[0]), len(got[1]))
		}
	})
}

var errEnough = errors.New("enough")
