package dataflow_test

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/dataflow"
	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest"
)

// sale is an element with pointers.
type sale struct {
	City, Item string
	Cents      int64
}

func cityOf(s sale) string { return s.City }
func centsOf(s sale) int64 { return s.Cents }

// parseSale reads a line such as "a pear 12".
func parseSale(line string) sale {
	fields := strings.Fields(line)
	return sale{fields[0], fields[1], parse([]byte(fields[2]))}
}

func readSales(p *dataflow.Plan, pad int) dataflow.Stream[sale] {
	return dataflow.Map(dataflow.ReadText(p, "/in"), func(line []byte) sale {
		s := parseSale(string(line))
		s.Item += strings.Repeat("-", pad)
		return s
	})
}

type figuresArgs struct {
	Pad int // bytes of an item
	N   int
}

// figures has all aggregations with tables of keys and accumulators.
var figures = dataflow.Job("figures", func(p *dataflow.Plan, a figuresArgs) error {
	sales := readSales(p, a.Pad)
	byCity := dataflow.KeyBy(sales, cityOf)
	dataflow.Collect(dataflow.Aggregate(byCity, listOfItems), itemLists)
	dataflow.Collect(dataflow.Avg(byCity, centsOf), means)
	dataflow.Collect(dataflow.Min(byCity, centsOf), cheapest)
	dataflow.Collect(dataflow.Max(byCity, centsOf), dearest)
	dataflow.Collect(dataflow.TopN(byCity, a.N, dataflow.By(centsOf)), dearestFew)
	dataflow.Collect(dataflow.TopNOfAll(sales, a.N, dataflow.By(centsOf), dataflow.Named("top of all")), dearestOfAll)
	dataflow.Collect(dataflow.Distinct(sales, dataflow.CountAs("distinct")), distinctSales)
	return nil
})

// listOfItems has an accumulator that refers to memory, and a result of another type.
var listOfItems = dataflow.Aggregator[sale, map[string]int64, string]{
	New: func() map[string]int64 { return map[string]int64{} },
	Add: func(cents map[string]int64, s sale) map[string]int64 {
		cents[s.Item] += s.Cents
		return cents
	},
	Merge: func(a, b map[string]int64) map[string]int64 {
		for item, cents := range b {
			a[item] += cents
		}
		return a
	},
	Result: func(cents map[string]int64) string {
		var b strings.Builder
		for _, item := range slices.Sorted(maps.Keys(cents)) {
			fmt.Fprintf(&b, "%.2s %d,", item, cents[item])
		}
		return b.String()
	},
}

var (
	itemLists     = dataflow.NewCollector[dataflow.KV[string, string]]("lists")
	means         = dataflow.NewCollector[dataflow.KV[string, float64]]("means")
	cheapest      = dataflow.NewCollector[dataflow.KV[string, sale]]("cheapest")
	dearest       = dataflow.NewCollector[dataflow.KV[string, sale]]("dearest")
	dearestFew    = dataflow.NewCollector[dataflow.KV[string, []sale]]("dearest few")
	dearestOfAll  = dataflow.NewCollector[sale]("dearest of all")
	distinctSales = dataflow.NewCollector[sale]("distinct")
)

// dearerFirst is the order of TopN, written anew.
func dearerFirst(a, b sale) int {
	return cmp.Or(cmp.Compare(b.Cents, a.Cents), bytes.Compare(encodedSale(a), encodedSale(b)))
}

func encodedSale(s sale) []byte {
	encoded, err := mustFor[sale]().Append(nil, s)
	if err != nil {
		panic(err)
	}
	return encoded
}

// mostOfAKey is how many items fit into an accumulator of figures, if the operators have as little memory as there is: 1 MiB each, of
// which the files need 512 KiB. While files are merged, an accumulator is there twice.
func mostOfAKey(pad int) int {
	const usable, item = (1<<20 - 512<<10) / 2, 200 // 200 bytes are enough for an item without its pad, and its place in a map
	return usable / (pad + item)
}

// For any sales, parallelism and memory, the figures equal those of a plain loop. It would catch accumulators that are lost, merged
// twice or confused between memory, network and files, and a result that depends on the order of the elements: prices are often equal.
func TestFiguresEqualThoseOfAPlainLoop(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		pad := rapid.SampledFrom([]int{0, 0, 10_000}).Draw(rt, "pad")
		most := mostOfAKey(pad) // a larger accumulator rightly fails the job
		a := figuresArgs{Pad: pad, N: rapid.SampledFrom([]int{1, 3, min(most, 100)}).Draw(rt, "n")}
		least := rapid.SampledFrom([]int{0, min(most, 20)}).Draw(rt, "least") // so many long items of each city go to files
		var lines []string
		for _, city := range []string{"a ", "b ", "c ", "d ", "e "} {
			for _, line := range rapid.SliceOfN(rapid.StringMatching(`[p-z][a-z] -?[0-3]`), least, min(most, 50)).Draw(rt, city) {
				lines = append(lines, city+line)
			}
		}
		lines = rapid.Permutation(lines).Draw(rt, "lines")
		byCity, all := map[string][]sale{}, []sale{}
		for _, line := range lines {
			s := parseSale(line)
			s.Item += strings.Repeat("-", a.Pad)
			byCity[s.City], all = append(byCity[s.City], s), append(all, s)
		}
		slices.SortFunc(all, dearerFirst)
		wantLists, wantMeans := map[string]string{}, map[string]float64{}
		wantMin, wantMax, wantFew := map[string]sale{}, map[string]sale{}, map[string][]sale{}
		for city, sales := range byCity {
			slices.SortFunc(sales, dearerFirst)
			lists, sum := listOfItems.New(), int64(0)
			for _, s := range sales {
				lists, sum = listOfItems.Add(lists, s), sum+s.Cents
			}
			wantLists[city], wantMeans[city] = listOfItems.Result(lists), float64(sum)/float64(len(sales))
			wantFew[city], wantMax[city] = sales[:min(a.N, len(sales))], sales[0]
			wantMin[city] = sales[slices.IndexFunc(sales, func(s sale) bool { return s.Cents == sales[len(sales)-1].Cents })]
		}

		result := execute(rt, figures, a, dataflowtest.Options{
			FileSystem: dataflowtest.NewFiles(map[string]string{"/in": strings.Join(lines, "\n")}), Parallelism: rapid.IntRange(1, 3).Draw(rt, "parallelism"),
			Memory: rapid.SampledFrom([]int64{1 << 20, 64 << 20}).Draw(rt, "memory"), LocalDirs: []string{dir},
		})
		check := func(name string, want, got any) {
			if diff := gocmp.Diff(want, got); diff != "" {
				rt.Fatalf("%s (-want +got):\n%.2000s", name, diff)
			}
		}
		check("lists", wantLists, asMap(rt, result, itemLists))
		check("means", wantMeans, asMap(rt, result, means))
		check("cheapest", wantMin, asMap(rt, result, cheapest))
		check("dearest", wantMax, asMap(rt, result, dearest))
		check("dearest few", wantFew, asMap(rt, result, dearestFew))
		check("dearest of all", all[:min(a.N, len(all))], collected(rt, result, dearestOfAll))
		got, want := collected(rt, result, distinctSales), slices.Compact(slices.Clone(all))
		slices.SortFunc(got, dearerFirst)
		check("distinct", want, got)
		delete(result.Counters, "spilledBytes") // depends on which operator is the first to need memory
		check("counters", map[string]int64{"distinct": int64(len(want))}, result.Counters)
	})
}

// fewOfMany has accumulators of many cities.
var fewOfMany = dataflow.Job("few-of-many", func(p *dataflow.Plan, _ string) error {
	byCity := dataflow.KeyBy(readSales(p, 0), cityOf)
	dataflow.Collect(dataflow.TopN(byCity, 2, dataflow.By(centsOf)), dearestFew)
	dataflow.Collect(dataflow.Aggregate(byCity, listOfItems), itemLists)
	return nil
})

// It would catch accumulators that do not come back from files.
func TestFiguresSpill(t *testing.T) {
	t.Parallel()
	const cities = 8_000
	var b strings.Builder
	for n := range 3 * cities {
		fmt.Fprintf(&b, "c%d i%d %d\n", n%cities, n, n)
	}
	var metrics dataflowtest.Metrics
	result := dataflowtest.Run(t, fewOfMany, "", dataflowtest.Options{
		FileSystem: dataflowtest.NewFiles(map[string]string{"/in": b.String()}), Memory: 1 << 20, LocalDirs: []string{t.TempDir()}, Metrics: &metrics,
	})
	few, lists := asMap(t, result, dearestFew), asMap(t, result, itemLists)
	if len(few) != cities || len(lists) != cities {
		t.Fatalf("%d and %d cities, want %d", len(few), len(lists), cities)
	}
	for n := range cities {
		city := fmt.Sprint("c", n)
		want := []sale{{city, fmt.Sprint("i", n+2*cities), int64(n + 2*cities)}, {city, fmt.Sprint("i", n+cities), int64(n + cities)}}
		if !slices.Equal(few[city], want) || strings.Count(lists[city], ",") != 3 {
			t.Fatalf("%s has %v, want %v; its list is %q", city, few[city], want, lists[city])
		}
	}
	for _, name := range []string{"top n", "aggregate"} {
		if metrics.Operator(name).Counter("spilledBytes").Value() == 0 {
			t.Errorf("%s has spilled nothing: the test needs more keys", name)
		}
	}
}

// exactMeans has integers at the ends of their types.
var exactMeans = dataflow.Job("exact-means", func(p *dataflow.Plan, _ string) error {
	all := dataflow.KeyBy(dataflow.ReadText(p, "/in"), func([]byte) string { return "" })
	dataflow.Collect(dataflow.Avg(all, parse), means)
	dataflow.Collect(dataflow.Avg(all, func(line []byte) uint64 { return uint64(parse(line)) }), unsignedMeans)
	dataflow.Collect(dataflow.Avg(all, func(line []byte) float32 { return float32(parse(line)) }), floatMeans)
	return nil
})

var (
	unsignedMeans = dataflow.NewCollector[dataflow.KV[string, float64]]("unsigned means")
	floatMeans    = dataflow.NewCollector[dataflow.KV[string, float64]]("float means")
)

// It would catch a sum that overflows, and a mean that is rounded twice.
func TestTheMeanOfIntegersIsExact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		numbers := rapid.SliceOfN(rapid.OneOf(rapid.Int64(), rapid.Int64Range(-9, 9), rapid.Int64Min(1<<63-3), rapid.Int64Max(-1<<63+3)), 1, 9).Draw(rt, "numbers")
		signed, unsigned, float := new(big.Int), new(big.Int), 0.0
		var lines []string
		for _, n := range numbers {
			lines = append(lines, fmt.Sprint(n))
			signed.Add(signed, big.NewInt(n))
			unsigned.Add(unsigned, new(big.Int).SetUint64(uint64(n)))
			float += float64(float32(n))
		}
		mean := func(sum *big.Int) float64 {
			nearest, _ := new(big.Rat).SetFrac(sum, big.NewInt(int64(len(numbers)))).Float64()
			return nearest
		}
		result := execute(rt, exactMeans, "", dataflowtest.Options{FileSystem: dataflowtest.NewFiles(map[string]string{"/in": strings.Join(lines, "\n")})})
		got := []float64{asMap(rt, result, means)[""], asMap(rt, result, unsignedMeans)[""], asMap(rt, result, floatMeans)[""]}
		want := []float64{mean(signed), mean(unsigned), float / float64(len(numbers))} // one subtask adds in order
		if !slices.Equal(got, want) {
			rt.Fatalf("means of %v are %v, want %v", numbers, got, want)
		}
	})
}
