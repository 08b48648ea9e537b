package codec

import (
	"reflect"
	"strconv"
	"unsafe"
)

// fields is the part of a struct: its fields, one after the other.
func (c *compiler) fields(t reflect.Type, path string) (part, error) {
	type field struct {
		*part
		offset uintptr
	}
	var fields, sized []field
	made := part{}
	c.shape.WriteString(t.String() + "{")
	for f := range t.Fields() {
		below := path + "." + f.Name
		if !f.IsExported() && !embedsStruct(f) {
			return part{}, c.refuse(below, "unexported", "export the field")
		}
		if len(fields) > 0 {
			c.shape.WriteByte(';')
		}
		c.shape.WriteString(f.Name + " ")
		p, err := c.part(f.Type, below)
		if err != nil {
			return part{}, err
		}
		fields = append(fields, field{p, f.Offset})
		made.least += p.least
	}
	c.shape.WriteByte('}')
	made.append = func(dst []byte, p unsafe.Pointer, depth int) (_ []byte, err error) {
		for i := range fields {
			f := &fields[i]
			if dst, err = f.append(dst, unsafe.Add(p, f.offset), depth); err != nil {
				return nil, err
			}
		}
		return dst, nil
	}
	made.decode = func(src []byte, p unsafe.Pointer, depth int) (_ []byte, err error) {
		for i := range fields {
			f := &fields[i]
			if src, err = f.decode(src, unsafe.Add(p, f.offset), depth); err != nil {
				return nil, err
			}
		}
		return src, nil
	}
	for _, f := range fields {
		if f.mayRefer() {
			sized = append(sized, f)
		}
	}
	if sized != nil {
		made.size = func(p unsafe.Pointer, depth int) (total int64) {
			for _, f := range sized {
				if f.size != nil {
					total += f.size(unsafe.Add(p, f.offset), depth)
				}
			}
			return total
		}
	}
	return made, nil
}

// embedsStruct reports whether a field is an embedded struct. Its fields may be
// exported, even if its name is not.
func embedsStruct(f reflect.StructField) bool {
	t := f.Type
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return f.Anonymous && t.Kind() == reflect.Struct
}

// array is the part of an array: its elements, one after the other.
func (c *compiler) array(t reflect.Type, path string) (part, error) {
	n := t.Len()
	c.shape.WriteString("[" + strconv.Itoa(n) + "]")
	if isByte(t.Elem()) {
		c.shape.WriteString("uint8")
		return raw(n), nil
	}
	elem, err := c.part(t.Elem(), path+"[]")
	if err != nil {
		return part{}, err
	}
	step := t.Elem().Size()
	if elem.least == 0 {
		n = 0 // nothing to encode, however long the array is
	}
	made := part{
		least: n * elem.least,
		append: func(dst []byte, p unsafe.Pointer, depth int) (_ []byte, err error) {
			for i := range n {
				if dst, err = elem.append(dst, unsafe.Add(p, uintptr(i)*step), depth); err != nil {
					return nil, err
				}
			}
			return dst, nil
		},
		decode: func(src []byte, p unsafe.Pointer, depth int) (_ []byte, err error) {
			for i := range n {
				if src, err = elem.decode(src, unsafe.Add(p, uintptr(i)*step), depth); err != nil {
					return nil, err
				}
			}
			return src, nil
		},
	}
	if elem.mayRefer() {
		made.size = func(p unsafe.Pointer, depth int) (total int64) {
			for i := 0; elem.size != nil && i < n; i++ {
				total += elem.size(unsafe.Add(p, uintptr(i)*step), depth)
			}
			return total
		}
	}
	return made, nil
}

// pointer is the part of a pointer: 0 for nil, or else 1 and the value.
func (c *compiler) pointer(t reflect.Type, path string) (part, error) {
	c.shape.WriteByte('*')
	of := t.Elem()
	elem, err := c.part(of, path)
	if err != nil {
		return part{}, err
	}
	fresh := func() unsafe.Pointer { return reflect.New(of).UnsafePointer() }
	if grow := growthOf(of); grow != nil {
		fresh = func() unsafe.Pointer { return grow(sliceHeader{}, 1).data }
	}
	return part{
		least: 1,
		append: func(dst []byte, p unsafe.Pointer, depth int) ([]byte, error) {
			to := *(*unsafe.Pointer)(p)
			if to == nil {
				return append(dst, 0), nil
			}
			if depth == maxDepth {
				return nil, nestsTooDeep()
			}
			return elem.append(append(dst, 1), to, depth+1)
		},
		decode: func(src []byte, p unsafe.Pointer, depth int) ([]byte, error) {
			switch {
			case len(src) == 0:
				return nil, errShort
			case src[0] > 1:
				return nil, errBool
			case src[0] == 0:
				*(*unsafe.Pointer)(p) = nil
				return src[1:], nil
			case depth == maxDepth:
				return nil, nestsTooDeep()
			}
			to := fresh()
			*(*unsafe.Pointer)(p) = to
			return elem.decode(src[1:], to, depth+1)
		},
		size: func(p unsafe.Pointer, depth int) int64 {
			to := *(*unsafe.Pointer)(p)
			if to == nil || depth == maxDepth {
				return 0
			}
			total := int64(of.Size())
			if elem.size != nil {
				total += elem.size(to, depth+1)
			}
			return total
		},
	}, nil
}
