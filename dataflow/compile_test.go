package dataflow_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/dataflow"
	"github.com/bobbin-yarn/bobbin/dataflow/codec"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
)

type plan = func(p *dataflow.Plan) error

// opaque has no codec.
type opaque struct{ line string }

func toOpaque(line []byte) opaque          { return opaque{string(line)} }
func ofOpaque(o opaque) string             { return o.line }
func opaqueText(d []byte, o opaque) []byte { return append(d, o.line...) }

// runs counts how often the plan function "unstable" ran.
var runs int

// elsewhere keeps a stream beyond its plan.
var elsewhere dataflow.Stream[[]byte]

var plans = map[string]plan{
	"cancelled at its end": func(p *dataflow.Plan) error {
		interrupted := dataflow.Process(dataflow.ReadText(p, "/in"), func(s dataflow.Subtask) dataflow.Function[[]byte, []byte] {
			return dataflow.Function[[]byte, []byte]{
				Process: func(context.Context, []byte, func([]byte)) error { return nil },
				Finish:  func(context.Context, func([]byte)) error { s.Counter("begun"); return errors.New("interrupted") },
			}
		})
		dataflow.Print(interrupted, text)
		return nil
	},
	"count": func(p *dataflow.Plan) error {
		counts := dataflow.Count(dataflow.KeyBy(dataflow.FlatMap(dataflow.ReadText(p, "/in"), words), dataflow.Identity))
		dataflow.WriteText(counts, "/out", countText)
		return nil
	},
	"count, renamed": func(p *dataflow.Plan) error {
		counts := dataflow.Count(dataflow.KeyBy(dataflow.FlatMap(dataflow.ReadText(p, "/in"), words, dataflow.Named("words")), dataflow.Identity))
		dataflow.WriteText(counts, "/out", countText)
		return nil
	},
	"count by strings": func(p *dataflow.Plan) error {
		counts := dataflow.Count(dataflow.KeyBy(dataflow.FlatMap(dataflow.ReadText(p, "/in"), words), toString))
		dataflow.WriteText(counts, "/out", func(d []byte, c pair) []byte { return number(d, c.Value) })
		return nil
	},
	"count elsewhere": func(p *dataflow.Plan) error {
		counts := dataflow.Count(dataflow.KeyBy(dataflow.FlatMap(dataflow.ReadText(p, "/in2"), words), dataflow.Identity))
		dataflow.WriteText(counts, "/out2", countText)
		return nil
	},
	"dropped": func(p *dataflow.Plan) error {
		dataflow.Print(dataflow.Filter(dataflow.ReadText(p, "/in"), func([]byte) bool { return false }), text)
		return nil
	},
	"nil source": func(p *dataflow.Plan) error {
		dataflow.Print(dataflow.Read[int64](p, nil), number)
		return nil
	},
	"nil sink": func(p *dataflow.Plan) error {
		dataflow.Write(dataflow.ReadText(p, "/in"), nil)
		return nil
	},
	"slow source": func(p *dataflow.Plan) error {
		dataflow.Print(slowly(dataflow.ReadText(p, "/in")), text)
		return nil
	},
	"slow after exchange": func(p *dataflow.Plan) error {
		dataflow.Print(slowly(dataflow.ReadTextWith(p, []string{"/in"}, dataflow.Parallelism(1))), text)
		return nil
	},
	"slow after union": func(p *dataflow.Plan) error {
		first := dataflow.ReadTextWith(p, []string{"/in"}, dataflow.Parallelism(1))
		second := dataflow.ReadTextWith(p, []string{"/in"}, dataflow.Parallelism(1))
		dataflow.Print(slowly(dataflow.Union(first, second)), text)
		return nil
	},
	"slow after count": func(p *dataflow.Plan) error {
		dataflow.Print(slowly(dataflow.Count(dataflow.KeyBy(dataflow.ReadText(p, "/in"), dataflow.Identity))), countText)
		return nil
	},
	"one chain": func(p *dataflow.Plan) error {
		s := dataflow.Filter(dataflow.Map(dataflow.ReadText(p, "/in"), toOpaque), func(opaque) bool { return true })
		dataflow.Print(s, opaqueText)
		return nil
	},
	"other parallelism": func(p *dataflow.Plan) error {
		s := dataflow.ReadTextWith(p, []string{"/in"}, dataflow.Parallelism(1))
		dataflow.Print(dataflow.Map(s, parse), number)
		return nil
	},
	"union of one source": func(p *dataflow.Plan) error {
		s := dataflow.ReadText(p, "/in")
		dataflow.Print(dataflow.Union(s, dataflow.Filter(s, func([]byte) bool { return true }), s), text)
		return nil
	},
	"union of two sources": func(p *dataflow.Plan) error {
		dataflow.Print(dataflow.Union(dataflow.ReadText(p, "/a"), dataflow.ReadText(p, "/b")), text)
		return nil
	},
	"union with options": func(p *dataflow.Plan) error {
		var wide [2]dataflow.Stream[[]byte]
		for i := range wide {
			wide[i] = dataflow.ReadTextWith(p, []string{"/in"}, dataflow.Parallelism(5))
		}
		all := dataflow.UnionWith(wide[0], wide[1:], dataflow.Named("all"), dataflow.Parallelism(5))
		dataflow.Print(all, text, dataflow.Parallelism(5))
		return nil
	},
	"two consumers": func(p *dataflow.Plan) error {
		s := dataflow.ReadText(p, "/in")
		dataflow.Print(s, text)
		dataflow.Collect(s, lineCollector)
		dataflow.Print(dataflow.Map(s, parse, dataflow.Parallelism(5)), number, dataflow.Parallelism(5))
		return nil
	},

	"groups": func(p *dataflow.Plan) error {
		heavy := dataflow.SlotSharingGroup("heavy", dataflow.Resources{})
		s := dataflow.Map(dataflow.ReadText(p, "/in"), parse)
		counts := dataflow.Count(dataflow.KeyBy(dataflow.Map(s, double, dataflow.InGroup(heavy)), dataflow.Identity), dataflow.Named("sum"))
		dataflow.WriteText(counts, "/out", func(d []byte, c dataflow.KV[int64, int64]) []byte { return number(d, c.Value) })
		dataflow.Collect(dataflow.Union(s, dataflow.Map(s, double, dataflow.InGroup(heavy))), doubleCollector)
		return nil
	},
	"co-located": func(p *dataflow.Plan) error {
		a, b := dataflow.ReadText(p, "/a"), dataflow.ReadText(p, "/b")
		dataflow.Print(a, text, dataflow.CoLocated(b), dataflow.CoLocated(a))
		dataflow.Print(b, text)
		return nil
	},
	"co-located across groups": func(p *dataflow.Plan) error {
		a, b := dataflow.ReadText(p, "/a"), dataflow.ReadTextWith(p, []string{"/b"}, dataflow.InGroup(dataflow.SlotSharingGroup("heavy", dataflow.Resources{})), dataflow.Named("read b"))
		dataflow.Print(a, text, dataflow.CoLocated(b))
		dataflow.Print(b, text)
		return nil
	},
	"co-located of other widths": func(p *dataflow.Plan) error {
		a, b := dataflow.ReadText(p, "/a"), dataflow.ReadText(p, "/b")
		dataflow.Print(a, text, dataflow.CoLocated(b), dataflow.Parallelism(7))
		dataflow.Print(b, text)
		return nil
	},
	"co-located with another plan": func(p *dataflow.Plan) error {
		dataflow.Print(dataflow.ReadText(p, "/in"), text, dataflow.CoLocated(elsewhere))
		return nil
	},
	"resources": func(p *dataflow.Plan) error {
		small := dataflow.SlotSharingGroup("default", dataflow.Resources{CPU: 0.5, TaskHeap: 64 << 20})
		gpu := dataflow.SlotSharingGroup("gpu", dataflow.Resources{CPU: 1, TaskHeap: 256 << 20, External: map[string]int64{"gpu": 1}})
		s := dataflow.Map(dataflow.ReadTextWith(p, []string{"/in"}, dataflow.InGroup(small)), parse)
		dataflow.Print(dataflow.Map(s, double, dataflow.InGroup(gpu)), number, dataflow.InGroup(small))
		return nil
	},
	"resources for some groups": func(p *dataflow.Plan) error {
		heavy := dataflow.SlotSharingGroup("heavy", dataflow.Resources{CPU: 1, TaskHeap: 256 << 20})
		dataflow.Print(dataflow.ReadText(p, "/in"), text, dataflow.InGroup(heavy))
		return nil
	},
	"resources without a heap": func(p *dataflow.Plan) error {
		heavy := dataflow.SlotSharingGroup("heavy", dataflow.Resources{CPU: 1})
		dataflow.Print(dataflow.ReadTextWith(p, []string{"/in"}, dataflow.InGroup(heavy)), text)
		return nil
	},
	"resources given twice": func(p *dataflow.Plan) error {
		s := dataflow.ReadTextWith(p, []string{"/in"}, dataflow.InGroup(dataflow.SlotSharingGroup("heavy", dataflow.Resources{CPU: 1, TaskHeap: 256 << 20})))
		dataflow.Print(s, text, dataflow.InGroup(dataflow.SlotSharingGroup("heavy", dataflow.Resources{CPU: 2, TaskHeap: 256 << 20})))
		return nil
	},
	"group without a name": func(p *dataflow.Plan) error {
		dataflow.Print(dataflow.ReadText(p, "/in"), text, dataflow.InGroup(dataflow.Group{}))
		return nil
	},

	"nothing":   func(*dataflow.Plan) error { return nil },
	"own error": func(*dataflow.Plan) error { return errOwn },
	"no input":  func(p *dataflow.Plan) error { dataflow.Print(dataflow.ReadText(p), text); return nil },
	"no output": func(p *dataflow.Plan) error { dataflow.WriteText(dataflow.ReadText(p, "/in"), "", text); return nil },
	"no sink": func(p *dataflow.Plan) error {
		dataflow.Map(dataflow.ReadText(p, "/in"), parse, dataflow.Named("numbers"))
		return nil
	},
	"bad option": func(p *dataflow.Plan) error {
		dataflow.Print(dataflow.ReadText(p, "/in"), text, dataflow.Overwrite())
		return nil
	},
	"unknown compression": func(p *dataflow.Plan) error {
		dataflow.WriteText(dataflow.ReadText(p, "/in"), "/out", text, dataflow.Compressed("lz4"))
		return nil
	},
	"parallelism": func(p *dataflow.Plan) error {
		dataflow.Print(dataflow.ReadText(p, "/in"), text, dataflow.Parallelism(0))
		return nil
	},
	"no codec": func(p *dataflow.Plan) error {
		s := dataflow.Map(dataflow.ReadText(p, "/in"), toOpaque, dataflow.Parallelism(2))
		dataflow.Print(s, opaqueText, dataflow.Parallelism(3))
		return nil
	},
	"no codec for a key": func(p *dataflow.Plan) error {
		dataflow.Print(dataflow.Count(dataflow.KeyBy(dataflow.ReadText(p, "/in"), toOpaque)),
			func(d []byte, c dataflow.KV[opaque, int64]) []byte { return number(d, c.Value) })
		return nil
	},
	"no codec for a reduction": func(p *dataflow.Plan) error {
		s := dataflow.Reduce(dataflow.KeyBy(dataflow.Map(dataflow.ReadText(p, "/in"), toOpaque), ofOpaque), func(a, _ opaque) opaque { return a })
		dataflow.Print(s, func(d []byte, c dataflow.KV[string, opaque]) []byte { return append(d, c.Key...) })
		return nil
	},
	"no codec for an accumulator": func(p *dataflow.Plan) error {
		a := dataflow.Aggregator[[]byte, opaque, int]{
			Add:    func(o opaque, _ []byte) opaque { return o },
			Merge:  func(a, _ opaque) opaque { return a },
			Result: func(opaque) int { return 0 },
		}
		dataflow.Print(dataflow.Aggregate(dataflow.KeyBy(dataflow.ReadText(p, "/in"), toString), a), func(d []byte, _ dataflow.KV[string, int]) []byte { return d })
		return nil
	},
	"half an aggregator": func(p *dataflow.Plan) error {
		a := dataflow.Aggregator[[]byte, int, int]{Add: func(n int, _ []byte) int { return n }}
		dataflow.Print(dataflow.Aggregate(dataflow.KeyBy(dataflow.ReadText(p, "/in"), toString), a), func(d []byte, _ dataflow.KV[string, int]) []byte { return d })
		return nil
	},
	"top of nothing": func(p *dataflow.Plan) error {
		dataflow.Print(dataflow.TopNOfAll(dataflow.ReadText(p, "/in"), 0, bytes.Compare), text)
		return nil
	},
	"negative limit": func(p *dataflow.Plan) error {
		dataflow.Print(dataflow.Limit(dataflow.ReadText(p, "/in"), -1), text)
		return nil
	},
	"parallelism of a limit": func(p *dataflow.Plan) error {
		dataflow.Print(dataflow.Limit(dataflow.ReadText(p, "/in"), 1, dataflow.Parallelism(2)), text)
		return nil
	},
	"no codec to tell apart": func(p *dataflow.Plan) error {
		dataflow.Print(dataflow.Distinct(dataflow.Map(dataflow.ReadText(p, "/in"), toOpaque)), opaqueText)
		return nil
	},
	"no codec to collect": func(p *dataflow.Plan) error {
		dataflow.Collect(dataflow.Map(dataflow.ReadText(p, "/in"), toOpaque), dataflow.NewCollector[opaque]("opaque"))
		return nil
	},
	"codec of another type": func(p *dataflow.Plan) error {
		dataflow.Print(dataflow.Map(dataflow.ReadText(p, "/in"), parse, dataflow.WithCodec(codec.String())), number)
		return nil
	},
	"key codec of another type": func(p *dataflow.Plan) error {
		dataflow.Print(dataflow.Count(dataflow.KeyBy(dataflow.ReadText(p, "/in"), dataflow.Identity, dataflow.WithCodec(codec.String()))), countText)
		return nil
	},
	"codec without a name": func(p *dataflow.Plan) error {
		dataflow.Print(dataflow.Map(dataflow.ReadText(p, "/in"), toOpaque, dataflow.WithCodec(dataflow.Codec[opaque]{}), dataflow.Parallelism(2)), opaqueText)
		return nil
	},
	"collected twice": func(p *dataflow.Plan) error {
		s := dataflow.ReadText(p, "/in")
		dataflow.Collect(s, lineCollector)
		dataflow.Collect(s, lineCollector)
		return nil
	},
	"collector without a name": func(p *dataflow.Plan) error {
		dataflow.Collect(dataflow.ReadText(p, "/in"), dataflow.NewCollector[[]byte](""))
		return nil
	},
	"stream of another plan": func(p *dataflow.Plan) error {
		dataflow.Print(dataflow.Union(dataflow.ReadText(p, "/in"), elsewhere), text)
		return nil
	},
	"panic": func(p *dataflow.Plan) error {
		var noInputs []string
		dataflow.Print(dataflow.ReadText(p, firstOf(noInputs)), text)
		return nil
	},
	"clock in a name": func(p *dataflow.Plan) error {
		dataflow.Print(dataflow.ReadText(p, "/in"), text, dataflow.Named(time.Now().Format(time.RFC3339Nano)))
		return nil
	},
	"clock in an output": func(p *dataflow.Plan) error {
		dataflow.WriteText(dataflow.ReadText(p, "/in"), "/out/"+time.Now().Format(time.RFC3339Nano), text)
		return nil
	},
	"unstable": func(p *dataflow.Plan) error {
		if runs++; runs%2 == 0 {
			return errOwn
		}
		dataflow.Print(dataflow.ReadText(p, "/in"), text)
		return nil
	},
}

var (
	errOwn          = errors.New("no such customer")
	lineCollector   = dataflow.NewCollector[[]byte]("lines")
	doubleCollector = dataflow.NewCollector[int64]("doubles")
)

func firstOf(names []string) string { return names[0] }

// describe renders a graph: a line for each vertex and each edge.
func describe(c *dataflow.Compiled) string {
	var b strings.Builder
	for i, v := range c.Graph.Vertices {
		fmt.Fprintf(&b, "%d x%d %s", i, v.Parallelism, v.Name)
		if v.Source {
			b.WriteString(", source")
		}
		if v.Collect != "" {
			b.WriteString(", collects " + v.Collect)
		}
		if group := c.Graph.SlotGroups()[v.Group]; group.Name != jobgraph.DefaultGroup {
			b.WriteString(", group " + group.Name)
		}
		if r := c.Graph.SlotGroups()[v.Group].Resources; r != nil {
			fmt.Fprintf(&b, " of %v cores, %d MB, %v", r.CPU, r.TaskHeap>>20, r.External)
		}
		b.WriteString("\n")
	}
	for _, e := range c.Graph.Edges {
		fmt.Fprintf(&b, "%d.%d -> %d.%d %s %s\n", e.From, e.Output, e.To, e.Input, e.Pattern, e.Type)
	}
	for _, pair := range c.Graph.CoLocations {
		fmt.Fprintf(&b, "%d with %d\n", pair.A, pair.B)
	}
	return b.String()
}

// Operators must share a vertex exactly where they can call each other.
func TestOperatorsAreJoinedIntoVertices(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"count": `0 x3 read text -> flat map -> count (combine), source
1 x3 count -> write text
2 x1 write text (commit)
0.0 -> 1.0 all-to-all kv(bytes,int64)
1.0 -> 2.0 all-to-all kv(int,string)
`,
		"one chain": "0 x3 read text -> map -> filter -> print, source\n",
		"other parallelism": `0 x1 read text, source
1 x3 map -> print
0.0 -> 1.0 all-to-all bytes
`,
		"union of one source": "0 x3 read text -> filter -> union -> print, source\n",
		"union of two sources": `0 x3 read text, source
1 x3 read text, source
2 x3 union -> print
0.0 -> 2.0 pointwise bytes
1.0 -> 2.1 pointwise bytes
`,
		"union with options": `0 x5 read text, source
1 x5 read text, source
2 x5 all -> print
0.0 -> 2.0 pointwise bytes
1.0 -> 2.1 pointwise bytes
`,
		"two consumers": `0 x3 read text -> print, source
1 x1 collect lines, collects lines
2 x5 map -> print
0.0 -> 1.0 all-to-all bytes
0.1 -> 2.0 all-to-all bytes
`,
		"groups": `0 x3 read text -> map, source
1 x3 map -> sum (combine), group heavy
2 x3 sum -> write text, group heavy
3 x1 write text (commit), group heavy
4 x3 map, group heavy
5 x3 union
6 x1 collect doubles, collects doubles
0.0 -> 1.0 pointwise int64
1.0 -> 2.0 all-to-all kv(key(int64),int64)
2.0 -> 3.0 all-to-all kv(int,string)
0.1 -> 4.0 pointwise int64
0.2 -> 5.0 pointwise int64
4.0 -> 5.1 pointwise int64
5.0 -> 6.0 all-to-all int64
`,
		"resources": `0 x3 read text -> map, source of 0.5 cores, 64 MB, map[]
1 x3 map, group gpu of 1 cores, 256 MB, map[gpu:1]
2 x3 print of 0.5 cores, 64 MB, map[]
0.0 -> 1.0 pointwise int64
1.0 -> 2.0 pointwise int64
`,
		"co-located": `0 x3 read text -> print, source
1 x3 read text -> print, source
0 with 1
`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := compile(t, name, dataflow.PlanOptions{Parallelism: 3})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, describe(c)); diff != "" {
				t.Errorf("graph (-want +got):\n%s", diff)
			}
			if len(c.Tasks) != len(c.Graph.Vertices) {
				t.Errorf("%d tasks for %d vertices", len(c.Tasks), len(c.Graph.Vertices))
			}
			if err := c.Graph.Validate(); err != nil {
				t.Error(err)
			}
		})
	}
}

// A host compares digests, so that it builds the same tasks as the planner.
func TestTheDigestTellsPlansApart(t *testing.T) {
	t.Parallel()
	digest := func(plan string, o dataflow.PlanOptions) string {
		c, err := compile(t, plan, o)
		if err != nil {
			t.Fatal(err)
		}
		return c.Graph.Digest
	}
	three := dataflow.PlanOptions{Parallelism: 3}
	base := digest("count", three)
	for name, other := range map[string]string{
		"the same":      digest("count", three),
		"other config":  digest("count", dataflow.PlanOptions{Parallelism: 3, Config: map[string]string{"pipeline.name": "x", "a": "b"}}),
		"other in, out": digest("count elsewhere", three),
	} {
		if other != base {
			t.Errorf("%s: digest %s, want %s", name, other, base)
		}
	}
	for name, other := range map[string]string{
		"parallelism":    digest("count", dataflow.PlanOptions{Parallelism: 4}),
		"operator names": digest("count, renamed", three),
		"types":          digest("count by strings", three),
		"operators":      digest("one chain", three),
	} {
		if other == base {
			t.Errorf("another plan by its %s has the same digest", name)
		}
	}
}

// TestTheGraphCarriesWhatThePlanWasMadeWith would catch a job that a session plans with the
// session's parallelism.
func TestTheGraphCarriesWhatThePlanWasMadeWith(t *testing.T) {
	t.Parallel()
	config := map[string]string{"pipeline.name": "nightly count", "restart-strategy.type": "none"}
	c, err := compile(t, "count", dataflow.PlanOptions{Config: config})
	if err != nil {
		t.Fatal(err)
	}
	g := c.Graph
	if g.Job != "planned" || g.Name != "nightly count" || string(g.Args) != `"count"` || g.Slots() != 1 {
		t.Errorf("job %q, name %q, args %s, slots %d", g.Job, g.Name, g.Args, g.Slots())
	}
	config["parallelism.default"] = "1"
	if diff := cmp.Diff(config, g.Config); diff != "" {
		t.Errorf("config (-want +got):\n%s", diff)
	}
}

func TestThePlannerRefusesMistakes(t *testing.T) {
	var other *dataflow.Plan
	plans["keeps a stream"] = func(p *dataflow.Plan) error {
		other, elsewhere = p, dataflow.ReadText(p, "/in")
		dataflow.Print(elsewhere, text)
		return nil
	}
	if _, err := compile(t, "keeps a stream", dataflow.PlanOptions{}); err != nil || other == nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"nothing":                     "the plan function made no operators",
		"own error":                   "no such customer",
		"no input":                    "read text: no input is named",
		"no output":                   "write text: no output is named",
		"no sink":                     `no operator takes the elements of "numbers"`,
		"bad option":                  "print: option Overwrite does not apply to this operator",
		"unknown compression":         `write text: files cannot be written in the format "lz4": choose gzip or zstd`,
		"parallelism":                 "print: parallelism 0 is not between 1 and 32768",
		"no codec":                    "map: no codec for type dataflow_test.opaque: opaque.line: unexported: ",
		"no codec for a key":          "count: key: no codec for type dataflow_test.opaque: opaque.line: unexported: ",
		"no codec for a reduction":    "reduce: no codec for type dataflow_test.opaque: opaque.line: unexported: ",
		"no codec for an accumulator": "aggregate: no codec for type dataflow_test.opaque: opaque.line: unexported: ",
		"half an aggregator":          "aggregate: its Aggregator needs Add, Merge and Result",
		"top of nothing":              "top n: the number of elements is 0, and must be at least 1",
		"negative limit":              "limit: the number of elements is -1, and must not be negative",
		"parallelism of a limit":      "limit: option Parallelism does not apply to this operator",
		"no codec to tell apart":      "distinct: key: no codec for type dataflow_test.opaque: opaque.line: unexported: ",
		"no codec to collect":         "collect opaque: no codec for type dataflow_test.opaque: opaque.line: unexported: ",
		"codec of another type":       "map: option WithCodec has a ",
		"key codec of another type":   "key by: option WithCodec has a codec for another type",
		"codec without a name":        "map: the codec given by WithCodec lacks Name",
		"collected twice":             "collect lines: two streams are collected under this name",
		"collector without a name":    "the collector needs a name",
		"stream of another plan":      "union: its input is a stream of another plan",
		"resources for some groups":   `slot sharing group "heavy" has resources, and "default" has none: give all groups resources, or none`,
		"resources without a heap":    `slot sharing group "heavy": it has 0 bytes of task heap: TaskHeap must be above 0`,
		"resources given twice":       `print: slot sharing group "heavy" has other resources than before: give them once`,
		"group without a name":        "print: its slot sharing group has no name",
		"co-located across groups": "print cannot be co-located with read b: " +
			`their slot sharing groups are "default" and "heavy": put both into one group with InGroup`,
		"co-located of other widths": "print cannot be co-located with read text: " +
			"their parallelism is 7 and 1: set the same Parallelism for both",
		"co-located with another plan": "print cannot be co-located with read text: that is an operator of another plan",
		"clock in a name":              dataflow.ErrNotDeterministic.Error(),
		"clock in an output":           dataflow.ErrNotDeterministic.Error(),
		"unstable":                     dataflow.ErrNotDeterministic.Error(),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := compile(t, name, dataflow.PlanOptions{})
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want one that says %q", err, want)
			}
			if err != nil && !strings.Contains(err.Error(), "planned") {
				t.Errorf("error %q does not name the job", err)
			}
		})
	}
}

func TestAPanicOfThePlanShowsTheUsersStack(t *testing.T) {
	t.Parallel()
	_, err := compile(t, "panic", dataflow.PlanOptions{})
	var panicked *dataflow.PlanPanic
	if !errors.As(err, &panicked) {
		t.Fatalf("error %v, want a PlanPanic", err)
	}
	if !strings.Contains(err.Error(), "planned") || !strings.Contains(err.Error(), "index out of range") || strings.Contains(err.Error(), "\n") {
		t.Errorf("error %q, want one line that names job and cause", err)
	}
	stack := strings.Split(panicked.Stack, "\n")
	if !strings.HasSuffix(stack[0], ".firstOf") || !strings.Contains(stack[1], "compile_test.go:") {
		t.Errorf("the stack does not begin with the user's function:\n%s", panicked.Stack)
	}
	if strings.Contains(panicked.Stack, "dataflow.Compile") || strings.Contains(panicked.Stack, "runtime.") {
		t.Errorf("the stack shows more than the user's frames:\n%s", panicked.Stack)
	}
}

func TestCompileNamesUnknownJobsAndBadArguments(t *testing.T) {
	t.Parallel()
	if _, err := dataflow.Compile("none", nil, dataflow.PlanOptions{}); !errors.Is(err, dataflow.ErrUnknownJob) || !strings.Contains(err.Error(), "planned") {
		t.Errorf("error %v, want ErrUnknownJob that lists the known ones", err)
	}
	var syntax *json.SyntaxError
	if _, err := dataflow.Compile("planned", []byte("{"), dataflow.PlanOptions{}); !errors.As(err, &syntax) || !strings.Contains(err.Error(), "planned") {
		t.Errorf("error %v, want a syntax error that names the job", err)
	}
}

func TestTwoJobsOfOneNamePanic(t *testing.T) {
	t.Parallel()
	defer func() {
		if text := fmt.Sprint(recover()); !strings.Contains(text, `"planned"`) {
			t.Errorf("panic %q, want one that names the job", text)
		}
	}()
	dataflow.Job("planned", func(*dataflow.Plan, int) error { return nil })
}
