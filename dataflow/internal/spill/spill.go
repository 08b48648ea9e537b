// Package spill keeps data that exceed a task's memory in temporary files. Dirs
// chooses the directory of a file, Writer writes one Run of records after the
// other, and each Run is read by Readers.
//
// A file is a sequence of blocks. A record is its length as a uvarint, and its
// bytes. It lies in one block if it fits; a longer record begins a block and
// continues in the next ones. Numbers are little endian:
//
//	+----------+----------+----------+------------------------+
//	| checksum | stored   | raw      | records                |
//	| 8 bytes  | 4 bytes  | 4 bytes  | stored ≤ 65536 bytes   |
//	+----------+----------+----------+------------------------+
//
// If stored equals raw, the records are as they are. If it is less, they are an S2
// block of raw ≤ 65536 bytes. The checksum is the XXH64 of all that follows it,
// and its seed is the block's offset in the file. So it also finds a block at a
// wrong place.
//
// The files serve one process, so the format has no version. The size of a file and
// the length of its longest record stay in memory. No number in a file makes a
// reader use more memory than these say.
//
// The package has no goroutines. It imports nothing of Bobbin.
package spill

import (
	"encoding/binary"
	"errors"

	"github.com/cespare/xxhash/v2"
)

const (
	// BlockSize is the largest size of a block's records, in bytes.
	BlockSize = 64 << 10
	// MaxRecord is the length of the longest record, in bytes.
	MaxRecord = 128 << 20
)

var (
	// ErrCorrupt says that a file does not contain what was written to it.
	ErrCorrupt = errors.New("spill file is corrupt: check the disk of its directory")
	// ErrTooLarge says that a record exceeds MaxRecord. It would repeat in every attempt.
	ErrTooLarge = errors.New("record exceeds 128 MiB")
	// ErrWrite says that none of the directories takes the file.
	ErrWrite = errors.New("no local directory takes a spill file: free space there, or add directories to yarn.nodemanager.local-dirs")
)

// headerSize is the size of the three numbers before the records, in bytes.
const headerSize = 16

// header is what a block says about itself.
type header struct {
	sum         uint64
	stored, raw uint32
}

func parseHeader(b []byte) header {
	return header{
		sum:    binary.LittleEndian.Uint64(b),
		stored: binary.LittleEndian.Uint32(b[8:]),
		raw:    binary.LittleEndian.Uint32(b[12:]),
	}
}

// seal fills the header of a block whose records follow it.
func seal(block []byte, raw int, offset int64) {
	binary.LittleEndian.PutUint32(block[8:], uint32(len(block)-headerSize))
	binary.LittleEndian.PutUint32(block[12:], uint32(raw))
	binary.LittleEndian.PutUint64(block, checksum(block, offset))
}

func checksum(block []byte, offset int64) uint64 {
	var d xxhash.Digest
	d.ResetWithSeed(uint64(offset))
	_, _ = d.Write(block[8:]) // never fails
	return d.Sum64()
}
