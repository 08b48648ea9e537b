package partition

import (
	"errors"
	"io"
	"path/filepath"
	"testing"
)

// BenchmarkWrite writes a file of 100-byte records to 2,000 subpartitions, in memory of 4 MiB, 16 MiB, and without sorting.
func BenchmarkWrite(b *testing.B) {
	for _, c := range []struct {
		name string
		Config
	}{
		{"4 MiB", Config{Subpartitions: 2000, Memory: 4 << 20}},
		{"16 MiB", Config{Subpartitions: 2000, Memory: 16 << 20}},
		{"16 MiB, S2", Config{Subpartitions: 2000, Memory: 16 << 20, Compress: true}},
		{"one subpartition", Config{Subpartitions: 1}},
	} {
		b.Run(c.name, func(b *testing.B) {
			c.Path = filepath.Join(b.TempDir(), "p")
			b.ReportAllocs()
			for b.Loop() {
				writeMany(b, c.Config, 256<<20)
			}
			b.SetBytes(256 << 20)
		})
	}
}

// writeMany writes so many bytes of 100-byte records.
func writeMany(b *testing.B, c Config, bytes int) {
	b.Helper()
	record := make([]byte, 100)
	w, err := Create(c)
	if err != nil {
		b.Fatal(err)
	}
	key := uint64(1)
	for range bytes / len(record) {
		key = key*6364136223846793005 + 1442695040888963407
		for i := range 8 {
			record[i*7] = byte(key >> (8 * i))
		}
		if err := w.Append(int(key>>33)%c.Subpartitions, record); err != nil {
			b.Fatal(err)
		}
	}
	if _, err := w.Finish(); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkRead reads subpartitions of a file of 256 MiB that was written in 16 MiB of memory.
func BenchmarkRead(b *testing.B) {
	c := Config{Path: filepath.Join(b.TempDir(), "p"), Subpartitions: 2000, Memory: 16 << 20}
	writeMany(b, c, 256<<20)
	f, err := Open(c.Path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	var room Room
	into := make([]byte, MaxBlock)
	total, next := 0, 0
	b.ReportAllocs()
	for b.Loop() {
		cursor, err := f.Cursor(next % c.Subpartitions)
		next++
		for err == nil {
			var n int
			n, err = f.Read(&cursor, into, &room)
			total += n
		}
		if !errors.Is(err, io.EOF) {
			b.Fatal(err)
		}
	}
	b.SetBytes(int64(total / next))
}
