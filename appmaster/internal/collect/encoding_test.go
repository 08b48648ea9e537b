package collect

import (
	"errors"
	"testing"

	"github.com/bobbin-yarn/bobbin/dataflow/operator"
)

// FuzzDecode would catch a stored result that crashes the ApplicationMaster, one that takes more memory than a result
// may, and one that the ApplicationMaster reads and cannot give its client to the end.
func FuzzDecode(f *testing.F) {
	b := New(MaxBuffered, 3, false)
	for n, text := range []string{"abc", "d"} {
		if _, err := b.Add(int64(n), []byte(text)); err != nil {
			f.Fatal(err)
		}
	}
	f.Add(b.AppendTo(nil))
	f.Add([]byte{0, 0, 0, 'x'})
	f.Add([]byte{0, 0, 1, 0})
	f.Add([]byte{1, 1, 2, 1, 'a', 0xff})
	f.Fuzz(func(t *testing.T, data []byte) {
		b, rest, err := Decode(data)
		if err != nil {
			if !errors.Is(err, ErrMalformed) {
				t.Fatalf("error %v", err)
			}
			return
		}
		if b.Size() > MaxBuffered || len(b.batches) > len(data) || len(rest) > len(data) {
			t.Fatalf("%d batches of %d bytes are in %d", len(b.batches), b.Size(), len(data))
		}
		read, cursor := 0, b.base
		for {
			page, _, err := b.Page(cursor)
			if err != nil || page.Epoch != Nothing(cursor).Epoch || page.Next < cursor {
				t.Fatalf("page %d: next %d, epoch %d, error %v", cursor, page.Next, page.Epoch, err)
			}
			read, cursor = read+len(page.Records), page.Next
			if page.End {
				break
			}
		}
		if read > len(data) {
			t.Fatalf("%d bytes were read out of %d", read, len(data))
		}
	})
}

// TestDecodeRefuses would catch a bound that is not checked.
func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	full := func(start, base int64, batches int, size int) *Buffer {
		b := &Buffer{start: start, base: base}
		for range batches {
			b.batches = append(b.batches, make([]byte, size))
			b.size += size
		}
		return b
	}
	most := MaxBuffered / operator.MaxCollectBatch
	for name, test := range map[string]struct {
		b    *Buffer
		good bool
	}{
		"nothing":                      {full(0, 0, 0, 0), true},
		"the most":                     {full(0, 0, most, operator.MaxCollectBatch), true},
		"the last epoch, all read":     {full((masters*masterSize-1)*epochSize, (masters*masterSize-1)*epochSize+maxTotal, 0, 0), true},
		"too many bytes":               {full(0, 0, most+1, operator.MaxCollectBatch), false},
		"a batch too large":            {full(0, 0, 1, operator.MaxCollectBatch+1), false},
		"an empty batch":               {full(0, 0, 1, 0), false},
		"an epoch that does not exist": {full(-epochSize, -epochSize, 0, 0), false},
		"too many batches":             {full(0, maxTotal, 1, 1), false},
		"more dropped than there were": {full(0, maxTotal+1, 0, 0), false},
	} {
		if _, _, err := Decode(test.b.AppendTo(nil)); test.good != (err == nil) || err != nil && !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	text := full(0, 0, 2, 100).AppendTo(nil)
	for n := range text {
		if _, _, err := Decode(text[:n]); !errors.Is(err, ErrMalformed) {
			t.Errorf("%d of %d bytes: error %v", n, len(text), err)
		}
	}
}
