package codec

import (
	"encoding/binary"
	"reflect"
	"unsafe"
)

// sliceHeader is the memory of a slice.
type sliceHeader struct {
	data     unsafe.Pointer
	len, cap int
}

// grow moves the elements of a slice to new memory.
type grow func(old sliceHeader, capacity int) sliceHeader

// firstGrowth is the memory that a decoder takes for elements before it has seen
// one, in bytes, if elements may hold slices. It bounds the memory of records that
// announce long slices inside each other.
const firstGrowth = 1 << 10

// slice is the part of a slice: 0 for nil, or else the number of elements plus 1,
// and the elements.
func (c *compiler) slice(t reflect.Type, path string) (part, error) {
	c.shape.WriteString("[]")
	if isByte(t.Elem()) {
		c.shape.WriteString("uint8")
		c.borrows = true
		return c.bytes(), nil
	}
	elem, err := c.part(t.Elem(), path+"[]")
	if err != nil {
		return part{}, err
	}
	grow, flat := growth(t)
	var made part
	if c.ordered {
		made = markedElements(elem, t.Elem().Size(), grow)
	} else {
		made = countedElements(solid(elem), t.Elem().Size(), grow, flat)
	}
	made.size = func(p unsafe.Pointer, depth int) int64 {
		s := (*sliceHeader)(p)
		step := t.Elem().Size()
		total := int64(s.cap) * int64(step)
		if elem.size != nil && depth < maxDepth {
			for i := range s.len {
				total += elem.size(unsafe.Add(s.data, uintptr(i)*step), depth+1)
			}
		}
		return total
	}
	return made, nil
}

// countedElements has the number of elements before them. The memory for flat
// elements is allocated at once: the record has at least a byte for each.
func countedElements(elem *part, step uintptr, grow grow, flat bool) part {
	return part{
		least: 1,
		append: func(dst []byte, p unsafe.Pointer, depth int) (_ []byte, err error) {
			s := (*sliceHeader)(p)
			if s.data == nil {
				return append(dst, 0), nil
			}
			if depth == maxDepth {
				return nil, nestsTooDeep()
			}
			dst = binary.AppendUvarint(dst, uint64(s.len)+1)
			for i := range s.len {
				if dst, err = elem.append(dst, unsafe.Add(s.data, uintptr(i)*step), depth+1); err != nil {
					return nil, err
				}
			}
			return dst, nil
		},
		decode: func(src []byte, p unsafe.Pointer, depth int) ([]byte, error) {
			n, src, err := count(src, elem.least, depth)
			if err != nil || n < 0 {
				*(*sliceHeader)(p) = sliceHeader{}
				return src, err
			}
			first := n
			if !flat {
				first = min(n, firstGrowth/int(step+1)+1)
			}
			s := grow(sliceHeader{}, first)
			for s.len < n {
				if s.len == s.cap {
					s = grow(s, min(n, 2*s.cap))
				}
				if src, err = elem.decode(src, unsafe.Add(s.data, uintptr(s.len)*step), depth+1); err != nil {
					return nil, err
				}
				s.len++
			}
			*(*sliceHeader)(p) = s
			return src, nil
		},
	}
}

// count reads the number of elements of a slice or map, or -1 for nil. An element
// has at least some bytes.
func count(src []byte, least, depth int) (n int, rest []byte, err error) {
	v, rest, err := number(src)
	switch {
	case err != nil:
		return 0, nil, err
	case v == 0:
		return -1, rest, nil
	case v-1 > uint64(len(rest)/max(1, least)):
		return 0, nil, errCount
	case depth == maxDepth:
		return 0, nil, nestsTooDeep()
	}
	return int(v - 1), rest, nil
}

// solid returns the part itself, or, if its values have no content, a part of one
// byte. So a short record cannot announce very many elements.
func solid(p *part) *part {
	if p.least > 0 {
		return p
	}
	return &part{
		least:  1,
		append: func(dst []byte, _ unsafe.Pointer, _ int) ([]byte, error) { return append(dst, 0), nil },
		decode: func(src []byte, _ unsafe.Pointer, _ int) ([]byte, error) {
			if len(src) == 0 || src[0] != 0 {
				return nil, errEmpty
			}
			return src[1:], nil
		},
	}
}

// growth returns the function that allocates memory for slices of a type. flat is
// true if the memory of an element is in proportion to the bytes of its encoding,
// and decoding it allocates no more than these.
func growth(t reflect.Type) (_ grow, flat bool) {
	elem := t.Elem()
	flat = (!within(elem, refers) || elem.Kind() == reflect.String) && !within(elem, encodesItself)
	if known := growthOf(elem); known != nil {
		return known, flat
	}
	return func(old sliceHeader, capacity int) sliceHeader {
		grown := reflect.MakeSlice(t, old.len, capacity)
		reflect.Copy(grown, reflect.NewAt(t, unsafe.Pointer(&old)).Elem()) //nolint:gosec // old has t's memory
		return sliceHeader{grown.UnsafePointer(), old.len, capacity}
	}, flat
}

// growthOf returns the function that allocates memory for values of a type without
// reflection. Nil: the type mixes pointers with other content, so only reflection
// can tell the garbage collector where they are.
func growthOf(t reflect.Type) grow {
	switch {
	case !within(t, refers):
		return growWords(t.Size())
	case t.Kind() == reflect.String:
		return growOf[string]
	case t.Kind() == reflect.Pointer || t.Kind() == reflect.Map:
		return growOf[unsafe.Pointer]
	case t.Kind() == reflect.Slice:
		return growOf[[]byte]
	}
	return nil
}

// refers reports whether values of a type hold a pointer themselves.
func refers(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice, reflect.String, reflect.Interface, reflect.Func, reflect.Chan, reflect.UnsafePointer:
		return true
	default:
		return false
	}
}

// growOf grows slices whose elements have E's memory.
func growOf[E any](old sliceHeader, capacity int) sliceHeader {
	grown := make([]E, old.len, capacity)
	copy(grown, unsafe.Slice((*E)(old.data), old.len))                             //nolint:gosec // old has E's memory
	return sliceHeader{unsafe.Pointer(unsafe.SliceData(grown)), old.len, capacity} //nolint:gosec // as above
}

// growWords grows slices of elements without pointers, which have size bytes.
func growWords(size uintptr) grow {
	const word = 8 // no type needs more for its alignment
	return func(old sliceHeader, capacity int) sliceHeader {
		words := func(n int) int { return (n*int(size) + word - 1) / word }
		grown := growOf[uint64](sliceHeader{old.data, words(old.len), words(old.cap)}, words(capacity))
		return sliceHeader{grown.data, old.len, capacity}
	}
}
