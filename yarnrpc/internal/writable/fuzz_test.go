package writable

import (
	"reflect"
	"testing"
)

// FuzzReader reads values of the kinds that order names. It would catch a length that is
// trusted without its bytes, and a value that would be written differently.
func FuzzReader(f *testing.F) {
	f.Add([]byte("nicbt"), []byte{0x8f, 128, 127, 2, 1, 'b', 1, 't'})
	f.Add([]byte("n"), []byte{0x80, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	f.Add([]byte("l"), []byte{0, 0, 0, 1, 'l'})
	f.Add([]byte("tb"), []byte{0x88, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, order, data []byte) {
		got, written, err := take(order, data)
		if err != nil {
			return
		}
		if len(written) > len(data) {
			t.Errorf("%d bytes were read from %d", len(written), len(data))
		}
		again, _, err := take(order, written)
		if err != nil || !reflect.DeepEqual(got, again) {
			t.Errorf("%v became %v, %v", got, again, err)
		}
	})
}

// take reads everything, and writes the values again.
func take(order, data []byte) (values []any, written []byte, err error) {
	r := NewReader(data)
	for _, kind := range order {
		switch kind {
		case 'n':
			n := r.VLong()
			values, written = append(values, n), AppendVLong(written, n)
		case 'i':
			n := r.VInt()
			values, written = append(values, n), AppendVLong(written, int64(n))
		case 'b':
			p := r.Bytes()
			values, written = append(values, p), AppendBytes(written, p)
		case 't':
			s := r.Text()
			values, written = append(values, s), AppendText(written, s)
		case 'l':
			s := r.LongText()
			values, written = append(values, s), AppendLongText(written, s)
		}
	}
	return values, written, r.End()
}
