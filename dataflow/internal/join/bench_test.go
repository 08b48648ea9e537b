package join

import (
	"encoding/binary"
	"strconv"
	"testing"

	"github.com/bobbin-yarn/bobbin/dataflow/internal/spill"
)

// BenchmarkProbe joins records with a build side in memory, which the caches hold or not. Each finds one partner.
func BenchmarkProbe(b *testing.B) {
	for _, builds := range []int{10_000, 200_000, 4_000_000} {
		b.Run(strconv.Itoa(builds), func(b *testing.B) {
			h := newJoinOf(b, false, Config{Budget: newLimit(1 << 30), Dirs: spill.NewDirs(spill.OS{}, spill.S2, b.TempDir()), Output: &counter{}})
			var key [8]byte
			value := make([]byte, 92)
			for n := range builds {
				binary.BigEndian.PutUint64(key[:], uint64(n))
				if err := h.Add(b.Context(), Build, key[:], value); err != nil {
					b.Fatal(err)
				}
			}
			if err := h.End(b.Context(), Build); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				binary.BigEndian.PutUint64(key[:], uint64(n*7919%builds))
				if err := h.Add(b.Context(), Probe, key[:], value); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// limit is a budget of so many bytes.
type limit struct{ free, share int64 }

func newLimit(bytes int64) *limit { return &limit{bytes, bytes} }

func (l *limit) Take(bytes int64) bool {
	if bytes > l.free {
		return false
	}
	l.free -= bytes
	return true
}

func (l *limit) Give(bytes int64) { l.free += bytes }
func (l *limit) Excess() int64    { return 0 }
func (l *limit) Share() int64     { return l.share }

// BenchmarkJoin joins records of 100 bytes with four times as many. The memory holds all of the build side, or an eighth of it.
func BenchmarkJoin(b *testing.B) {
	const builds, probes = 500_000, 2_000_000
	for name, c := range map[string]struct {
		memory int64
		merge  bool
	}{"memory": {128 << 20, false}, "files": {8 << 20, false}, "sorted": {8 << 20, true}} {
		b.Run(name, func(b *testing.B) {
			dirs := spill.NewDirs(spill.OS{}, spill.S2, b.TempDir())
			b.ReportAllocs()
			for b.Loop() {
				pairs := &counter{}
				j := newJoinOf(b, c.merge, Config{Budget: newLimit(c.memory), Dirs: dirs, Output: pairs})
				var key [8]byte
				value := make([]byte, 92)
				for side, count := range []int{builds, probes} {
					for n := range count {
						binary.BigEndian.PutUint64(key[:], uint64(n*7919%builds))
						if err := j.Add(b.Context(), Side(side), key[:], value); err != nil {
							b.Fatal(err)
						}
					}
					if err := j.End(b.Context(), Side(side)); err != nil {
						b.Fatal(err)
					}
				}
				for more := true; more; {
					var err error
					if more, err = j.Step(b.Context()); err != nil {
						b.Fatal(err)
					}
				}
				if err := j.Close(); err != nil || pairs.pairs != probes {
					b.Fatalf("%d pairs, error %v", pairs.pairs, err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(builds+probes), "ns/record")
			b.ReportMetric(float64(dirs.Spilled())/float64(b.N)/(100*(builds+probes)), "spilled/byte")
		})
	}
}
