package codec_test

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"testing"

	"github.com/bobbin-yarn/bobbin/dataflow/codec"
)

type reading struct {
	Sensor int64
	Value  float64
	Valid  bool
}

type measured struct {
	Name  string
	Count int64
	Sum   float64
}

// Each sub-benchmark encodes and decodes one value, beside the standard library's
// encodings. Those of gob keep their stream, so that it describes the type once.
func BenchmarkEncodings(b *testing.B) {
	b.Run("struct of numbers", beside(reading{1234567, 20.5, true}))
	b.Run("struct with a string", beside(measured{"temperature", 17, 350.25}))
	b.Run("pair", beside(codec.KV[string, int64]{Key: "temperature", Value: 17}))
	b.Run("100 structs", beside(repeat(reading{1234567, 20.5, true}, 100)))
	b.Run("100 structs with strings", beside(repeat(measured{"temperature", 17, 350.25}, 100)))
	b.Run("100 numbers", beside(repeat(int64(1234567), 100)))
	b.Run("map of 10", beside(map[string]int64{"a": 1, "b": 2, "c": 3, "d": 4, "e": 5, "f": 6, "g": 7, "h": 8, "i": 9, "j": 10}))
}

func repeat[T any](v T, n int) []T {
	all := make([]T, n)
	for i := range all {
		all[i] = v
	}
	return all
}

func beside[T any](v T) func(*testing.B) {
	return func(b *testing.B) {
		b.Run("codec", func(b *testing.B) { measure(b, find[T](b), v) })
		if c, err := codec.KeyFor[T](); err == nil {
			b.Run("key", func(b *testing.B) { measure(b, c, v) })
		}
		b.Run("json", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				record, err := json.Marshal(v)
				var back T
				if err == nil {
					err = json.Unmarshal(record, &back)
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("gob", func(b *testing.B) {
			b.ReportAllocs()
			var stream bytes.Buffer
			encoder, decoder := gob.NewEncoder(&stream), gob.NewDecoder(&stream)
			for b.Loop() {
				err := encoder.Encode(v)
				var back T
				if err == nil {
					err = decoder.Decode(&back)
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func measure[T any](b *testing.B, c codec.Codec[T], v T) {
	b.ReportAllocs()
	var record []byte
	for b.Loop() {
		var err error
		if record, err = c.Append(record[:0], v); err == nil {
			_, err = c.Decode(record)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(record)), "B/record")
}
