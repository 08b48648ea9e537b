package usermetrics

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/internal/metrics"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/testing/heaptest"
)

var plain = cmp.AllowUnexported(msg.UserMetrics{}, msg.UserMetric{}) //nolint:gochecknoglobals // options of comparisons

// size is the room that reports need, by a look at all of them.
func size(reports map[key]*msg.UserMetrics) int {
	bytes := 0
	names := make(map[string]bool)
	for _, r := range reports {
		bytes += msg.ReportBytes
		for _, m := range r.Metrics {
			bytes += msg.MetricSize(m.Kind)
			if !names[m.Name] {
				bytes += msg.MetricNameBytes + len(m.Name)
			}
			names[m.Name] = true
		}
	}
	return bytes
}

// TestReportsAreKeptAsLongAsThereIsRoom compares the table with a model that counts everything anew for each metric. It would
// catch room that is lost or given twice with a shared name, metrics of a subtask that stay with its next report, a metric that
// no host sends, and one that is left out though it has room.
func TestReportsAreKeptAsLongAsThereIsRoom(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		table := New(1)
		table.room = rapid.IntRange(0, 3000).Draw(t, "room")
		model := make(map[key]*msg.UserMetrics)
		const operators = 2
		metric := rapid.Custom(func(t *rapid.T) msg.UserMetric {
			m := msg.UserMetric{
				Operator: rapid.IntRange(-1, operators).Draw(t, "operator"), Kind: metrics.Kind(rapid.IntRange(0, 5).Draw(t, "kind")),
				Name:  rapid.SampledFrom([]string{"", "a", "b", "c", strings.Repeat("l", 255), strings.Repeat("l", 256)}).Draw(t, "name"),
				Value: float64(rapid.IntRange(-5, 5).Draw(t, "value")),
			}
			if rapid.Bool().Draw(t, "summary") {
				m.Summary = &metrics.Summary{Count: 1}
			}
			return m
		})
		for range rapid.IntRange(0, 30).Draw(t, "steps") {
			k := key{rapid.IntRange(0, 1).Draw(t, "vertex"), rapid.IntRange(0, 2).Draw(t, "subtask")}
			delete(model, k)
			if rapid.IntRange(0, 4).Draw(t, "what") == 0 {
				table.Drop(k.vertex, k.subtask)
			} else {
				r := msg.UserMetrics{Dropped: rapid.IntRange(-1, 3).Draw(t, "dropped"), Metrics: rapid.SliceOfN(metric, 0, 10).Draw(t, "metrics")}
				table.Report(k.vertex, k.subtask, operators, &r)
				kept := &msg.UserMetrics{Dropped: r.Hidden()}
				if model[k] = kept; size(model) > table.room {
					delete(model, k)
					continue
				}
				for _, m := range r.Metrics {
					valid := m.Operator >= 0 && m.Operator < operators && m.Name != "" && len(m.Name) <= 255 &&
						m.Kind >= metrics.KindCounter && m.Kind <= metrics.KindHistogram && (m.Summary != nil) == (m.Kind == metrics.KindHistogram)
					before := kept.Metrics
					kept.Metrics = append(kept.Metrics, m)
					if !valid || size(model) > table.room {
						kept.Metrics = before
						kept.Dropped++
					}
				}
			}
			if table.bytes != size(model) || table.bytes > table.room {
				t.Fatalf("the table takes itself for %d bytes of %d, and has %d", table.bytes, table.room, size(model))
			}
			if diff := cmp.Diff(model, table.reports, plain); diff != "" {
				t.Fatalf("reports (-want +got):\n%s", diff)
			}
			got, want := make(map[string]int64), make(map[string]int64)
			for k, r := range model {
				table.AddCounters(k.vertex, k.subtask, got)
				for _, m := range r.Metrics {
					if m.Kind == metrics.KindCounter {
						want[m.Name] += int64(m.Value)
					}
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("counters (-want +got):\n%s", diff)
			}
		}
	})
}

// TestATableTakesNoMoreThanItsRoom would catch an estimate that no longer covers what metrics take: the Dispatcher then accepts
// more jobs than the ApplicationMaster has memory for.
func TestATableTakesNoMoreThanItsRoom(t *testing.T) {
	for name, report := range map[string]func(task, n int) msg.UserMetric{
		"histograms": func(_, n int) msg.UserMetric {
			return msg.UserMetric{Kind: metrics.KindHistogram, Name: fmt.Sprint("histogram", n), Summary: &metrics.Summary{Count: 7}}
		},
		"names of their own": func(task, n int) msg.UserMetric {
			return msg.UserMetric{Kind: metrics.KindGauge, Name: fmt.Sprint(task, n)}
		},
		"one counter": func(int, int) msg.UserMetric { return msg.UserMetric{Kind: metrics.KindCounter, Name: "c"} },
	} {
		const tasks = 10_000
		before := heaptest.InUse()
		table := New(tasks)
		reports := 0
		for ; ; reports++ {
			r := &msg.UserMetrics{}
			for n := range 5 {
				r.Metrics = append(r.Metrics, report(reports, n))
			}
			if table.Report(0, reports, 1, r); table.Of(0, reports) == nil || table.Of(0, reports).Dropped > 0 {
				break
			}
		}
		took := int(heaptest.InUse() - before)
		t.Logf("%s: %d reports take %d bytes of %d", name, reports, took, table.room)
		if took > table.room || reports < 1000 {
			t.Errorf("%s: %d reports take %d bytes, more than their room of %d, or are few", name, reports, took, table.room)
		}
		runtime.KeepAlive(table)
	}
}
