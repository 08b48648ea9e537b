package placement

import (
	"bytes"
	"cmp"
	"compress/flate"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// The encoded form begins with a byte that says whether the rest is deflated (RFC 1951). Numbers are
// uvarints, and those marked ± are varints (encoding/binary). A text follows its length.
//
//	┌───────┬──────────────────────────┬──────────────────────────────────┐
//	│ hosts │ of each: id, name, port  │ of each list with subtasks: …    │
//	└───────┴──────────────────────────┴──────────────────────────────────┘
//	… ┌────────┬──────┬───────────────────────────────────────────────────────────┐
//	  │ list   │ runs │ of each run: gap to the last, count, ±epoch, attempt, ±host │
//	  └────────┴──────┴───────────────────────────────────────────────────────────┘
//
// List 2v has the tasks of vertex v, and list 2v+1 its partitions.
//
// A port is one more than its number. 0 means that the name is the whole address. The host or epoch of
// a run is the distance to that of the run before.
const (
	plain    = 0
	deflated = 1
)

// worthwhile is the length from which on Encode compresses a table, in bytes. For a shorter one, the
// memory of the compressor costs more than the bytes.
const worthwhile = 2 << 10

// Encode gives the bytes of a table, and nil for an empty one. It takes about a millisecond for a
// thousand hosts.
func (t *Table) Encode() []byte {
	if t.Empty() {
		return nil
	}
	data := binary.AppendUvarint([]byte{plain}, uint64(len(t.hosts)))
	for _, h := range t.hosts {
		name, port := split(h.Address)
		data = appendText(data, string(h.ID))
		data = appendText(data, name)
		data = binary.AppendUvarint(data, port)
	}
	for list, runs := range t.runs {
		if len(runs) > 0 {
			data = binary.AppendUvarint(data, uint64(list))
			data = appendRuns(data, runs)
		}
	}
	if len(data) < worthwhile {
		return data
	}
	return deflate(data)
}

func appendRuns(data []byte, runs []run) []byte {
	first := func(a, b run) int { return cmp.Compare(a.first, b.first) }
	if !slices.IsSortedFunc(runs, first) { // several regions were added
		runs = slices.SortedFunc(slices.Values(runs), first)
	}
	data = binary.AppendUvarint(data, uint64(len(runs)))
	next, host, epoch := 0, 0, ids.Epoch(0)
	for _, r := range runs {
		data = binary.AppendUvarint(data, uint64(r.first-next))
		data = binary.AppendUvarint(data, uint64(r.count))
		data = binary.AppendVarint(data, int64(r.epoch-epoch))
		data = binary.AppendUvarint(data, uint64(r.attempt))
		data = binary.AppendVarint(data, int64(r.host-host))
		next, host, epoch = r.first+r.count, r.host, r.epoch
	}
	return data
}

func appendText(data []byte, text string) []byte {
	return append(binary.AppendUvarint(data, uint64(len(text))), text...)
}

// split divides an address into its name and one more than its port. If joined would not give back
// the same text, the name is the whole address, and the number is 0.
func split(address string) (name string, port uint64) {
	if i := strings.LastIndexByte(address, ':'); i >= 0 {
		n, err := strconv.ParseUint(address[i+1:], 10, 16)
		if err == nil && joined(address[:i], n+1) == address {
			return address[:i], n + 1
		}
	}
	return address, 0
}

func joined(name string, port uint64) string {
	if port == 0 {
		return name
	}
	return name + ":" + strconv.FormatUint(port-1, 10)
}

// deflate compresses the bytes of a table.
func deflate(data []byte) []byte {
	compressed := bytes.NewBuffer([]byte{deflated})
	w, err := flate.NewWriter(compressed, flate.BestSpeed)
	if err == nil {
		_, err = w.Write(data[1:])
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil { // not into memory, and not at this level
		panic(fmt.Sprintf("placement: deflate: %v", err))
	}
	return compressed.Bytes()
}
