package taskhost

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/dataflow/operator"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/metrics"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// TestMetricsHaveRoomAsTheyCome would catch code whose names contain data and fill the memory of its host and of the master,
// a metric that loses its value because it is looked up twice, and a metric without room that is not counted.
func TestMetricsHaveRoomAsTheyCome(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		room := rapid.IntRange(0, 3000).Draw(t, "room")
		dropped := 0
		u := newUserMetrics(rooms{counters: 1 << 20, shown: room}, func(error) {}, func(int, string) { dropped++ })
		type key struct {
			operator int
			kind     metrics.Kind
			name     string
		}
		var order []key // of those that have room
		values := make(map[key]int64)
		size, hidden := 0, 0
		for range rapid.IntRange(0, 60).Draw(t, "uses") {
			k := key{
				rapid.IntRange(0, 1).Draw(t, "operator"), metrics.Kind(rapid.IntRange(1, 4).Draw(t, "kind")),
				rapid.SampledFrom([]string{"", "a", "b", "c", strings.Repeat("long", 60), strings.Repeat("longer", 60)}).Draw(t, "name"),
			}
			if _, known := values[k]; !known {
				need := msg.MetricSize(k.kind) + msg.MetricNameBytes + len(k.name)
				if k.name != "" && len(k.name) <= 255 && size+need <= room {
					size += need
					order = append(order, k)
				} else {
					hidden++
				}
			}
			values[k]++
			o := operatorMetrics{u, k.operator}
			switch k.kind {
			case metrics.KindCounter:
				o.Counter(k.name).Add(1)
			case metrics.KindGauge:
				g := o.Gauge(k.name)
				g.Set(g.Value() + 1)
			case metrics.KindMeter:
				o.Meter(k.name).Mark(1)
			case metrics.KindHistogram:
				o.Histogram(k.name).Update(float64(values[k]))
			}
		}
		var want *msg.UserMetrics
		counts := make(map[string]int64)
		if len(values) > 0 {
			want = &msg.UserMetrics{Dropped: hidden, Metrics: make([]msg.UserMetric, 0)}
		}
		for _, k := range order {
			m := msg.UserMetric{Operator: k.operator, Kind: k.kind, Name: k.name, Value: float64(values[k])}
			if k.kind == metrics.KindHistogram {
				var h metrics.Histogram
				for v := range values[k] {
					h.Update(float64(v + 1))
				}
				summary := h.Summary()
				m.Summary, m.Value = &summary, 0
			}
			want.Metrics = append(want.Metrics, m)
		}
		for k, n := range values {
			if k.kind == metrics.KindCounter {
				counts[k.name] += n
			}
		}
		for range 2 {
			got := u.measured(testEpoch)
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(msg.UserMetrics{}, msg.UserMetric{})); diff != "" {
				t.Fatalf("metrics (-want +got):\n%s", diff)
			}
			if got.WireSize() > room+100 {
				t.Fatalf("metrics of %d bytes in a room of %d", got.WireSize(), room)
			}
		}
		if diff := cmp.Diff(counts, u.counts()); diff != "" || dropped != hidden {
			t.Fatalf("%d dropped, want %d; counters (-want +got):\n%s", dropped, hidden, diff)
		}
	})
}

// TestHiddenMetricsHaveABound would catch a host whose memory grows with the names that user code makes.
func TestHiddenMetricsHaveABound(t *testing.T) {
	t.Parallel()
	u := newUserMetrics(rooms{counters: 1 << 20, shown: 1000}, func(error) {}, func(int, string) {})
	for n := range 2 * maxHidden {
		operatorMetrics{u, 0}.Gauge(fmt.Sprint(n)).Set(1)
	}
	if got := u.measured(testEpoch); len(u.known) > maxHidden+10 || got.Dropped != maxHidden || len(got.Metrics) == 0 {
		t.Errorf("%d metrics are kept, %d shown, %d said to be dropped", len(u.known), len(got.Metrics), got.Dropped)
	}
}

// TestNamesAreText would catch a name that no receiver can decode: it would take the host for broken.
func TestNamesAreText(t *testing.T) {
	t.Parallel()
	u := newUserMetrics(rooms{counters: 1000, shown: 1000}, func(error) {}, func(int, string) {})
	operatorMetrics{u, 0}.Counter("a\xff").Add(1)
	operatorMetrics{u, 0}.Counter("a\xfe").Add(1)
	if diff := cmp.Diff(map[string]int64{"a\uFFFD": 2}, u.counts()); diff != "" {
		t.Errorf("counters (-want +got):\n%s", diff)
	}
}

// TestMetersKnowTheirRate would catch a rate over the whole life of a task.
func TestMetersKnowTheirRate(t *testing.T) {
	t.Parallel()
	u := newUserMetrics(rooms{shown: 1000}, func(error) {}, func(int, string) {})
	meter := operatorMetrics{u, 0}.Meter("lines")
	var m msg.UserMetric
	for second := range 121 {
		m = u.measured(testEpoch.Add(time.Duration(second) * time.Second)).Metrics[0]
		meter.Mark(int64(1 + 9*(second/60))) // 1, and from the second minute on 10 in a second
	}
	if m.Rate < 9.8 || m.Rate > 10 || m.Value != 60+60*10 {
		t.Errorf("%v in a second, %v in all; want almost 10, and 660", m.Rate, m.Value)
	}
}

// TestUsersMetricsAreReportedInTurns would catch a report that is too long to send, metrics that are never reported because
// other tasks have many, and metrics that are sent although they have not changed.
func TestUsersMetricsAreReportedInTurns(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := newCore("h1", testGraph(), Cancellation{time.Second, time.Second})
		var all measured
		size := 0
		for subtask := range rapid.IntRange(1, 80).Draw(t, "tasks") {
			id := ids.ExecutionAttemptID{Subtask: subtask}
			c.tasks[id] = &taskState{}
			p := msg.TaskProgress{Execution: id}
			p.Metrics.ReadRecords = int64(rapid.IntRange(0, 1).Draw(t, "read"))
			if n := rapid.IntRange(0, 3).Draw(t, "metrics"); n > 0 {
				p.User = &msg.UserMetrics{Metrics: make([]msg.UserMetric, 1<<(2*n))}
				for i := range p.User.Metrics {
					p.User.Metrics[i] = msg.UserMetric{Name: strings.Repeat("n", 1000)} // the bound of a task is not met
				}
				size += p.User.WireSize()
			}
			all.Tasks = append(all.Tasks, p)
		}
		report := func() map[ids.ExecutionAttemptID]msg.TaskProgress {
			told := make(map[ids.ExecutionAttemptID]msg.TaskProgress)
			bytes := 0
			for _, ef := range c.Step(testEpoch, all) {
				for _, p := range ef.(send).Message.(msg.TasksProgress).Tasks {
					told[p.Execution] = p
					bytes += p.User.WireSize()
				}
			}
			if bytes > msg.MaxProgressMetrics {
				t.Fatalf("a report has %d bytes of users' metrics", bytes)
			}
			return told
		}
		read, user := make(map[ids.ExecutionAttemptID]int), make(map[ids.ExecutionAttemptID]int)
		rounds := 0
		for told := report(); len(told) > 0; told = report() {
			rounds++
			for id, p := range told {
				if p.Metrics.ReadRecords > 0 {
					read[id]++
				}
				if p.User != nil {
					user[id]++
				}
			}
		}
		if rounds > 1+2*size/msg.MaxProgressMetrics {
			t.Fatalf("%d reports of %d bytes", rounds, size)
		}
		for _, p := range all.Tasks {
			if p.Metrics.ReadRecords > 0 && read[p.Execution] == 0 || p.User != nil && user[p.Execution] != 1 {
				t.Fatalf("task %s is reported %d times, its metrics %d times", p.Execution, read[p.Execution], user[p.Execution])
			}
		}
	})
}

// BenchmarkMeasured is what a host spends each second on a task with a metric of each kind.
func BenchmarkMeasured(b *testing.B) {
	u := newUserMetrics(rooms{counters: 1000, shown: 10_000}, func(error) {}, func(int, string) {})
	var o operator.Metrics = operatorMetrics{u, 0}
	histogram := o.Histogram("h")
	for n := range metrics.RateInterval.Milliseconds() {
		histogram.Update(float64(n * 7919 % 1009))
	}
	o.Counter("c")
	o.Gauge("g")
	o.Meter("m")
	b.ReportAllocs()
	for b.Loop() {
		histogram.Update(1)
		_ = u.measured(testEpoch)
	}
}
