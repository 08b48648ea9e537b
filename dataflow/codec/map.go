package codec

import (
	"encoding/binary"
	"reflect"
	"unsafe"
)

// firstEntries bounds the entries for which a decoder makes room before it has
// seen one.
const firstEntries = 64

// entries is the part of a map: 0 for nil, or else the number of entries plus 1,
// and the entries in any order.
func (c *compiler) entries(t reflect.Type, path string) (part, error) {
	if c.ordered {
		return part{}, c.refuse(path, "a map cannot be part of a key", "use a sorted slice")
	}
	c.shape.WriteString("map[")
	key, err := c.part(t.Key(), path+"[key]")
	if err != nil {
		return part{}, err
	}
	c.shape.WriteByte(']')
	elem, err := c.part(t.Elem(), path+"[]")
	if err != nil {
		return part{}, err
	}
	m := mapPart{tables: tablesOf(t), entry: int64(t.Key().Size() + t.Elem().Size()), key: solid(key), elem: elem}
	return part{least: 1, append: m.append, decode: m.decode, size: m.size}, nil
}

type mapPart struct {
	tables
	entry     int64 // bytes
	key, elem *part
}

func (m *mapPart) append(dst []byte, p unsafe.Pointer, depth int) (_ []byte, err error) {
	n := m.length(p)
	if n < 0 {
		return append(dst, 0), nil
	}
	if depth == maxDepth {
		return nil, nestsTooDeep()
	}
	dst = binary.AppendUvarint(dst, uint64(n)+1)
	if n == 0 {
		return dst, nil
	}
	err = m.each(p, func(key, elem unsafe.Pointer) error {
		if dst, err = m.key.append(dst, key, depth+1); err == nil {
			dst, err = m.elem.append(dst, elem, depth+1)
		}
		return err
	})
	return dst, err
}

func (m *mapPart) decode(src []byte, p unsafe.Pointer, depth int) ([]byte, error) {
	n, src, err := count(src, m.key.least+m.elem.least, depth)
	if err != nil || n < 0 {
		*(*unsafe.Pointer)(p) = nil
		return src, err
	}
	distinct, err := m.fill(p, n, firstEntries, func(key, elem unsafe.Pointer) (err error) {
		if src, err = m.key.decode(src, key, depth+1); err == nil {
			src, err = m.elem.decode(src, elem, depth+1)
		}
		return err
	})
	if err == nil && distinct != n {
		err = errDuplicate
	}
	if err != nil {
		return nil, err
	}
	return src, nil
}

// size is an estimate: after it has grown, half of a table is empty.
func (m *mapPart) size(p unsafe.Pointer, depth int) int64 {
	n := m.length(p)
	if n < 0 {
		return 0
	}
	const header = 48 // bytes of an empty map
	total := header + 2*int64(n)*m.entry
	if n == 0 || m.key.size == nil && m.elem.size == nil || depth == maxDepth {
		return total
	}
	_ = m.each(p, func(key, elem unsafe.Pointer) error { // do returns no error
		if m.key.size != nil {
			total += m.key.size(key, depth+1)
		}
		if m.elem.size != nil {
			total += m.elem.size(elem, depth+1)
		}
		return nil
	})
	return total
}
