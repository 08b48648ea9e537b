package extsort

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/bobbin-yarn/bobbin/dataflow/internal/spill"
)

// BenchmarkSortFiles sorts 1 GB of records in the system's files, with a budget of 64 MB.
func BenchmarkSortFiles(b *testing.B) {
	for _, c := range []struct {
		name        string
		compression spill.Compression
		value       int
		key         func(*rand.Rand, []byte) []byte
	}{
		{"random/S2", spill.S2, 90, randomKey},
		{"random/plain", spill.None, 90, randomKey},
		{"skewed/S2", spill.S2, 90, skewedKey},
		{"small/S2", spill.S2, 6, randomKey},
	} {
		b.Run(c.name, func(b *testing.B) {
			value := make([]byte, c.value)
			records := 1_000_000_000 / (10 + c.value)
			dirs := spill.NewDirs(spill.OS{}, c.compression, b.TempDir())
			b.ReportAllocs()
			for b.Loop() {
				random := rand.New(rand.NewPCG(1, 2))
				s, err := New(Config{Budget: &limit{free: 64_000_000}, Dirs: dirs})
				if err != nil {
					b.Fatal(err)
				}
				key := make([]byte, 0, 10)
				for range records {
					for i := 0; i+8 <= len(value)/2; i += 8 { // compresses to one half
						binary.LittleEndian.PutUint64(value[i:], random.Uint64())
					}
					key = c.key(random, key[:0])
					if err := s.Add(b.Context(), key, value); err != nil {
						b.Fatal(err)
					}
				}
				drain(b, s)
			}
			bytes := float64(records) * float64(10+c.value)
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*records), "ns/record")
			b.ReportMetric(bytes*float64(b.N)/1e6/b.Elapsed().Seconds(), "MB/s")
			b.ReportMetric(float64(dirs.Spilled())/float64(b.N)/bytes, "spilled/byte")
		})
	}
}

// BenchmarkSortMemory sorts what fits into a budget of 64 MB.
func BenchmarkSortMemory(b *testing.B) {
	for name, key := range map[string]func(*rand.Rand, []byte) []byte{"random": randomKey, "skewed": skewedKey, "long": longKey} {
		for _, size := range []int{16, 100} {
			b.Run(fmt.Sprintf("%s/%d", name, size), func(b *testing.B) {
				value := make([]byte, size-10)
				records := 36_000_000 / (size + 18)
				random := rand.New(rand.NewPCG(1, 2))
				s, err := New(Config{Budget: &limit{free: 1 << 30}})
				if err != nil {
					b.Fatal(err)
				}
				for range records {
					if !s.arena.add(key(random, nil), value) {
						b.Fatal("no memory")
					}
				}
				unsorted := append([]entry(nil), s.arena.index...)
				b.ReportAllocs()
				for b.Loop() {
					b.StopTimer()
					copy(s.arena.index, unsorted)
					b.StartTimer()
					s.arena.sort()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*records), "ns/record")
			})
		}
	}
}

func drain(b *testing.B, s *Sorter) {
	b.Helper()
	out, err := s.Sort(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	for err == nil {
		_, _, err = out.Next()
	}
	if !errors.Is(err, io.EOF) {
		b.Fatal(err)
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
}

func randomKey(r *rand.Rand, key []byte) []byte {
	key = binary.BigEndian.AppendUint64(key, r.Uint64())
	return binary.BigEndian.AppendUint16(key, uint16(r.Uint32()))
}

// skewedKey is a word; the first hundred words are more than half of all.
func skewedKey(r *rand.Rand, key []byte) []byte {
	return fmt.Appendf(key, "word-%d", int(1/(r.Float64()+1e-5)))
}

// longKey has a long common beginning.
func longKey(r *rand.Rand, key []byte) []byte {
	return fmt.Appendf(key, "https://www.example.org/catalog/%d", r.Uint32())
}
