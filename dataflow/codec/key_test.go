package codec_test

import (
	"bytes"
	"cmp"
	"math"
	"net/netip"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/wrapperspb"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/dataflow/codec"
)

// Catches an order that holds only for the few values of the random types.
func TestKeysCompareAsTheirValues(t *testing.T) {
	t.Parallel()
	t.Run("int", sameOrder(rapid.Int(), cmp.Compare))
	t.Run("int8", sameOrder(rapid.Int8(), cmp.Compare))
	t.Run("int16", sameOrder(rapid.Int16(), cmp.Compare))
	t.Run("int32", sameOrder(rapid.Int32(), cmp.Compare))
	t.Run("int64", sameOrder(rapid.Int64(), cmp.Compare))
	t.Run("uint", sameOrder(rapid.Uint(), cmp.Compare))
	t.Run("uint8", sameOrder(rapid.Uint8(), cmp.Compare))
	t.Run("uint16", sameOrder(rapid.Uint16(), cmp.Compare))
	t.Run("uint32", sameOrder(rapid.Uint32(), cmp.Compare))
	t.Run("uint64", sameOrder(rapid.Uint64(), cmp.Compare))
	t.Run("float32", sameOrder(rapid.OneOf(rapid.Float32(), rapid.Map(rapid.Uint32(), math.Float32frombits)), cmp.Compare))
	t.Run("float64", sameOrder(rapid.OneOf(rapid.Float64(), rapid.Map(rapid.Uint64(), math.Float64frombits)), cmp.Compare))
	t.Run("string", sameOrder(rapid.String(), cmp.Compare))
	t.Run("bytes", sameOrder(rapid.SliceOf(rapid.Byte()), bytes.Compare))
	t.Run("time", sameOrder(rapid.Custom(func(t *rapid.T) time.Time {
		return time.Unix(rapid.Int64().Draw(t, "seconds"), rapid.Int64().Draw(t, "nanoseconds"))
	}), time.Time.Compare))
	t.Run("pair", sameOrder(rapid.Custom(func(t *rapid.T) codec.KV[string, int] {
		letters := rapid.StringOfN(rapid.SampledFrom([]rune{0, 1, 'a'}), 0, 3, -1)
		return codec.KV[string, int]{Key: letters.Draw(t, "key"), Value: rapid.Int().Draw(t, "value")}
	}), func(a, b codec.KV[string, int]) int {
		return cmp.Or(strings.Compare(a.Key, b.Key), cmp.Compare(a.Value, b.Value))
	}))
}

func sameOrder[K any](keys *rapid.Generator[K], compare func(a, b K) int) func(*testing.T) {
	return func(t *testing.T) {
		t.Run("ascending", hasOrder(findKey[K](t), keys, compare))
		t.Run("descending", hasOrder(codec.Reversed(findKey[K](t)), keys, func(a, b K) int { return compare(b, a) }))
	}
}

func hasOrder[K any](c codec.Codec[K], keys *rapid.Generator[K], compare func(a, b K) int) func(*testing.T) {
	return func(t *testing.T) {
		t.Parallel()
		if !c.Ordered {
			t.Fatalf("%s is not ordered", c.Name)
		}
		rapid.Check(t, func(t *rapid.T) {
			a, b := keys.Draw(t, "a"), keys.Draw(t, "b")
			encodedA, errA := c.Append(nil, a)
			encodedB, errB := c.Append(nil, b)
			if errA != nil || errB != nil {
				t.Fatal(errA, errB)
			}
			if got, want := bytes.Compare(encodedA, encodedB), compare(a, b); got != want {
				t.Fatalf("% x and % x compare as %d, want %d", encodedA, encodedB, got, want)
			}
			if back, err := c.Decode(encodedA); err != nil || compare(back, a) != 0 {
				t.Fatalf("got %v, %v, want %v", back, err, a)
			}
		})
	}
}

// Keys that Go takes for equal must be one key. Otherwise a group falls apart.
func TestEqualKeysAreOneKey(t *testing.T) {
	t.Parallel()
	negative := math.Float64frombits(math.Float64bits(math.NaN()) | 1<<63)
	moment := time.Now()
	for name, same := range map[string]bool{
		"zeros":              oneKey(t, 0, math.Copysign(0, -1)),
		"NaNs":               oneKey(t, math.NaN(), negative),
		"NaNs of 32 bits":    oneKey(t, float32(math.NaN()), float32(negative)),
		"zones and clocks":   oneKey(t, moment, moment.Round(0).In(time.FixedZone("", 3600))),
		"nil and empty":      oneKey(t, []int(nil), []int{}),
		"nil and no bytes":   oneKey(t, [][]byte{nil}, [][]byte{{}}),
		"pointers":           oneKey(t, &point{1, 2}, &point{1, 2}),
		"encodes itself":     oneKey(t, netip.MustParseAddr("::1"), netip.MustParseAddr("::1")),
		"protobuf, in order": oneKey(t, wrapperspb.String("a"), wrapperspb.String("a")),
	} {
		if !same {
			t.Errorf("%s: two keys", name)
		}
	}
}

type point struct{ X, Y int }

func oneKey[K any](t *testing.T, a, b K) bool {
	c := findKey[K](t)
	encodedA, errA := c.Append(nil, a)
	encodedB, errB := c.Append(nil, b)
	if errA != nil || errB != nil {
		t.Fatal(errA, errB)
	}
	return bytes.Equal(encodedA, encodedB)
}

// An operator that sorts must be able to refuse keys without an order, also if only
// one field has none.
func TestOrderedSaysWhetherEncodingsCompare(t *testing.T) {
	t.Parallel()
	type host struct{ Addr netip.Addr }
	for name, got := range map[string]bool{
		"encodes itself":      findKey[netip.Addr](t).Ordered,
		"within a struct":     findKey[host](t).Ordered,
		"within a slice":      findKey[[]host](t).Ordered,
		"within a pair":       findKey[codec.KV[int, host]](t).Ordered,
		"protobuf":            findKey[*wrapperspb.StringValue](t).Ordered,
		"element, no key":     find[int](t).Ordered,
		"pair as an element":  find[codec.KV[string, string]](t).Ordered,
		"struct, not as key":  find[point](t).Ordered,
		"float as an element": find[float64](t).Ordered,
	} {
		if got {
			t.Errorf("%s: ordered", name)
		}
	}
	if !findKey[point](t).Ordered || !find[string](t).Ordered || !findKey[time.Time](t).Ordered {
		t.Error("not ordered")
	}
}
