package codec_test

import (
	"bytes"
	"errors"
	"math"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/dataflow/codec"
)

// Every value must come back from its encoding, also behind other bytes in the
// same buffer. Catches wrong widths, signs and lengths.
func TestValuesComeBackFromTheirEncoding(t *testing.T) {
	t.Parallel()
	t.Run("bytes", roundTrip(rapid.SliceOf(rapid.Byte())))
	t.Run("string", roundTrip(rapid.String()))
	t.Run("bool", roundTrip(rapid.Bool()))
	t.Run("int", roundTrip(rapid.Int()))
	t.Run("int8", roundTrip(rapid.Int8()))
	t.Run("int16", roundTrip(rapid.Int16()))
	t.Run("int32", roundTrip(rapid.Int32()))
	t.Run("int64", roundTrip(rapid.Int64()))
	t.Run("uint", roundTrip(rapid.Uint()))
	t.Run("uint8", roundTrip(rapid.Uint8()))
	t.Run("uint16", roundTrip(rapid.Uint16()))
	t.Run("uint32", roundTrip(rapid.Uint32()))
	t.Run("uint64", roundTrip(rapid.Uint64()))
	t.Run("float32", roundTrip(rapid.Float32()))
	t.Run("float64", roundTrip(rapid.Float64()))
	t.Run("a type that encodes itself", roundTrip(rapid.Custom(drawAddr)))
	t.Run("pair", roundTrip(rapid.Custom(func(t *rapid.T) codec.KV[string, int64] {
		return codec.KV[string, int64]{
			Key:   strings.Repeat(rapid.StringN(0, 4, -1).Draw(t, "key"), rapid.SampledFrom([]int{0, 1, 40, 9000}).Draw(t, "times")),
			Value: rapid.Int64().Draw(t, "value"),
		}
	})))
	t.Run("pair of pairs", roundTrip(rapid.Custom(func(t *rapid.T) codec.KV[codec.KV[bool, []byte], netip.Addr] {
		return codec.KV[codec.KV[bool, []byte], netip.Addr]{
			Key: codec.KV[bool, []byte]{
				Key:   rapid.Bool().Draw(t, "bool"),
				Value: rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "bytes"),
			},
			Value: drawAddr(t),
		}
	})))
	t.Run("slice of a codec's values", roundTripOf(codec.OfSlice(codec.Bytes()),
		rapid.SliceOfN(rapid.SliceOfN(rapid.Byte(), 0, 200), 1, 5)))
}

func drawAddr(t *rapid.T) netip.Addr {
	return netip.AddrFrom4([4]byte(rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(t, "address")))
}

func roundTrip[T any](values *rapid.Generator[T]) func(*testing.T) {
	return func(t *testing.T) {
		c, err := codec.For[T]()
		if err != nil {
			t.Fatal(err)
		}
		roundTripOf(c, values)(t)
	}
}

func roundTripOf[T any](c codec.Codec[T], values *rapid.Generator[T]) func(*testing.T) {
	return func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			want := values.Draw(t, "value")
			encoded, err := c.Append([]byte("before"), want)
			if err != nil {
				t.Fatal(err)
			}
			record, ok := bytes.CutPrefix(encoded, []byte("before"))
			if !ok {
				t.Fatalf("Append changed the bytes before it: % x", encoded)
			}
			if c.View != nil && !bytes.Equal(c.View(want), record) {
				t.Fatalf("View = % x, want % x", c.View(want), record)
			}
			got, err := c.Decode(record)
			if err != nil {
				t.Fatal(err)
			}
			if c.Own != nil {
				if got, err = c.Own(got); err != nil {
					t.Fatal(err)
				}
				clear(encoded) // an owned value must not notice
			}
			if !cmp.Equal(want, got, cmp.Comparer(func(a, b netip.Addr) bool { return a == b }),
				cmp.Comparer(bytes.Equal)) {
				t.Fatalf("got %v, want %v", got, want)
			}
		})
	}
}

func TestFloatsKeepTheirBits(t *testing.T) {
	t.Parallel()
	c, err := codec.For[float64]()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []float64{math.Copysign(0, -1), math.Inf(1), math.NaN()} {
		encoded, err := c.Append(nil, want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.Decode(encoded)
		if err != nil || math.Float64bits(got) != math.Float64bits(want) {
			t.Errorf("got %x, %v, want %x", math.Float64bits(got), err, math.Float64bits(want))
		}
	}
}

type broken struct{}

func (broken) AppendBinary([]byte) ([]byte, error) { return nil, errors.New("cannot be encoded") }
func (*broken) UnmarshalBinary([]byte) error       { return errors.New("cannot be decoded") }

func TestErrorsOfAUsersCodecAreKept(t *testing.T) {
	t.Parallel()
	c, err := codec.For[codec.KV[broken, int]]()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Append(nil, codec.KV[broken, int]{}); err == nil || !strings.Contains(err.Error(), "encode codec_test.broken: cannot be encoded") {
		t.Errorf("Append: %v", err)
	}
	if _, err := c.Decode([]byte{0, 0}); !errors.Is(err, codec.ErrCorrupt) || !strings.Contains(err.Error(), "cannot be decoded") {
		t.Errorf("Decode: %v", err)
	}
}

// A decoder must refuse bytes that its encoder does not write. Otherwise two
// encodings of one key would be two keys.
func TestDecodersRefuseOtherEncodings(t *testing.T) {
	t.Parallel()
	for name, check := range map[string]func([]byte) error{
		"int8":   decodeError[int8],
		"int64":  decodeError[int64],
		"uint16": decodeError[uint16],
		"bool":   decodeError[bool],
		"float":  decodeError[float64],
		"pair":   decodeError[codec.KV[[]byte, uint8]],
	} {
		for _, record := range [][]byte{
			{},
			{0x80},
			{0x80, 0x00},
			{1, 2, 3, 4, 5},
			{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f},
			{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 'k'},
		} {
			if err := check(record); !errors.Is(err, codec.ErrCorrupt) {
				t.Errorf("%s from % x: error %v, want ErrCorrupt", name, record, err)
			}
		}
	}
}

func decodeError[T any](record []byte) error {
	c, err := codec.For[T]()
	if err != nil {
		return err
	}
	_, err = c.Decode(record)
	return err
}

// FuzzDecode feeds any bytes to every built-in decoder. No decoder may panic, and
// the encoder must write the same bytes for an accepted value.
func FuzzDecode(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{0x80, 0x80, 0x01})
	f.Add([]byte("\x03the\x02"))
	f.Add([]byte("\x04\x01a\x02b\x00"))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01})
	checks := []func(*testing.T, []byte){
		sameBytes(find[[]byte](f)), sameBytes(find[string](f)), sameBytes(find[bool](f)),
		sameBytes(find[int](f)), sameBytes(find[int8](f)), sameBytes(find[int16](f)), sameBytes(find[int32](f)), sameBytes(find[int64](f)),
		sameBytes(find[uint](f)), sameBytes(find[uint8](f)), sameBytes(find[uint16](f)), sameBytes(find[uint32](f)), sameBytes(find[uint64](f)),
		sameBytes(find[float32](f)), sameBytes(find[float64](f)),
		sameBytes(find[codec.KV[[]byte, int64]](f)),
		sameBytes(find[codec.KV[codec.KV[string, bool], codec.KV[uint16, []byte]]](f)),
	}
	f.Fuzz(func(t *testing.T, record []byte) {
		for _, check := range checks {
			check(t, record)
		}
	})
}

// It would catch a copy that still points to memory of its value: Own copies only what is borrowed.
func TestACopySharesNoMemory(t *testing.T) {
	t.Parallel()
	type value = codec.KV[[]byte, map[string][]int]
	c, err := codec.For[value]()
	if err != nil {
		t.Fatal(err)
	}
	original := value{[]byte("key"), map[string][]int{"a": {1, 2}}}
	copied, err := c.Copy(original)
	if err != nil {
		t.Fatal(err)
	}
	clear(original.Key)
	clear(original.Value["a"])
	original.Value["b"] = nil
	if diff := cmp.Diff(value{[]byte("key"), map[string][]int{"a": {1, 2}}}, copied); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	numbers := codec.Codec[int]{}
	if n, err := numbers.Copy(7); n != 7 || err != nil {
		t.Errorf("a number becomes %d, error %v", n, err)
	}
}
