package codec

import (
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"
	"unsafe"
)

// maxDepth bounds the pointers, slices and maps that lie inside each other in a
// value. So neither a value that contains itself nor a forged record exhausts the
// stack.
const maxDepth = 1000

// part encodes the values of one type inside a record, behind other parts and
// before others. So its encoding tells where it ends. All functions take a pointer
// to the value, and the number of pointers, slices and maps around it.
type part struct {
	// least is the length of the shortest encoding, in bytes.
	least  int
	append func(dst []byte, p unsafe.Pointer, depth int) ([]byte, error)
	// decode sets the value at p and returns the bytes behind it. The value shares
	// no memory with src. An error says what is wrong with src.
	decode func(src []byte, p unsafe.Pointer, depth int) (rest []byte, err error)
	// size returns the memory that a value refers to, in bytes. Nil means none.
	size func(p unsafe.Pointer, depth int) int64
}

// mayRefer tells whether a value may refer to memory. The part of a type that contains itself is not complete while the parts below it
// are made, and such a type has a pointer, a slice or a map.
func (p *part) mayRefer() bool { return p.size != nil || p.append == nil }

// Faults of a record.
var (
	errShort     = errors.New("it ends too early")
	errTrailing  = errors.New("bytes follow the value")
	errNumber    = errors.New("a number is too large or not in its shortest form")
	errBool      = errors.New("a bool or a pointer begins with neither 0 nor 1")
	errCount     = errors.New("it is too short for its number of elements")
	errDuplicate = errors.New("a map has a key twice")
	errTime      = errors.New("a time is out of range")
	errEscape    = errors.New("a string is not escaped")
	errFloat     = errors.New("a float is not in its only form")
	errOrder     = errors.New("a slice has an unknown mark")
	errEmpty     = errors.New("an element without content is not 0")
)

// compiler builds the parts of a type, once for each codec.
type compiler struct {
	root    reflect.Type
	ordered bool // encodings compare as values do
	parts   map[reflect.Type]*part
	shape   strings.Builder // fields and their types, for the codec's name
	// borrows is true if values may hold a []byte, or memory of a type that encodes
	// itself.
	borrows bool
	// unordered is true if encodings of a part do not compare as its values do.
	unordered bool
}

// compile returns the codec of T, which is not a KV and does not encode itself.
func compile[T any](ordered bool) (Codec[T], error) {
	t := reflect.TypeFor[T]()
	c := &compiler{root: t, ordered: ordered, parts: make(map[reflect.Type]*part)}
	path, _, _ := strings.Cut(t.Name(), "[") // without the arguments of a generic type
	root, err := c.part(t, path)
	if err != nil {
		return Codec[T]{}, err
	}
	return value[T](c, root), nil
}

// refuse returns the error for the part at a path.
func (c *compiler) refuse(path, why, remedy string) error {
	if path != "" {
		path += ": "
	}
	return fmt.Errorf("%w for type %s: %s%s: %s, implement encoding.BinaryAppender and encoding.BinaryUnmarshaler, "+
		"or pass dataflow.WithCodec", ErrNoCodec, c.root, path, why, remedy)
}

// part returns the part of a type. path leads there from the root, for errors.
func (c *compiler) part(t reflect.Type, path string) (*part, error) {
	if basic, is := c.basic(t.Kind()); is && !encodesItself(t) {
		c.shape.WriteString(t.Kind().String())
		return &basic, nil
	}
	if known := c.parts[t]; known != nil {
		c.shape.WriteString(t.String())
		return known, nil
	}
	p := &part{least: 1} // a type that contains itself finds it incomplete
	c.parts[t] = p
	var err error
	*p, err = c.build(t, path)
	return p, err
}

func (c *compiler) build(t reflect.Type, path string) (part, error) {
	if t == reflect.TypeFor[time.Time]() {
		c.shape.WriteString(t.String())
		return c.instant(), nil
	}
	if lost := swallows(t); lost != "" {
		return part{}, c.refuse(path+"."+lost, "the methods of this embedded field would encode it without the other fields", "give the field a name")
	}
	if f := formOf(t); f != byParts {
		c.shape.WriteString(t.String())
		c.borrows, c.unordered = true, true
		return f.part(t), nil
	}
	switch t.Kind() {
	case reflect.Struct:
		return c.fields(t, path)
	case reflect.Array:
		return c.array(t, path)
	case reflect.Slice:
		return c.slice(t, path)
	case reflect.Map:
		return c.entries(t, path)
	case reflect.Pointer:
		return c.pointer(t, path)
	default:
		return part{}, c.refuse(path, "values of kind "+t.Kind().String()+" cannot travel", "use another type")
	}
}

// number reads a uvarint, which must be in its shortest form.
func number(src []byte) (v uint64, rest []byte, err error) {
	if len(src) > 0 && src[0] < 0x80 {
		return uint64(src[0]), src[1:], nil
	}
	v, n := binary.Uvarint(src)
	switch {
	case n == 0:
		return 0, nil, errShort
	case n < 0 || src[n-1] == 0:
		return 0, nil, errNumber
	}
	return v, src[n:], nil
}

// nestsTooDeep is the error of Append for a value.
func nestsTooDeep() error {
	return fmt.Errorf("%w: more than %d pointers, slices and maps lie inside each other", ErrTooDeep, maxDepth)
}
