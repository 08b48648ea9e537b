package partition

import (
	"testing"

	"pgregory.net/rapid"
)

// TestTheSorterKeepsItsBudget would catch memory of earlier rounds that nobody has counted: of many short records first, whose index
// and order stay, and then of long ones, whose pages come on top.
func TestTheSorterKeepsItsBudget(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newSorter(2, rapid.IntRange(2*pageSize, 20*pageSize).Draw(t, "budget"))
		for range rapid.IntRange(1, 5).Draw(t, "rounds") {
			record := make([]byte, rapid.SampledFrom([]int{0, 10, 1000, 50_000}).Draw(t, "size"))
			for s.add(1, record) {
				if held := memoryOf(len(s.pages), len(s.index), max(s.count, cap(s.order))); held > s.budget {
					t.Fatalf("it has %d bytes, and its budget is %d", held, s.budget)
				}
			}
			s.sort()
			if held := memoryOf(len(s.pages), len(s.index), cap(s.order)); held > s.budget {
				t.Fatalf("sorted, it has %d bytes, and its budget is %d", held, s.budget)
			}
			s.reset()
		}
	})
}
