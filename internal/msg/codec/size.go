package codec

import (
	"bytes"
	"reflect"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
)

// What a message takes in memory beside its texts, in bytes.
const (
	// ofMessage is for itself, and for the first few options of its job.
	ofMessage = 1 << 10
	// ofOption is for one of the job's options, an element of a map.
	ofOption = 80
)

// options is the name of the only map.
var options = []byte("config") //nolint:gochecknoglobals // immutable after start

// ofElement is for an element of a list, by the list's name. The decoder makes a list as long as it
// is announced, for elements of any kind.
var ofElement = map[string]int{ //nolint:gochecknoglobals // a constant table
	"vertices": of[jobgraph.Vertex](), "edges": of[jobgraph.Edge](), "splits": of[jobgraph.Split](), "parts": of[jobgraph.Part](),
	"operators": of[string](), "outputs": of[string](), "hosts": of[string](),
}

func of[T any]() int { return int(reflect.TypeFor[T]().Size()) }

// DecodedSize returns a bound, in bytes, for the memory of a driver's message with its decoded
// form. Callers use it if they do not trust the sender: one byte of a message can decode to a whole
// vertex. A list whose name is not part of a job counts like a list of vertices. The bound means
// nothing for data that is no CBOR; Decode refuses that.
func DecodedSize(data []byte) int {
	size := ofMessage + len(data)
	var name []byte // the last text
	for i := 0; i < len(data); {
		kind, n, head := cborHead(data[i:])
		i += head
		n = min(n, uint64(len(data)-i)) // a byte each, at least
		switch kind {
		case cborBytes, cborText:
			name = data[i : i+int(n)]
			i += int(n)
		case cborArray:
			each, known := ofElement[string(name)]
			if !known {
				each = ofElement["vertices"]
			}
			size += int(n) * each
		case cborMap:
			if bytes.EqualFold(name, options) { // as the decoder compares names
				size += int(n) * ofOption
			}
		}
	}
	return size
}

// Major types of CBOR, RFC 8949 section 3.1.
const (
	cborBytes = 2
	cborText  = 3
	cborArray = 4
	cborMap   = 5
)

// cborHead reads what an item begins with: its major type, its argument, and how long they
// are, one byte at least and no more than there are.
func cborHead(data []byte) (kind byte, argument uint64, length int) {
	kind, argument, length = data[0]>>5, uint64(data[0]&0x1f), 1
	const one, eight = 24, 27 // an argument of 1, 2, 4 or 8 bytes follows
	if argument < one {
		return kind, argument, length
	}
	if argument > eight { // of unknown length, which Decode refuses, or none
		return kind, 0, length
	}
	length = min(1+1<<(argument-one), len(data))
	argument = 0
	for _, b := range data[1:length] {
		argument = argument<<8 | uint64(b)
	}
	return kind, argument, length
}
