package codec

import (
	"bytes"
	"cmp"
	"math"
	"reflect"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// The random types of these tests nest all kinds that have a codec. They catch
// offsets, lengths and marks that are wrong only in some composition.

func TestValuesOfRandomTypesComeBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		typ := drawType(t, 3, elementTypes)
		c, root := compiled(t, typ, false)
		want := drawValue(t, typ)
		got := throughBytes(t, c, root, want)
		if !reflect.DeepEqual(got.Interface(), want.Interface()) {
			t.Fatalf("%s: got %#v, want %#v", typ, got, want)
		}
	})
}

// Also catches encodings that begin with another one: then the part behind would
// decide the order.
func TestKeysOfRandomTypesCompareAsTheirValues(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		typ := drawType(t, 3, keyTypes)
		c, root := compiled(t, typ, true)
		a, b := drawValue(t, typ), drawValue(t, typ)
		encodedA, encodedB := encoded(t, c, root, a), encoded(t, c, root, b)
		want := compare(a, b)
		if got := bytes.Compare(encodedA, encodedB); got != want {
			t.Fatalf("%s: %#v and %#v compare as %d, and % x and % x as %d", typ, a, b, want, encodedA, encodedB, got)
		}
		if want != 0 && (bytes.HasPrefix(encodedA, encodedB) || bytes.HasPrefix(encodedB, encodedA)) {
			t.Fatalf("%s: one of % x and % x begins with the other", typ, encodedA, encodedB)
		}
		if back := throughBytes(t, c, root, a); compare(back, a) != 0 {
			t.Fatalf("%s: got %#v, want %#v", typ, back, a)
		}
	})
}

// A decoder must refuse bytes that its encoder does not write, also in random
// records of random types.
func TestKeysOfRandomTypesHaveOneEncoding(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		typ := drawType(t, 3, keyTypes)
		c, root := compiled(t, typ, true)
		record := encoded(t, c, root, drawValue(t, typ))
		if len(record) > 0 {
			at := rapid.IntRange(0, len(record)-1).Draw(t, "at")
			record[at] = rapid.SampledFrom([]byte{0, 1, 0x7f, 0x80, 0xff}).Draw(t, "byte")
		}
		v := reflect.New(typ)
		if root.decodeAll(c.root, record, v.UnsafePointer()) != nil {
			return
		}
		if again := encoded(t, c, root, v.Elem()); !bytes.Equal(again, record) {
			t.Fatalf("%s: % x became % x", typ, record, again)
		}
	})
}

func compiled(t *rapid.T, typ reflect.Type, ordered bool) (*compiler, *part) {
	c := &compiler{root: typ, ordered: ordered, parts: make(map[reflect.Type]*part)}
	root, err := c.part(typ, "")
	if err != nil {
		t.Fatal(err)
	}
	if c.unordered {
		t.Fatalf("%s: not ordered", typ)
	}
	return c, root
}

func encoded(t *rapid.T, c *compiler, root *part, v reflect.Value) []byte {
	at := reflect.New(c.root)
	at.Elem().Set(v)
	record, err := root.encode(c.root, nil, at.UnsafePointer())
	if err != nil {
		t.Fatal(err)
	}
	if len(record) < root.least {
		t.Fatalf("%s: %d bytes, and %d should be the least", c.root, len(record), root.least)
	}
	return record
}

func throughBytes(t *rapid.T, c *compiler, root *part, v reflect.Value) reflect.Value {
	record := encoded(t, c, root, v)
	back := reflect.New(c.root)
	if err := root.decodeAll(c.root, record, back.UnsafePointer()); err != nil {
		t.Fatalf("%s: %v", c.root, err)
	}
	clear(record) // the value must share no memory with it
	return back.Elem()
}

var (
	keyTypes = []reflect.Type{
		reflect.TypeFor[bool](), reflect.TypeFor[string](), reflect.TypeFor[[]byte](), reflect.TypeFor[time.Time](), reflect.TypeFor[[3]byte](),
		reflect.TypeFor[int](), reflect.TypeFor[int8](), reflect.TypeFor[int16](), reflect.TypeFor[int32](), reflect.TypeFor[time.Duration](),
		reflect.TypeFor[uint](), reflect.TypeFor[uint8](), reflect.TypeFor[uint16](), reflect.TypeFor[uint32](), reflect.TypeFor[uint64](),
		reflect.TypeFor[float32](), reflect.TypeFor[float64](), reflect.TypeFor[struct{}](),
	}
	mapped       = []reflect.Type{reflect.TypeFor[map[string]int](), reflect.TypeFor[map[[2]bool][]string](), reflect.TypeFor[map[struct{}]*int8]()}
	elementTypes = append(mapped, keyTypes...)
)

// drawType draws one of types, or a type of such types.
func drawType(t *rapid.T, depth int, types []reflect.Type) reflect.Type {
	kind := "basic"
	if depth > 0 {
		kind = rapid.SampledFrom([]string{"basic", "slice", "array", "pointer", "struct"}).Draw(t, "kind")
	}
	below := func() reflect.Type { return drawType(t, depth-1, types) }
	switch kind {
	case "slice":
		return reflect.SliceOf(below())
	case "array":
		return reflect.ArrayOf(rapid.IntRange(0, 3).Draw(t, "length"), below())
	case "pointer":
		return reflect.PointerTo(below())
	case "struct":
		var fields []reflect.StructField
		for i := range rapid.IntRange(0, 4).Draw(t, "fields") {
			fields = append(fields, reflect.StructField{Name: "F" + strconv.Itoa(i), Type: below()})
		}
		return reflect.StructOf(fields)
	}
	return rapid.SampledFrom(types).Draw(t, "type")
}

// drawValue draws few different values, so that two of them often begin alike.
func drawValue(t *rapid.T, typ reflect.Type) reflect.Value {
	v := reflect.New(typ).Elem()
	if typ == reflect.TypeFor[time.Time]() {
		at := rapid.SampledFrom([]time.Time{{}, time.Unix(-1, 5), time.Unix(1<<33, 999999999).UTC(), time.Unix(1<<62, 0).UTC()}).Draw(t, "time")
		v.Set(reflect.ValueOf(at))
		return v
	}
	switch typ.Kind() {
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "bool"))
	case reflect.String:
		v.SetString(rapid.StringOfN(rapid.SampledFrom([]rune{0, 1, 'a', 0x10ffff}), 0, 3, -1).Draw(t, "string"))
	case reflect.Float32, reflect.Float64:
		v.SetFloat(rapid.SampledFrom([]float64{math.Inf(-1), -1.5, math.Copysign(0, -1), 0, 1e-40, 2, 1e300}).Draw(t, "float"))
	case reflect.Array:
		for i := range v.Len() {
			v.Index(i).Set(drawValue(t, typ.Elem()))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			v.Field(i).Set(drawValue(t, typ.Field(i).Type))
		}
	case reflect.Pointer:
		if rapid.Bool().Draw(t, "not nil") {
			v.Set(reflect.New(typ.Elem()))
			v.Elem().Set(drawValue(t, typ.Elem()))
		}
	case reflect.Slice:
		if n := rapid.SampledFrom([]int{-1, 0, 1, 2, 3, 70}).Draw(t, "length"); n >= 0 {
			v.Set(reflect.MakeSlice(typ, n, n))
			for i := range min(n, 3) {
				v.Index(i).Set(drawValue(t, typ.Elem()))
			}
		}
	case reflect.Map:
		if n := rapid.IntRange(-1, 3).Draw(t, "entries"); n >= 0 {
			v.Set(reflect.MakeMap(typ))
			for range n {
				v.SetMapIndex(drawValue(t, typ.Key()), drawValue(t, typ.Elem()))
			}
		}
	default:
		whole := rapid.SampledFrom([]int64{0, 1, -1, 127, -128, 128, 1 << 40, -1 << 63}).Draw(t, "number")
		if v.CanInt() {
			v.SetInt(whole)
		} else {
			v.SetUint(uint64(whole))
		}
	}
	return v
}

// compare is the order of Go's values, written as simply as possible.
func compare(a, b reflect.Value) int {
	if at, is := reflect.TypeAssert[time.Time](a); is {
		return at.Compare(b.Interface().(time.Time))
	}
	switch a.Kind() {
	case reflect.Bool:
		return cmp.Compare(strconv.FormatBool(a.Bool()), strconv.FormatBool(b.Bool()))
	case reflect.String:
		return cmp.Compare(a.String(), b.String())
	case reflect.Float32, reflect.Float64:
		return cmp.Compare(a.Float(), b.Float())
	case reflect.Pointer:
		if a.IsNil() || b.IsNil() {
			return cmp.Compare(strconv.FormatBool(!a.IsNil()), strconv.FormatBool(!b.IsNil()))
		}
		return compare(a.Elem(), b.Elem())
	case reflect.Struct:
		for i := range a.NumField() {
			if order := compare(a.Field(i), b.Field(i)); order != 0 {
				return order
			}
		}
		return 0
	case reflect.Array, reflect.Slice:
		for i := range min(a.Len(), b.Len()) {
			if order := compare(a.Index(i), b.Index(i)); order != 0 {
				return order
			}
		}
		return cmp.Compare(a.Len(), b.Len())
	}
	if a.CanInt() {
		return cmp.Compare(a.Int(), b.Int())
	}
	return cmp.Compare(a.Uint(), b.Uint())
}
