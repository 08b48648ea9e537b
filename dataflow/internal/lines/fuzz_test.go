package lines_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/dataflow/internal/lines"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/memfs"
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
