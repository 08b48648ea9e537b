// Package packing compresses the blocks of local files: those of operators that spill, and those of partitions. Programs need it as little
// as package broker.
package packing

import "github.com/klauspost/compress/s2"

// mostSkipped is how many blocks in a row are not tried at most. A 17th of the time is then lost with blocks that do not get smaller.
const mostSkipped = 16

// Packer compresses blocks with S2 that get an eighth smaller by it: otherwise reading costs more than it saves. After a block that does
// not, it skips the next one, then two, and so on, because blocks of a file are alike. It belongs to one goroutine. A nil Packer leaves
// all blocks as they are.
type Packer struct {
	out   []byte
	head  int
	skips int // blocks to skip after the next one that does not get smaller
	skip  int // blocks that it skips yet
}

// New makes a Packer for blocks of up to so many bytes. It allocates all its memory: see Memory. The caller writes head bytes before
// each packed block.
func New(head, block int) *Packer {
	return &Packer{out: make([]byte, head+s2.MaxEncodedLen(block)), head: head, skips: 1}
}

// Memory is that of New, in bytes.
func Memory(head, block int) int64 { return int64(head + s2.MaxEncodedLen(block)) }

// Pack returns the head, of any content, and a compressed block behind it. They are valid until the next call. Without a block that is
// worth it, it returns nil: the block is to be stored as it is.
func (p *Packer) Pack(block []byte) []byte {
	if p == nil {
		return nil
	}
	if p.skip > 0 {
		p.skip--
		return nil
	}
	packed := s2.Encode(p.out[p.head:], block)
	if len(packed) >= len(block)-len(block)/8 {
		p.skip, p.skips = p.skips, min(2*p.skips, mostSkipped)
		return nil
	}
	p.skips = 1
	return p.out[:p.head+len(packed)]
}
