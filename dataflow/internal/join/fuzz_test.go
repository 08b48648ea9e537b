package join

import (
	"encoding/binary"
	"testing"
)

// FuzzSplitRecord takes records apart as files may have them. It would catch a length that reaches beyond the record.
func FuzzSplitRecord(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("\x03keyvalue"))
	f.Add([]byte("\x09short"))
	f.Add(binary.AppendUvarint(nil, 1<<63))
	f.Fuzz(func(t *testing.T, record []byte) {
		key, value, ok := splitRecord(record)
		if !ok {
			return
		}
		if _, n := binary.Uvarint(record); string(record[n:]) != string(key)+string(value) || len(record) != n+len(key)+len(value) {
			t.Errorf("%q has key %q and value %q", record, key, value)
		}
	})
}
