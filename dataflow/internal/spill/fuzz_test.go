package spill

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"testing"

	"github.com/klauspost/compress/s2"
)

// content is a file for reading.
type content struct{ *bytes.Reader }

func (content) Write([]byte) (int, error) { return 0, errors.ErrUnsupported }
func (content) Close() error              { return nil }
func (content) Name() string              { return "fuzz" }

// FuzzReader reads a file of any bytes. The checksums are right if sealed is true, so
// that the fuzzer comes behind them. It would catch a panic, an endless loop, and
// memory that grows with a number in the file.
func FuzzReader(f *testing.F) {
	block := func(raw int, payload []byte) []byte {
		b := append(make([]byte, headerSize), payload...)
		seal(b, raw, 0)
		return b
	}
	plain := []byte("\x01a\x02bc\x00")
	text := bytes.Repeat([]byte("\x07bobbin."), 20)
	f.Add([]byte{}, int64(0), uint32(0), false)
	f.Add(block(len(plain), plain), int64(3), uint32(2), false)
	f.Add(block(len(text), s2.Encode(nil, text)), int64(20), uint32(7), true)
	f.Add(append(block(3, []byte("\x80\x80\x08")), block(2, []byte("xy"))...), int64(1), uint32(1<<17), true)
	f.Add(block(10, []byte("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")), int64(1), uint32(1<<31), true)
	f.Add(block(70000, []byte("\x00")), int64(1), uint32(1), true)
	f.Fuzz(func(t *testing.T, file []byte, records int64, longest uint32, sealed bool) {
		if sealed {
			file = bytes.Clone(file)
			sealAll(file)
		}
		run := &Run{
			file: content{bytes.NewReader(file)}, size: int64(len(file)), records: records,
			longest: int(min(longest, 1<<20)), // the test's own memory stays small
		}
		reader := run.Open()
		for n := 0; ; n++ {
			record, err := reader.Next()
			if held := int64(cap(reader.frame) + cap(reader.raw) + cap(reader.long)); held > run.ReaderMemory() {
				t.Fatalf("reader holds %d bytes, said %d", held, run.ReaderMemory())
			}
			switch {
			case errors.Is(err, io.EOF) && int64(n) == run.records, errors.Is(err, ErrCorrupt):
				return
			case err != nil:
				t.Fatalf("record %d: %v", n, err)
			case len(record) > run.longest:
				t.Fatalf("record %d has %d bytes, the longest has %d", n, len(record), run.longest)
			}
		}
	})
}

// sealAll corrects the checksums of a file.
func sealAll(file []byte) {
	for at := 0; at+headerSize <= len(file); {
		stored := int(binary.LittleEndian.Uint32(file[at+8:]))
		if stored > len(file)-at-headerSize {
			return
		}
		end := at + headerSize + stored
		seal(file[at:end], int(binary.LittleEndian.Uint32(file[at+12:])), int64(at))
		at = end
	}
}
