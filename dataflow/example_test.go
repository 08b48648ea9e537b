package dataflow_test

import (
	"context"
	"fmt"
	"os"

	"github.com/bobbin-yarn/bobbin/dataflow"
	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest"
)

// Reading is the element of the examples.
type Reading struct {
	City    string
	Celsius int
}

// readings reads lines such as "Rome 21".
func readings(p *dataflow.Plan) dataflow.Stream[Reading] {
	return dataflow.TryMap(dataflow.ReadText(p, "/readings"), func(_ context.Context, line []byte) (r Reading, err error) {
		_, err = fmt.Sscan(string(line), &r.City, &r.Celsius)
		return r, err
	})
}

func byCity(p *dataflow.Plan) dataflow.Keyed[string, Reading] {
	return dataflow.KeyBy(readings(p), func(r Reading) string { return r.City })
}

func celsius(r Reading) int { return r.Celsius }

// showAll prints elements. The number of their subtask is before each.
func showAll[T any](s dataflow.Stream[T], o ...dataflow.Option) {
	dataflow.Print(s, func(dst []byte, v T) []byte { return fmt.Append(dst, v) }, o...)
}

// runExample runs the job of an example.
func runExample(job *dataflow.JobDef[string]) {
	files := dataflowtest.NewFiles(map[string]string{"/readings": "Rome 21\nOslo 5\nRome 25\nOslo 5\nOslo -1\n"})
	env := dataflowtest.NewEnv(dataflowtest.Options{FileSystem: files, Stdout: os.Stdout})
	if _, err := env.Execute(context.Background(), job, ""); err != nil {
		fmt.Println(err)
	}
}

// extent is an accumulator.
type extent struct{ Least, Most int }

var spreads = dataflow.Job("spreads", func(p *dataflow.Plan, _ string) error {
	showAll(dataflow.Aggregate(byCity(p), dataflow.Aggregator[Reading, extent, int]{
		New:    func() extent { return extent{Least: 1000, Most: -1000} },
		Add:    func(s extent, r Reading) extent { return extent{min(s.Least, r.Celsius), max(s.Most, r.Celsius)} },
		Merge:  func(a, b extent) extent { return extent{min(a.Least, b.Least), max(a.Most, b.Most)} },
		Result: func(s extent) int { return s.Most - s.Least },
	}))
	return nil
})

func ExampleAggregate() {
	runExample(spreads)
	// Unordered output:
	// 1> {Rome 4}
	// 1> {Oslo 6}
}

var averages = dataflow.Job("averages", func(p *dataflow.Plan, _ string) error {
	showAll(dataflow.Avg(byCity(p), celsius))
	return nil
})

func ExampleAvg() {
	runExample(averages)
	// Unordered output:
	// 1> {Rome 23}
	// 1> {Oslo 3}
}

var warmest = dataflow.Job("warmest", func(p *dataflow.Plan, _ string) error {
	showAll(dataflow.Max(byCity(p), celsius))
	return nil
})

func ExampleMax() {
	runExample(warmest)
	// Unordered output:
	// 1> {Rome {Rome 25}}
	// 1> {Oslo {Oslo 5}}
}

var coldest = dataflow.Job("coldest", func(p *dataflow.Plan, _ string) error {
	showAll(dataflow.Min(byCity(p), celsius))
	return nil
})

func ExampleMin() {
	runExample(coldest)
	// Unordered output:
	// 1> {Rome {Rome 21}}
	// 1> {Oslo {Oslo -1}}
}

var warmestTwo = dataflow.Job("warmest-two", func(p *dataflow.Plan, _ string) error {
	showAll(dataflow.TopN(byCity(p), 2, dataflow.By(celsius)))
	return nil
})

func ExampleTopN() {
	runExample(warmestTwo)
	// Unordered output:
	// 1> {Rome [{Rome 25} {Rome 21}]}
	// 1> {Oslo [{Oslo 5} {Oslo 5}]}
}

var warmestOfAll = dataflow.Job("warmest-of-all", func(p *dataflow.Plan, _ string) error {
	showAll(dataflow.TopNOfAll(readings(p), 3, dataflow.By(celsius)))
	return nil
})

func ExampleTopNOfAll() {
	runExample(warmestOfAll)
	// Output:
	// 1> {Rome 25}
	// 1> {Rome 21}
	// 1> {Oslo 5}
}

var different = dataflow.Job("different", func(p *dataflow.Plan, _ string) error {
	showAll(dataflow.Distinct(readings(p)))
	return nil
})

func ExampleDistinct() {
	runExample(different)
	// Unordered output:
	// 1> {Rome 21}
	// 1> {Rome 25}
	// 1> {Oslo 5}
	// 1> {Oslo -1}
}

var someReadings = dataflow.Job("some-readings", func(p *dataflow.Plan, _ string) error {
	showAll(dataflow.Limit(readings(p), 2))
	return nil
})

func ExampleLimit() {
	runExample(someReadings)
	// Output:
	// 1> {Rome 21}
	// 1> {Oslo 5}
}

var northAndSouth = dataflow.Job("north-and-south", func(p *dataflow.Plan, _ string) error {
	divided := dataflow.Partition(readings(p), func(r Reading, channels int) int {
		if r.City == "Oslo" {
			return 0
		}
		return channels - 1
	}, dataflow.Parallelism(2))
	showAll(divided, dataflow.Parallelism(2))
	return nil
})

func ExamplePartition() {
	runExample(northAndSouth)
	// Unordered output:
	// 2> {Rome 21}
	// 1> {Oslo 5}
	// 2> {Rome 25}
	// 1> {Oslo 5}
	// 1> {Oslo -1}
}

var dealt = dataflow.Job("dealt", func(p *dataflow.Plan, _ string) error {
	showAll(dataflow.Rebalance(readings(p), dataflow.Parallelism(2)), dataflow.Parallelism(2))
	return nil
})

func ExampleRebalance() {
	runExample(dealt)
	// Unordered output:
	// 1> {Rome 21}
	// 2> {Oslo 5}
	// 1> {Rome 25}
	// 2> {Oslo 5}
	// 1> {Oslo -1}
}
