package partition

import (
	"encoding/binary"
	"os"

	"github.com/bobbin-yarn/bobbin/dataflow/operator/packing"
)

// outBytes is the size of one write to the file, in bytes.
const outBytes = 256 << 10

// blocks appends blocks and places to a file.
type blocks struct {
	file   *os.File
	packer *packing.Packer // nil: blocks are not compressed

	out    []byte // not written yet
	offset int64  // of out in the file
	// block is where the block that is being filled begins in out; -1: there is none.
	block int
	raw   int64 // bytes of records in sealed blocks
}

func newBlocks(file *os.File, compress bool) *blocks {
	b := &blocks{file: file, out: make([]byte, 0, outBytes), block: -1}
	if compress {
		b.packer = packing.New(0, MaxBlock)
	}
	return b
}

// at is the place of the next byte in the file.
func (b *blocks) at() int64 { return b.offset + int64(len(b.out)) }

// room makes room for so many bytes in out.
func (b *blocks) room(bytes int) error {
	if len(b.out)+bytes <= cap(b.out) {
		return nil
	}
	if _, err := b.file.Write(b.out); err != nil {
		return err
	}
	b.offset += int64(len(b.out))
	b.out = b.out[:0]
	return nil
}

// free is the room in the block that is being filled.
func (b *blocks) free() int {
	if b.block < 0 {
		return 0
	}
	return b.block + blockHeader + MaxBlock - len(b.out)
}

// open starts a block if none is being filled, or if that has less room than this.
func (b *blocks) open(least int) error {
	if b.free() >= least {
		return nil
	}
	b.seal()
	if err := b.room(blockHeader + MaxBlock); err != nil {
		return err
	}
	b.block = len(b.out)
	b.out = b.out[:b.block+blockHeader]
	return nil
}

// begin appends the length of a record. Its bytes follow by write.
func (b *blocks) begin(length int) error {
	if err := b.open(maxPrefix); err != nil {
		return err
	}
	b.out = binary.AppendUvarint(b.out, uint64(length))
	return nil
}

// write appends bytes of a record, to more than one block if they need it.
func (b *blocks) write(part []byte) error {
	for len(part) > 0 {
		if err := b.open(1); err != nil {
			return err
		}
		n := min(len(part), b.free())
		b.out = append(b.out, part[:n]...)
		part = part[n:]
	}
	return nil
}

// record appends a record.
func (b *blocks) record(record []byte) error {
	if err := b.begin(len(record)); err != nil {
		return err
	}
	return b.write(record)
}

// seal ends the block that is being filled.
func (b *blocks) seal() {
	if b.block < 0 {
		return
	}
	payload := b.out[b.block+blockHeader:]
	raw := len(payload)
	if packed := b.packer.Pack(payload); packed != nil {
		payload = payload[:copy(payload, packed)]
	}
	b.out = b.out[:b.block+blockHeader+len(payload)]
	head := b.out[b.block:]
	binary.BigEndian.PutUint32(head[8:], uint32(len(payload)))
	binary.BigEndian.PutUint32(head[12:], uint32(raw))
	binary.BigEndian.PutUint64(head, checkOf(b.offset+int64(b.block), head[8:]))
	b.raw += int64(raw)
	b.block = -1
}

// checked appends fields with their checksum.
func (b *blocks) checked(fields ...uint64) error {
	if err := b.room(8 * (len(fields) + 1)); err != nil {
		return err
	}
	b.out = appendChecked(b.out, b.at(), fields...)
	return nil
}

// flush writes all that is left.
func (b *blocks) flush() error { return b.room(cap(b.out) + 1) }
