package codec

import (
	"fmt"
	"reflect"
	"time"
	"unsafe"
)

// value makes the codec of T from its part.
func value[T any](c *compiler, root *part) Codec[T] {
	name, t := c.shape.String(), c.root
	if c.ordered {
		name = "key(" + name + ")"
	}
	made := Codec[T]{
		Name:    name,
		Ordered: c.ordered && !c.unordered,
		Append: func(dst []byte, v T) ([]byte, error) {
			return root.encode(t, dst, hide(unsafe.Pointer(&v))) //nolint:gosec // parts keep no pointer
		},
		Decode: func(src []byte) (v T, err error) {
			err = root.decodeAll(t, src, hide(unsafe.Pointer(&v))) //nolint:gosec // parts keep no pointer
			return v, err
		},
	}
	if root.size != nil {
		made.Size = func(v T) int64 { return root.size(hide(unsafe.Pointer(&v)), 0) } //nolint:gosec // parts keep no pointer
	}
	if within(t, hasMethods) {
		// Methods of the user may keep the pointer, so the value must be on the heap.
		made.Append = func(dst []byte, v T) ([]byte, error) {
			return root.encode(t, dst, unsafe.Pointer(&v)) //nolint:gosec // on the heap
		}
		made.Decode = func(src []byte) (v T, err error) {
			err = root.decodeAll(t, src, unsafe.Pointer(&v)) //nolint:gosec // on the heap
			return v, err
		}
		made.Size = func(v T) int64 { return root.size(unsafe.Pointer(&v), 0) } //nolint:gosec // on the heap
	}
	if c.borrows {
		made.Own = func(v T) (T, error) {
			encoded, err := made.Append(nil, v)
			if err != nil {
				return v, err
			}
			return made.Decode(encoded)
		}
	}
	return made
}

func (p *part) encode(t reflect.Type, dst []byte, v unsafe.Pointer) ([]byte, error) {
	dst, err := p.append(dst, v, 0)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", t, err)
	}
	return dst, nil
}

// decodeAll decodes a value of type t that uses all of src.
func (p *part) decodeAll(t reflect.Type, src []byte, v unsafe.Pointer) error {
	rest, err := p.decode(src, v, 0)
	if err == nil && len(rest) > 0 {
		err = errTrailing
	}
	if err != nil {
		return fmt.Errorf("%w: %w", corrupt(t.String(), src), err)
	}
	return nil
}

// hide returns p, but the compiler does not see that. So a value to which p points
// stays on the stack, which saves an allocation for each record. This is safe
// because parts keep no pointer, and because the garbage collector finds p in
// their frames.
func hide(p unsafe.Pointer) unsafe.Pointer {
	hidden := uintptr(p)
	return *(*unsafe.Pointer)(unsafe.Pointer(&hidden)) //nolint:gosec // see above
}

// hasMethods reports whether methods of a type encode its values.
func hasMethods(t reflect.Type) bool { return t != reflect.TypeFor[time.Time]() && encodesItself(t) }

// as returns c as the codec of T, a type with U's memory. All other types of a
// Codec[T] are functions, which take T as they take U.
func as[T, U any](c Codec[U]) Codec[T] {
	return *(*Codec[T])(unsafe.Pointer(&c)) //nolint:gosec // the types differ only in their names
}

// within reports whether is holds for a type, or for one that lies in its memory.
func within(t reflect.Type, is func(reflect.Type) bool) bool {
	if is(t) {
		return true
	}
	switch t.Kind() {
	case reflect.Array:
		return within(t.Elem(), is)
	case reflect.Struct:
		for f := range t.Fields() {
			if within(f.Type, is) {
				return true
			}
		}
		return false
	default:
		return false
	}
}
