package writable

import (
	"bytes"
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"
)

// Encodings of WritableUtils.writeVLong of Hadoop 3.4.3 (printed by
// creds/testdata/WriteCredentials.java): one byte from -112 to 127, otherwise the length
// in the first byte. With an off-by-one error, every token file would be read wrongly.
func TestNumbersAreEncodedAsHadoopDoes(t *testing.T) {
	for n, want := range map[int64][]byte{
		0:              {0},
		127:            {127},
		-112:           {0x90},
		128:            {0x8f, 128},
		255:            {0x8f, 255},
		256:            {0x8e, 1, 0},
		-113:           {0x87, 112},
		-256:           {0x87, 255},
		-257:           {0x86, 1, 0},
		math.MaxInt64:  {0x88, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
		math.MinInt64:  {0x80, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
		1795248863750:  {0x8a, 0x01, 0xa1, 0xfd, 0x2b, 0xba, 0x06},
		-1795248863750: {0x82, 0x01, 0xa1, 0xfd, 0x2b, 0xba, 0x05},
	} {
		if got := AppendVLong(nil, n); !bytes.Equal(got, want) {
			t.Errorf("%d: got %x, want %x", n, got, want)
		}
	}
}

func TestWhatIsWrittenIsReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64().Draw(t, "number")
		small := rapid.Int32().Draw(t, "small number")
		p := rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")
		s := rapid.String().Draw(t, "text")
		b := AppendLongText(AppendText(AppendBytes(AppendVLong(AppendVLong(nil, n), int64(small)), p), s), s)
		r := NewReader(b)
		if got := r.VLong(); got != n {
			t.Errorf("number: got %d, want %d", got, n)
		}
		if got := r.VInt(); got != small {
			t.Errorf("small number: got %d, want %d", got, small)
		}
		if got := r.Bytes(); !bytes.Equal(got, p) {
			t.Errorf("bytes: got %x, want %x", got, p)
		}
		if got := r.Text(); got != s {
			t.Errorf("text: got %q, want %q", got, s)
		}
		if got := r.LongText(); got != s {
			t.Errorf("text after a long length: got %q, want %q", got, s)
		}
		if err := r.End(); err != nil {
			t.Error(err)
		}
	})
}

func TestFaultsAreToldOnceAndReadAsZero(t *testing.T) {
	for name, tc := range map[string]struct {
		bytes []byte
		read  func(*Reader)
	}{
		"nothing there":             {nil, func(r *Reader) { r.VLong() }},
		"number cut short":          {[]byte{0x8e, 1}, func(r *Reader) { r.VLong() }},
		"number of more than 32":    {AppendVLong(nil, 1<<31), func(r *Reader) { r.VInt() }},
		"length over what is there": {[]byte{5, 1}, func(r *Reader) { r.Bytes() }},
		"negative length":           {AppendVLong(nil, -1), func(r *Reader) { r.Bytes() }},
		"length of exabytes":        {AppendVLong(nil, math.MaxInt64), func(r *Reader) { r.Text() }},
		"long text cut short":       {[]byte{0, 0, 0, 9, 'x'}, func(r *Reader) { r.LongText() }},
		"long text of minus two":    {[]byte{0xff, 0xff, 0xff, 0xfe}, func(r *Reader) { r.LongText() }},
		"half a length":             {[]byte{0, 0}, func(r *Reader) { r.LongText() }},
		"more entries than bytes":   {[]byte{3, 0, 0}, func(r *Reader) { r.Count() }},
		"bytes after the end":       {[]byte{1, 2}, func(r *Reader) { r.VLong() }},
	} {
		t.Run(name, func(t *testing.T) {
			r := NewReader(tc.bytes)
			tc.read(r)
			if err := r.End(); !errors.Is(err, ErrMalformed) {
				t.Fatalf("got %v, want ErrMalformed", err)
			}
			if n, s := r.VLong(), r.Text(); n != 0 || s != "" {
				t.Errorf("after the fault came %d and %q", n, s)
			}
		})
	}
}
