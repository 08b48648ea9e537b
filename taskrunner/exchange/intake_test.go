package exchange

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"unsafe"

	"pgregory.net/rapid"
)

// TestBuffersAreAligned would catch a field that makes the kernel copy ten times slower, or the allocator take another page.
func TestBuffersAreAligned(t *testing.T) {
	t.Parallel()
	var b buffer
	if size := unsafe.Sizeof(b); size != bufferSize {
		t.Errorf("a buffer takes %d bytes", size)
	}
	if at := unsafe.Offsetof(b.data) + headerSize; at != payloadAt {
		t.Errorf("its payload begins at %d", at)
	}
}

// pieces gives its bytes in pieces of these lengths, in turn.
type pieces struct {
	bytes   []byte
	lengths []int
}

func (p *pieces) Read(to []byte) (int, error) {
	if len(p.bytes) == 0 {
		return 0, io.EOF
	}
	n := copy(to[:min(len(to), p.lengths[0])], p.bytes)
	p.bytes, p.lengths = p.bytes[n:], append(p.lengths[1:], p.lengths[0])
	return n, nil
}

// TestIntakeGivesAllFrames would catch a header that is lost or read twice, because it came with the payload before it.
func TestIntakeGivesAllFrames(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		length := rapid.OneOf(rapid.IntRange(1, 100), rapid.IntRange(readAhead-20, readAhead+20), rapid.IntRange(maxPayload-20, maxPayload))
		var all []byte
		var payloads [][]byte
		for i, n := range rapid.SliceOfN(length, 1, 10).Draw(t, "lengths") {
			payloads = append(payloads, bytes.Repeat([]byte{byte(i + 1)}, n))
			all = append(all, frame(frameData, uint32(i), 0, payloads[i]...)...)
		}
		piece := rapid.OneOf(rapid.IntRange(1, 30), rapid.IntRange(1, 2*bufferSize))
		cut := rapid.IntRange(0, 20).Draw(t, "missing bytes")
		in := newIntake(&pieces{all[:len(all)-min(cut, len(payloads[len(payloads)-1]))], rapid.SliceOfN(piece, 1, 10).Draw(t, "pieces")})
		for i, want := range payloads {
			h, err := readHeader(in)
			if err != nil || int(h.channel) != i || h.length != len(want) {
				t.Fatalf("header %d is %+v, %v", i, h, err)
			}
			b := &buffer{end: headerSize}
			err = in.payload(b, h)
			switch last := i == len(payloads)-1; {
			case last && cut > 0:
				if !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
					t.Fatalf("a payload that is cut short is %v", err)
				}
				return
			case err != nil || !bytes.Equal(b.payload(), want):
				t.Fatalf("payload %d of %d bytes is not what was sent, or %v", i, len(want), err)
			}
		}
		if _, err := readHeader(in); !errors.Is(err, io.EOF) {
			t.Fatalf("the end is %v", err)
		}
	})
}
