package dataflow_test

import (
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/dataflow"
)

type (
	bytesOf = dataflow.Stream[[]byte]
	keyedBy = dataflow.Keyed[string, []byte]
)

// withoutFunction are operators whose function is nil, by their names.
var withoutFunction = map[string]func(s bytesOf, k keyedBy){
	"map":                    func(s bytesOf, _ keyedBy) { dataflow.Map[[]byte, int](s, nil) },
	"filter":                 func(s bytesOf, _ keyedBy) { dataflow.Filter(s, nil) },
	"flat map":               func(s bytesOf, _ keyedBy) { dataflow.FlatMap[[]byte, int](s, nil) },
	"with":                   func(s bytesOf, _ keyedBy) { dataflow.FlatMapWith[[]byte, int](s, nil, dataflow.Named("with")) },
	"process":                func(s bytesOf, _ keyedBy) { dataflow.Process[[]byte, int](s, nil) },
	"try map":                func(s bytesOf, _ keyedBy) { dataflow.TryMap[[]byte, int](s, nil, dataflow.Named("try map")) },
	"try flat map":           func(s bytesOf, _ keyedBy) { dataflow.TryFlatMap[[]byte, int](s, nil, dataflow.Named("try flat map")) },
	"try filter":             func(s bytesOf, _ keyedBy) { dataflow.TryFilter(s, nil, dataflow.Named("try filter")) },
	"partition":              func(s bytesOf, _ keyedBy) { dataflow.Partition(s, nil) },
	"process with broadcast": func(s bytesOf, _ keyedBy) { dataflow.ProcessWithBroadcast[[]byte, []byte, int](s, s, nil) },
	"sort":                   func(s bytesOf, _ keyedBy) { dataflow.Sort[[]byte, int](s, nil) },
	"sort partition":         func(s bytesOf, _ keyedBy) { dataflow.SortPartition[[]byte, int](s, nil) },
	"key by":                 func(s bytesOf, _ keyedBy) { dataflow.KeyBy[[]byte, int](s, nil) },
	"sum":                    func(_ bytesOf, k keyedBy) { dataflow.Sum[string, []byte, int](k, nil) },
	"reduce":                 func(_ bytesOf, k keyedBy) { dataflow.Reduce(k, nil) },
	"avg":                    func(_ bytesOf, k keyedBy) { dataflow.Avg[string, []byte, int](k, nil) },
	"max":                    func(_ bytesOf, k keyedBy) { dataflow.Max[string, []byte, int](k, nil) },
	"min":                    func(_ bytesOf, k keyedBy) { dataflow.Min[string, []byte, int](k, nil) },
	"top n":                  func(_ bytesOf, k keyedBy) { dataflow.TopN(k, 1, nil) },
	"top by": func(_ bytesOf, k keyedBy) {
		dataflow.TopN(k, 1, dataflow.By[[]byte, int](nil), dataflow.Named("top by"))
	},
	"top of all":   func(s bytesOf, _ keyedBy) { dataflow.TopNOfAll(s, 1, nil, dataflow.Named("top of all")) },
	"group by key": func(_ bytesOf, k keyedBy) { dataflow.GroupByKey[string, []byte, int](k, nil) },
	"co-group":     func(_ bytesOf, k keyedBy) { dataflow.CoGroup[string, []byte, []byte, int](k, k, nil) },
	"join":         func(_ bytesOf, k keyedBy) { dataflow.Join[string, []byte, []byte, int](k, k, nil) },
	"left join":    func(_ bytesOf, k keyedBy) { dataflow.LeftJoin[string, []byte, []byte, int](k, k, nil) },
	"right join":   func(_ bytesOf, k keyedBy) { dataflow.RightJoin[string, []byte, []byte, int](k, k, nil) },
	"full join":    func(_ bytesOf, k keyedBy) { dataflow.FullJoin[string, []byte, []byte, int](k, k, nil) },
	"try join": func(_ bytesOf, k keyedBy) {
		dataflow.TryJoin[string, []byte, []byte, int](k, k, nil, dataflow.Named("try join"))
	},
	"try left join": func(_ bytesOf, k keyedBy) {
		dataflow.TryLeftJoin[string, []byte, []byte, int](k, k, nil, dataflow.Named("try left join"))
	},
	"try right join": func(_ bytesOf, k keyedBy) {
		dataflow.TryRightJoin[string, []byte, []byte, int](k, k, nil, dataflow.Named("try right join"))
	},
	"try full join": func(_ bytesOf, k keyedBy) {
		dataflow.TryFullJoin[string, []byte, []byte, int](k, k, nil, dataflow.Named("try full join"))
	},
	"print":      func(s bytesOf, _ keyedBy) { dataflow.Print(s, nil) },
	"write text": func(s bytesOf, _ keyedBy) { dataflow.WriteText(s, "/out", nil) },
}

// A plan often takes its functions from variables. It would catch one that is not set and panics in a task, on a cluster.
func TestThePlannerRefusesANilFunction(t *testing.T) {
	for name, use := range withoutFunction {
		plans["nil function"] = func(p *dataflow.Plan) error {
			lines := dataflow.ReadText(p, "/in")
			use(lines, dataflow.KeyBy(lines, toString))
			return nil
		}
		_, err := compile(t, "nil function", dataflow.PlanOptions{})
		if want := name + ": its function is nil"; err == nil || !strings.Contains(err.Error(), want) || strings.Count(err.Error(), "is nil") != 1 {
			t.Errorf("%s: error %v, want one that says %q once", name, err, want)
		}
	}
}

// It would catch a codec of keys that panics in a task. Those of elements are in TestThePlannerRefusesMistakes.
func TestThePlannerRefusesHalfACodecForKeys(t *testing.T) {
	plans["half a codec"] = func(p *dataflow.Plan) error {
		k := dataflow.KeyBy(dataflow.ReadText(p, "/in"), toString, dataflow.WithCodec(dataflow.Codec[string]{Name: "half"}))
		dataflow.Collect(dataflow.Count(k), counted)
		return nil
	}
	if _, err := compile(t, "half a codec", dataflow.PlanOptions{}); err == nil || !strings.Contains(err.Error(), "key by: the codec given by WithCodec lacks") {
		t.Errorf("error %v", err)
	}
}
