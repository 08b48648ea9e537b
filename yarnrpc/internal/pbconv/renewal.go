package pbconv

import (
	"encoding/binary"
	"maps"
	"math"
	"slices"

	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/writable"
)

// noSources is Java's null for the names of the files that an option is from.
const noSources = math.MaxUint32

// renewalConfBytes writes options as Configuration#readFields wants them: their number, and of each name, value and
// sources. Equal ones give equal bytes, none nil.
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

// renewalConf is the inverse of renewalConfBytes, and passes over sources. Malformed bytes give nil.
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
