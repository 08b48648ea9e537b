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
// and the entries in any order. Its functions use reflection for each entry.
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
	m := mapPart{t: t, key: solid(key), elem: elem}
	return part{least: 1, append: m.append, decode: m.decode, size: m.size}, nil
}

type mapPart struct {
	t         reflect.Type
	key, elem *part
}

// at returns the map at p.
func (m *mapPart) at(p unsafe.Pointer) reflect.Value {
	table := *(*unsafe.Pointer)(p)                           // on the heap: reflect may keep p
	return reflect.NewAt(m.t, unsafe.Pointer(&table)).Elem() //nolint:gosec // a map is one pointer
}

func (m *mapPart) append(dst []byte, p unsafe.Pointer, depth int) (_ []byte, err error) {
	table := m.at(p)
	if table.IsNil() {
		return append(dst, 0), nil
	}
	if depth == maxDepth {
		return nil, nestsTooDeep()
	}
	dst = binary.AppendUvarint(dst, uint64(table.Len())+1)
	err = m.each(table, func(key, elem unsafe.Pointer) error {
		if dst, err = m.key.append(dst, key, depth+1); err == nil {
			dst, err = m.elem.append(dst, elem, depth+1)
		}
		return err
	})
	return dst, err
}

// each calls do for each entry, with pointers to copies.
func (m *mapPart) each(table reflect.Value, do func(key, elem unsafe.Pointer) error) error {
	if table.Len() == 0 {
		return nil
	}
	key, elem := reflect.New(m.t.Key()), reflect.New(m.t.Elem())
	for entry := table.MapRange(); entry.Next(); {
		key.Elem().SetIterKey(entry)
		elem.Elem().SetIterValue(entry)
		if err := do(key.UnsafePointer(), elem.UnsafePointer()); err != nil {
			return err
		}
	}
	return nil
}

func (m *mapPart) decode(src []byte, p unsafe.Pointer, depth int) ([]byte, error) {
	n, src, err := count(src, m.key.least+m.elem.least, depth)
	if err != nil || n < 0 {
		*(*unsafe.Pointer)(p) = nil
		return src, err
	}
	table := reflect.MakeMapWithSize(m.t, min(n, firstEntries))
	if n > 0 {
		key, elem := reflect.New(m.t.Key()), reflect.New(m.t.Elem())
		for range n {
			if src, err = m.key.decode(src, key.UnsafePointer(), depth+1); err != nil {
				return nil, err
			}
			if src, err = m.elem.decode(src, elem.UnsafePointer(), depth+1); err != nil {
				return nil, err
			}
			table.SetMapIndex(key.Elem(), elem.Elem())
		}
	}
	if table.Len() != n {
		return nil, errDuplicate
	}
	*(*unsafe.Pointer)(p) = table.UnsafePointer()
	return src, nil
}

// size is an estimate: after it has grown, half of a table is empty.
func (m *mapPart) size(p unsafe.Pointer, depth int) int64 {
	table := m.at(p)
	if table.IsNil() {
		return 0
	}
	const header = 48 // bytes of an empty map
	total := header + 2*int64(table.Len())*int64(m.t.Key().Size()+m.t.Elem().Size())
	if m.key.size == nil && m.elem.size == nil || depth == maxDepth {
		return total
	}
	_ = m.each(table, func(key, elem unsafe.Pointer) error { // do returns no error
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
