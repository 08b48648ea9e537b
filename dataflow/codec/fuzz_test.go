package codec_test

import (
	"bytes"
	"errors"
	"net/netip"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/bobbin-yarn/bobbin/dataflow/codec"
)

// nest has all parts whose values have one encoding only.
type nest struct {
	Number  int32
	Byte    uint8
	Real    float32
	Text    word
	Raw     []byte
	At      time.Time
	Flags   [2]bool
	Words   []string
	Lines   []orderLine
	Next    *nest
	Nests   []nest
	Nothing []struct{}
	Pair    codec.KV[uint16, *float64]
}

// loose has parts whose values have several encodings.
type loose struct {
	Table  map[string]map[int8]*loose
	Host   netip.Addr
	Number *wrapperspb.Int64Value
	Loose  []loose
}

// FuzzStruct feeds any bytes to the decoders of nested types. No decoder may panic.
// A value with one encoding must keep it, and other values must come back.
func FuzzStruct(f *testing.F) {
	number := 0.5
	some := nest{
		Number: -7, Real: 1.5, Text: "a", Raw: []byte{1}, At: time.Unix(1, 2).In(time.FixedZone("", 60)),
		Words: []string{"b"}, Lines: []orderLine{{Item: []byte{}}}, Nothing: make([]struct{}, 2), Pair: codec.KV[uint16, *float64]{Value: &number},
	}
	some.Next, some.Nests = &nest{}, []nest{some}
	free := loose{Table: map[string]map[int8]*loose{"a": {1: nil}, "b": nil}, Host: netip.MustParseAddr("10.0.0.1"), Number: wrapperspb.Int64(1)}
	free.Loose = []loose{free}
	for _, v := range []nest{{}, some} {
		seed(f, find[nest](f), v)
		seed(f, findKey[nest](f), v)
		seed(f, codec.Reversed(findKey[nest](f)), v)
	}
	seed(f, find[loose](f), free)
	seed(f, codec.OfSlice(find[nest](f)), []nest{{}, some})
	seed(f, codec.OfSlice(codec.Bytes()), [][]byte{nil, []byte("a")})
	f.Add([]byte("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"))
	checks := []func(*testing.T, []byte){
		sameBytes(find[nest](f)), sameBytes(find[tree](f)), sameBytes(find[[]*orderLine](f)),
		sameBytes(findKey[nest](f)), sameBytes(findKey[[]tree](f)), sameBytes(findKey[float64](f)), sameBytes(findKey[time.Time](f)),
		sameBytes(codec.Reversed(findKey[nest](f))), sameBytes(codec.Reversed(findKey[string](f))),
		sameBytes(findKey[codec.KV[string, codec.KV[[]byte, int]]](f)),
		sameBytes(codec.OfSlice(find[nest](f))), sameBytes(codec.OfSlice(codec.Bytes())),
		again(find[loose](f)), again(find[map[float32][]string](f)),
	}
	f.Fuzz(func(t *testing.T, record []byte) {
		for _, check := range checks {
			check(t, record)
		}
	})
}

func seed[T any](f *testing.F, c codec.Codec[T], v T) {
	record, err := c.Append(nil, v)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(record)
}

// sameBytes decodes a record. The encoding of its value must be the record.
func sameBytes[T any](c codec.Codec[T]) func(*testing.T, []byte) {
	return func(t *testing.T, record []byte) {
		if encoded := decoded(t, c, record); encoded != nil && !bytes.Equal(encoded, record) {
			t.Errorf("%s: % x became % x", c.Name, record, encoded)
		}
	}
}

// again decodes a record, and then the encoding of its value.
func again[T any](c codec.Codec[T]) func(*testing.T, []byte) {
	return func(t *testing.T, record []byte) {
		encoded := decoded(t, c, record)
		if encoded == nil {
			return
		}
		if _, err := c.Decode(encoded); err != nil {
			t.Errorf("%s: % x became % x: %v", c.Name, record, encoded, err)
		}
	}
}

// decoded returns the encoding of the value of a record, or nil if it is corrupt.
func decoded[T any](t *testing.T, c codec.Codec[T], record []byte) []byte {
	v, err := c.Decode(record)
	if err != nil {
		if !errors.Is(err, codec.ErrCorrupt) {
			t.Errorf("%s: error %v is not ErrCorrupt", c.Name, err)
		}
		return nil
	}
	if c.Size != nil && c.Size(v) < 0 {
		t.Errorf("%s: size %d", c.Name, c.Size(v))
	}
	encoded, err := c.Append([]byte{}, v)
	if err != nil {
		t.Fatalf("%s: %v", c.Name, err)
	}
	return encoded
}
