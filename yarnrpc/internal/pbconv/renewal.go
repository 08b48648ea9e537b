package pbconv

import (
	"encoding/binary"
	"maps"
	"math"
	"slices"

	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/writable"
)

// noSources is the length that Java writes for null: no names of source files for an option.
const noSources = math.MaxUint32

// renewalConfBytes writes options in the form of Configuration#readFields: their number, then name, value and
// sources of each. Equal options give equal bytes, no options give nil.
func renewalConfBytes(conf map[string]string) []byte {
	if len(conf) == 0 {
		return nil
	}
	b := writable.AppendVLong(nil, int64(len(conf)))
	for _, name := range slices.Sorted(maps.Keys(conf)) {
		b = writable.AppendText(writable.AppendText(b, name), conf[name])
		b = binary.BigEndian.AppendUint32(b, noSources)
	}
	return b
}

// renewalConf is the inverse of renewalConfBytes. It skips sources. Malformed bytes give nil.
func renewalConf(b []byte) map[string]string {
	r := writable.NewReader(b)
	conf := make(map[string]string)
	for range r.Count() {
		name, value := r.Text(), r.Text()
		for range r.LongCount() {
			r.LongText()
		}
		conf[name] = value
	}
	if r.End() != nil || len(conf) == 0 {
		return nil
	}
	return conf
}
