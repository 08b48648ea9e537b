package randomjobs

import (
	"cmp"
	"hash/fnv"
	"strconv"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/dataflow"
)

// Record is an element as the operators' functions see it, whatever the type of its stream. K is its key.
type Record struct {
	K, N int64
	S    string
}

// text is a record as text, which parse reads.
func (r Record) text() string {
	return strconv.FormatInt(r.K, 10) + " " + strconv.FormatInt(r.N, 10) + " " + r.S
}

// parse reads a record's text. It panics if there is none: an element was damaged.
func parse(text string) Record {
	k, rest, _ := strings.Cut(text, " ")
	n, s, found := strings.Cut(rest, " ")
	key, err := strconv.ParseInt(k, 10, 64)
	if err != nil || !found {
		panic("randomjobs: no record: " + strconv.Quote(shorter(text)))
	}
	number, err := strconv.ParseInt(n, 10, 64)
	if err != nil {
		panic("randomjobs: no record: " + strconv.Quote(shorter(text)))
	}
	return Record{key, number, s}
}

// compare is a total order of records.
func compare(a, b Record) int {
	return cmp.Or(cmp.Compare(a.N, b.N), cmp.Compare(a.S, b.S), cmp.Compare(a.K, b.K))
}

// hash mixes a record with a salt.
func (r Record) hash(salt uint64) uint64 {
	h := fnv.New64a()
	_, _ = h.Write(strconv.AppendUint(nil, salt, 36)) // a hash never fails
	_, _ = h.Write([]byte(r.text()))
	x := h.Sum64()
	return x ^ x>>29
}

// shape is a type of elements. Some shapes keep only a part of a record.
type shape[T any] struct {
	name     string
	to       func(Record) T
	from     func(T) Record
	spoil    func(T) // overwrites an element that a function owns; nil if its memory may be shared
	side     dataflow.OutputTag[T]
	rejected dataflow.OutputTag[dataflow.Rejected[T]]
}

func newShape[T any](name string, to func(Record) T, from func(T) Record) *shape[T] {
	return &shape[T]{
		name: name, to: to, from: from, spoil: func(T) {},
		side: dataflow.NewOutputTag[T]("side"), rejected: dataflow.NewOutputTag[dataflow.Rejected[T]]("rejected"),
	}
}

// normal is what is left of a record in this shape.
func (s *shape[T]) normal(r Record) Record { return s.from(s.to(r)) }

// flat is a struct of basic types.
type flat struct {
	Key    int32
	Number int64
	Text   string
}

// nested is a struct with everything that a codec knows.
type nested struct {
	At    time.Time // the key, in seconds
	Inner *flat     // has the number; nil for 0
	Words []string
	Spare map[string][]byte
	Bits  [2]bool
}

func toNested(r Record) nested {
	v := nested{At: time.Unix(r.K, 0).UTC(), Words: strings.Split(r.S, "e"), Bits: [2]bool{r.N > 0, r.K > 0}}
	if r.N != 0 {
		v.Inner = &flat{Number: r.N}
		v.Spare = map[string][]byte{"a": []byte(strconv.FormatInt(r.N, 3)), "": nil}
	}
	return v
}

func fromNested(v nested) Record {
	r := Record{K: v.At.Unix(), S: strings.Join(v.Words, "e")}
	if v.Inner != nil {
		r.N = v.Inner.Number
	}
	if v.Bits != [2]bool{r.N > 0, r.K > 0} || r.N != 0 && string(v.Spare["a"]) != strconv.FormatInt(r.N, 3) {
		panic("randomjobs: a nested element was damaged")
	}
	return r
}

// The shapes.
//
//nolint:gochecknoglobals // constants
var (
	numbers = newShape("int64", func(r Record) int64 { return r.N }, func(n int64) Record { return Record{K: n % 17, N: n} })
	texts   = newShape("string", Record.text, parse)
	blobs   = newBlobs()
	flats   = newShape("struct",
		func(r Record) flat { return flat{int32(r.K), r.N, r.S} },
		func(v flat) Record { return Record{int64(v.Key), v.Number, v.Text} })
	nesteds = newShape("nested", toNested, fromNested)

	shapes = map[string]shaper{numbers.name: numbers, texts.name: texts, blobs.name: blobs, flats.name: flats, nesteds.name: nesteds}
	// shapeNames is in the order in which the generator knows them.
	shapeNames = []string{numbers.name, texts.name, blobs.name, flats.name, nesteds.name}
)

func newBlobs() *shape[[]byte] {
	s := newShape("[]byte", func(r Record) []byte { return []byte(r.text()) }, func(v []byte) Record { return parse(string(v)) })
	s.spoil = func(v []byte) {
		for i := range v {
			v[i] = '?'
		}
	}
	return s
}

// keys is a type of keys.
type keys[K any] struct {
	of   func(int64) K
	back func(K) int64
}

type pairKey struct {
	Name string
	Part int16
}

// The types of keys.
//
//nolint:gochecknoglobals // constants
var (
	intKeys  = keys[int64]{func(k int64) int64 { return k }, func(k int64) int64 { return k }}
	textKeys = keys[string]{textKey, func(k string) int64 { return int64(len(k)) - 100 }}
	byteKeys = keys[[]byte]{func(k int64) []byte { return []byte(textKey(k)) }, func(k []byte) int64 { return int64(len(k)) - 100 }}
	// longKeys have some ten thousand bytes, so that a few keys exceed the least memory.
	longKeys = keys[string]{
		func(k int64) string { return strings.Repeat(textKey(k), longKey) },
		func(k string) int64 { return int64(len(k)/longKey) - 100 },
	}
	pairKeys = keys[pairKey]{
		func(k int64) pairKey { return pairKey{strings.Repeat("x", int(k&3)), int16(k >> 2)} },
		func(k pairKey) int64 { return int64(k.Part)<<2 | int64(len(k.Name)) },
	}

	keyTypes = []string{"int64", "string", "[]byte", "struct"}
)

// longText is the type of longKeys. It is not among keyTypes: with each element, a key travels over the network.
const longText = "long string"

// longKey is how many times a long key has the text of its key.
const longKey = 400

// maxKey bounds the absolute values of keys, so that each has a text.
const maxKey = 99

// textKey has a length that says which key it is.
func textKey(k int64) string { return strings.Repeat("k", int(k)+100) }

// shorter is the beginning of a text.
func shorter(text string) string { return text[:min(len(text), 80)] }
