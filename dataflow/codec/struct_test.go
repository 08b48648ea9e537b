package codec_test

import (
	"errors"
	"net/netip"
	"net/url"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/bobbin-yarn/bobbin/dataflow/codec"
)

// order has a field of each sort. base is unexported, but its field is not.
type order struct {
	base
	Customer word
	At       time.Time
	Lines    []orderLine
	Index    map[word]*orderLine
	Hosts    []netip.Addr
	Link     url.URL
	Note     *structpb.Struct
	Pair     codec.KV[string, codec.KV[int, []byte]]
	Tree     tree
	Parent   *order
	Flags    [3]bool
	Ratio    float32
	Nothing  struct{}
	Nothings []struct{}
}

type base struct{ ID uint64 }

type word string

type orderLine struct {
	Item     []byte
	Quantity int16
	Took     time.Duration
}

type tree []tree

func full(t testing.TB) order {
	note, err := structpb.NewStruct(map[string]any{"a": 1.0, "b": "two", "c": nil})
	if err != nil {
		t.Fatal(err)
	}
	first := orderLine{Item: []byte("tea"), Quantity: -2, Took: time.Minute}
	return order{
		base:     base{7},
		Customer: "ann",
		At:       time.Date(2026, 11, 30, 12, 0, 0, 5, time.FixedZone("", -1800)),
		Lines:    []orderLine{first, {}, {Item: []byte{}}},
		Index:    map[word]*orderLine{"tea": &first, "": nil},
		Hosts:    []netip.Addr{netip.MustParseAddr("10.0.0.1"), {}},
		Link:     url.URL{Scheme: "http", Host: "a"},
		Note:     note,
		Pair:     codec.KV[string, codec.KV[int, []byte]]{Key: "k", Value: codec.KV[int, []byte]{Key: -1, Value: []byte("v")}},
		Tree:     tree{{}, nil, {{{}}}},
		Parent:   &order{Flags: [3]bool{true, false, true}, Index: map[word]*orderLine{}, Lines: []orderLine{}},
		Ratio:    0.1,
		Nothings: make([]struct{}, 3),
	}
}

func equalOrders(a, b order) string {
	return cmp.Diff(a, b, cmp.AllowUnexported(order{}), cmp.Comparer(func(a, b netip.Addr) bool { return a == b }),
		cmp.Comparer(func(a, b *structpb.Struct) bool { return proto.Equal(a, b) && (a == nil) == (b == nil) }))
}

func find[T any](t testing.TB) codec.Codec[T] {
	c, err := codec.For[T]()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func findKey[T any](t testing.TB) codec.Codec[T] {
	c, err := codec.KeyFor[T]()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func through[T any](t testing.TB, c codec.Codec[T], v T) T {
	encoded, err := c.Append([]byte("before"), v)
	if err != nil {
		t.Fatal(err)
	}
	back, err := c.Decode(encoded[len("before"):])
	if err != nil {
		t.Fatal(err)
	}
	clear(encoded) // the value must share no memory with it
	return back
}

// Catches a part that a struct loses, mixes up with its neighbour, or leaves in the
// memory of the record.
func TestAStructOfAllSortsComesBack(t *testing.T) {
	t.Parallel()
	for _, want := range []order{full(t), {}} {
		if diff := equalOrders(want, through(t, find[order](t), want)); diff != "" {
			t.Error(diff)
		}
	}
}

// Nil and empty are different values. A pointer to nothing is not nil.
func TestNilAndEmptyStayDifferent(t *testing.T) {
	t.Parallel()
	type all struct {
		Bytes  []byte
		Words  []string
		Table  map[int]int
		Number *int
		Twice  **int
	}
	var none *int
	for _, want := range []all{{}, {[]byte{}, []string{}, map[int]int{}, new(int), &none}} {
		if got := through(t, find[all](t), want); !reflect.DeepEqual(got, want) {
			t.Errorf("got %#v, want %#v", got, want)
		}
	}
	if got := through(t, find[*structpb.Struct](t), nil); got != nil {
		t.Errorf("got %v for a nil message", got)
	}
	if got := through(t, find[*structpb.Struct](t), &structpb.Struct{}); got == nil {
		t.Error("got nil for an empty message")
	}
}

type (
	hidden   struct{ Lines []hiddenLine }
	holder   struct{ Done chan int }
	anything struct{ Values map[string][2]any }
	clock    struct {
		time.Time
		Zone string
	}
	keyed struct {
		codec.KV[string, int]
		Extra int
	}
	hiddenLine     struct{ price int }
	generic[T any] struct{ f T }
)

var _ = []any{hiddenLine{price: 1}, generic[int]{f: 1}} // the fields have no other use

// An error must lead to the field, whatever lies between.
func TestTypesWithoutACodecAreNamedWithTheRemedy(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		"type codec_test.hidden: hidden.Lines[].price: unexported":                         refusal[hidden](),
		"type []*codec_test.hiddenLine: [].price: unexported":                              refusal[[]*hiddenLine](),
		"type map[codec_test.hiddenLine]int: [key].price: unexported":                      refusal[map[hiddenLine]int](),
		"type codec_test.holder: holder.Done: values of kind chan cannot travel":           refusal[holder](),
		"type codec_test.anything: anything.Values[][]: values of kind interface":          refusal[codec.KV[string, anything]](),
		"type interface {}: values of kind interface":                                      refusal[any](),
		"type func(): values of kind func":                                                 refusal[func()](),
		"type codec_test.generic[time.Time]: generic.f: unexported":                        refusal[generic[time.Time]](),
		"type codec_test.clock: clock.Time: the methods of this embedded field":            refusal[clock](),
		"type struct { C codec_test.clock }: .C.Time: the methods of this embedded field":  refusal[struct{ C clock }](),
		"type codec_test.tables: tables.Index: a map cannot be part of a key: use a sorte": keyRefusal[tables](),
	} {
		if !errors.Is(err, codec.ErrNoCodec) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "WithCodec") {
			t.Errorf("error %v, want ErrNoCodec with %q and the remedy", err, want)
		}
	}
}

type tables struct{ Index map[string]int }

func refusal[T any]() error {
	_, err := codec.For[T]()
	return err
}

func keyRefusal[T any]() error {
	_, err := codec.KeyFor[T]()
	return err
}

// A struct has the methods of a KV that it embeds, and would be taken for one.
func TestAStructThatEmbedsAKVIsNone(t *testing.T) {
	t.Parallel()
	want := keyed{codec.KV[string, int]{Key: "a", Value: 1}, 2}
	if got := through(t, find[keyed](t), want); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := through(t, find[*codec.KV[string, int]](t), &want.KV); *got != want.KV {
		t.Errorf("got %v, want %v", got, want.KV)
	}
}

// A named type has the codec of its kind, and as a whole element also its views.
func TestNamedTypesAreEncodedAsTheirKind(t *testing.T) {
	t.Parallel()
	for _, c := range []codec.Codec[word]{find[word](t), findKey[word](t)} {
		if string(c.View("ann")) != "ann" || c.Name != "string" || through(t, c, "ann") != "ann" {
			t.Errorf("%s: view %q, element %q", c.Name, c.View("ann"), through(t, c, "ann"))
		}
	}
	if got := through(t, find[time.Duration](t), -time.Hour); got != -time.Hour {
		t.Errorf("got %v", got)
	}
}

// A value that contains itself must not exhaust the stack, neither by Append nor by
// Size. The deepest value that Append accepts must come back.
func TestDepthIsBounded(t *testing.T) {
	t.Parallel()
	type node struct{ Next *node }
	nodes := find[node](t)
	loop := &node{}
	loop.Next = loop
	if _, err := nodes.Append(nil, *loop); !errors.Is(err, codec.ErrTooDeep) {
		t.Errorf("a loop: error %v, want ErrTooDeep", err)
	}
	if size := nodes.Size(*loop); size <= 0 {
		t.Errorf("size %d of a loop", size)
	}
	self := tree{nil}
	self[0] = self
	if _, err := find[tree](t).Append(nil, self); !errors.Is(err, codec.ErrTooDeep) {
		t.Errorf("a slice of itself: error %v, want ErrTooDeep", err)
	}
	var deep node
	for range 1000 {
		deep = node{&node{deep.Next}}
	}
	if got := through(t, nodes, deep); !reflect.DeepEqual(got, deep) {
		t.Error("the deepest value did not come back")
	}
	record := append([]byte(strings.Repeat("\x01", 1001)), 0)
	if _, err := nodes.Decode(record); !errors.Is(err, codec.ErrCorrupt) || !errors.Is(err, codec.ErrTooDeep) {
		t.Errorf("a deep record: error %v, want ErrCorrupt and ErrTooDeep", err)
	}
}

// large encodes itself in one byte.
type large [1 << 20]byte

func (*large) AppendBinary(dst []byte) ([]byte, error) { return append(dst, 1), nil }
func (*large) UnmarshalBinary([]byte) error            { return errors.New("no such value") }

// Each slice of the first record announces as many elements as it has bytes left. Memory
// for all of them would be 24 MB for each of 1000 levels.
func TestMemoryDoesNotGrowWithAnnouncedLengths(t *testing.T) { //nolint:paralleltest // it counts the memory of the process
	announced := "\xc0\x84\x3d"
	content := strings.Repeat("\x00", 1<<20)
	if grown := memory(t, find[tree](t), strings.Repeat(announced, 900)+content); grown > 128<<20 {
		t.Errorf("slices of slices took %d MiB", grown>>20)
	}
	if grown := memory(t, find[[]large](t), announced+content); grown > 128<<20 {
		t.Errorf("a slice of large elements took %d MiB", grown>>20)
	}
}

// memory returns the bytes that a decoder allocates for a corrupt record.
func memory[T any](t *testing.T, c codec.Codec[T], record string) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := c.Decode([]byte(record)); !errors.Is(err, codec.ErrCorrupt) {
		t.Errorf("error %v, want ErrCorrupt", err)
	}
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// A reduction keeps what Own returns, after the line is overwritten from which an
// element was made.
func TestOwnedStructsShareNoBytes(t *testing.T) {
	t.Parallel()
	c := find[orderLine](t)
	read := []byte("tea")
	owned, err := c.Own(orderLine{Item: read})
	clear(read)
	if err != nil || string(owned.Item) != "tea" {
		t.Errorf("got %q, %v", owned.Item, err)
	}
	if own := find[line](t).Own; own != nil {
		t.Error("a type without []byte makes copies")
	}
}

// Reductions bound their memory by Size.
func TestSizeCountsWhatAValueRefersTo(t *testing.T) {
	t.Parallel()
	for name, sizes := range map[string][2]int64{
		"string":  {find[orderText](t).Size(orderText{"abc"}), 3},
		"bytes":   {find[orderLine](t).Size(orderLine{Item: make([]byte, 3, 10)}), 10},
		"strings": {find[[]string](t).Size([]string{"abc", ""}), 3 + 2*16},
		"pointer": {find[*[4]int64](t).Size(&[4]int64{}), 32},
		"map":     {find[map[int64]string](t).Size(map[int64]string{1: "abc"}), 48 + 2*24 + 3},
		"list of itself": {
			find[struct{ Root branches }](t).Size(struct{ Root branches }{branches{{Kids: branches{{}, {}}}}}), (1 + 2) * 32,
		},
		"array in itself": {
			find[struct{ Root pairs }](t).Size(struct{ Root pairs }{pairs{{Kids: [2]pairs{{{}, {}}, nil}}}}), (1 + 2) * 56,
		},
	} {
		if sizes[0] != sizes[1] {
			t.Errorf("%s: size %d, want %d", name, sizes[0], sizes[1])
		}
	}
	if find[codec.KV[int, [2]float64]](t).Size != nil || find[sample](t).Size != nil {
		t.Error("a type without pointers has a size")
	}
}

// time.Time's own encoding refuses the offset of London before 1847.
func TestATimeMayHaveAnyOffset(t *testing.T) {
	t.Parallel()
	c := find[time.Time](t)
	want := time.Date(1800, 1, 1, 0, 0, 0, 0, time.FixedZone("LMT", -75))
	record, err := c.Append(nil, want)
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.Decode(record)
	if _, offset := got.Zone(); err != nil || !got.Equal(want) || offset != -75 {
		t.Errorf("%v comes back as %v, error %v", want, got, err)
	}
}

type orderText struct{ Text string }

type branches []struct {
	ID   int64
	Kids branches
}

type pairs []struct {
	ID   int64
	Kids [2]pairs
}

type sample struct {
	ID    int64
	At    [2]float64
	Valid bool
	Kind  struct{ A, B uint8 }
}

// Catches values that escape to the heap on their way through a codec.
func TestACodecAllocatesNothingForFixedSizes(t *testing.T) { //nolint:paralleltest // AllocsPerRun counts the allocations of the process
	allocations := map[string][2]float64{
		"struct": {allocs(t, find[sample](t), sample{ID: 1 << 40}), 0},
		"key":    {allocs(t, findKey[sample](t), sample{ID: 1 << 40}), 0},
		"pair":   {allocs(t, find[codec.KV[sample, time.Duration]](t), codec.KV[sample, time.Duration]{}), 0},
		"array":  {allocs(t, find[[4]sample](t), [4]sample{}), 0},
		// One allocation for memory that the value refers to.
		"string in a struct":     {allocs(t, find[orderText](t), orderText{"abc"}), 1},
		"slice without pointers": {allocs(t, find[[]sample](t), make([]sample, 9)), 1},
		"numbers":                {allocs(t, find[[]int64](t), make([]int64, 9)), 1},
		"bytes in a struct":      {allocs(t, find[orderLine](t), orderLine{Item: []byte("abc")}), 1},
		"strings":                {allocs(t, find[[]string](t), []string{"", ""}), 1},
		"pointer":                {allocs(t, find[*sample](t), &sample{}), 1},
		// Two of the map, and five for the functions of its entries. Reflection takes seven more.
		"map":                          {allocs(t, find[map[string]int64](t), map[string]int64{"": 1}), 7},
		"map by reflection":            {allocs(t, find[map[string]label](t), map[string]label{"": 1}), 14},
		"time in UTC":                  {allocs(t, find[struct{ At time.Time }](t), struct{ At time.Time }{time.Unix(1, 2).UTC()}), 0},
		"time in a zone of its offset": {allocs(t, find[struct{ At time.Time }](t), struct{ At time.Time }{time.Unix(1, 2)}), 0},
		"time in another zone":         {allocs(t, find[struct{ At time.Time }](t), struct{ At time.Time }{time.Unix(1, 2).In(time.FixedZone("", 5*3600+1800))}), 0},
	}
	for name, a := range allocations {
		if a[0] != a[1] {
			t.Errorf("%s: %v allocations, want %v", name, a[0], a[1])
		}
	}
}

func allocs[T any](t *testing.T, c codec.Codec[T], v T) float64 {
	var record []byte
	return testing.AllocsPerRun(100, func() {
		var err error
		if record, err = c.Append(record[:0], v); err == nil {
			_, err = c.Decode(record)
		}
		if err != nil {
			t.Fatal(err)
		}
	})
}

// The second entry of a key would replace the first one without a word.
func TestAMapWithAKeyTwiceIsCorrupt(t *testing.T) {
	t.Parallel()
	if m, err := find[map[string]bool](t).Decode([]byte("\x03\x01a\x01\x01a\x00")); !errors.Is(err, codec.ErrCorrupt) {
		t.Errorf("got %v, %v, want ErrCorrupt", m, err)
	}
}

// label makes a map that is none of the common types.
type label int64
