package lines

import (
	"encoding/binary"
	"fmt"

	"github.com/bobbin-yarn/bobbin/dataflow/operator"
)

// Position is a place in a split where a line begins. The zero value is the beginning of any
// split.
type Position struct {
	Part   int   // index in the split's Parts; their number at the split's end
	Offset int64 // of the line's first byte in the part's file, or in its text if the file is compressed
}

// Append appends the position to dst, as two uvarints.
func (p Position) Append(dst []byte) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(dst, uint64(p.Part)), uint64(p.Offset))
}

// ParsePosition reads what Append has written. The error is ErrPosition, and permanent. Open checks whether the split has the
// position.
func ParsePosition(text []byte) (Position, error) {
	part, n := binary.Uvarint(text)
	if n > 0 {
		offset, m := binary.Uvarint(text[n:])
		if p := (Position{int(part), int64(offset)}); m > 0 && n+m == len(text) && p.Part >= 0 && p.Offset >= 0 {
			return p, nil
		}
	}
	return Position{}, operator.Permanent(fmt.Errorf("position of %d bytes: %w", len(text), ErrPosition))
}
