package lines_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/bobbin-yarn/bobbin/dataflow/internal/lines"
	"github.com/bobbin-yarn/bobbin/dataflow/operator"
)

// FuzzParsePosition reads a position of a checkpoint. It would catch a position that is read as another one.
func FuzzParsePosition(f *testing.F) {
	for _, p := range []lines.Position{{}, {Part: 2}, {Part: 1, Offset: 1 << 40}} {
		f.Add(p.Append(nil))
	}
	f.Add([]byte{})
	f.Add([]byte{1})
	f.Add([]byte{1, 2, 3})
	f.Add(bytes.Repeat([]byte{0xff}, 20))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := lines.ParsePosition(text)
		if err != nil {
			if !errors.Is(err, lines.ErrPosition) || !errors.Is(err, operator.ErrPermanent) || p != (lines.Position{}) {
				t.Errorf("%x: %+v, error %v", text, p, err)
			}
			return
		}
		again, err := lines.ParsePosition(p.Append([]byte("x"))[1:])
		if err != nil || again != p || p.Part < 0 || p.Offset < 0 {
			t.Errorf("%x is %+v, and after encoding %+v, error %v", text, p, again, err)
		}
	})
}
