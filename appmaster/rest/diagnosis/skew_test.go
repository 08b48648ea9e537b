package diagnosis

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
)

// TestSkewIsSaidInWords would catch a subtask that has nearly all records and is not named, one that is blamed for a
// little more than the others or for few records, and advice that does not fit.
func TestSkewIsSaidInWords(t *testing.T) {
	t.Parallel()
	even := restapi.SubtaskSpread{Most: 100_000, Median: 90_000, Sum: 380_000}
	keyed, source := []msg.VertexInput{{Vertex: "a", Pattern: jobgraph.AllToAll}}, []msg.VertexInput(nil)
	records := func(subtask int, most, median, sum int64) restapi.VertexSpread {
		return restapi.VertexSpread{ReadRecords: restapi.SubtaskSpread{Subtask: subtask, Most: most, Median: median, Sum: sum}, WriteRecords: even, ReadBytes: even, BusyTime: even}
	}
	for name, c := range map[string]struct {
		parallelism int
		inputs      []msg.VertexInput
		spread      restapi.VertexSpread
		want        string
	}{
		"a key": {
			4, keyed, records(3, 710_000, 95_000, 1_000_000),
			"Skewed key: subtask 4 of 4 read 71 % of all records since the start, 7.5 times the median. All records of a key go to one subtask, so more subtasks do not help.",
		},
		"records are gathered by all keys": {1, keyed, records(0, 710_000, 95_000, 1_000_000), ""},
		"a pointwise input has no keys": {
			4, []msg.VertexInput{{Pattern: jobgraph.Pointwise}}, records(0, 710_000, 95_000, 1_000_000), "Skew: subtask 1 of 4 read 71 % of all records since the start, 7.5 times the median.",
		},
		"heavy records": {
			4, keyed,
			restapi.VertexSpread{ReadRecords: even, WriteRecords: even, ReadBytes: even, BusyTime: restapi.SubtaskSpread{Most: 90_000, Median: 3000, Sum: 99_000}},
			"Skew: subtask 1 of 4 did 91 % of all work since the start, 30.0 times the median. Its records take longer than those of the others.",
		},
		"a large file": {
			2, source, restapi.VertexSpread{ReadBytes: restapi.SubtaskSpread{Subtask: 1, Most: 9 << 20, Sum: 10 << 20}}, "Skew: subtask 2 of 2 read 90 % of all bytes since the start, 9.0 times the other one.",
		},
		"two subtasks, of which one has three times as much": {2, source, records(1, 60_000, 40_000, 80_000), "Skew: subtask 2 of 2 read 75 % of all records since the start, 3.0 times the other one."},
		"two subtasks that differ a little":                  {2, source, records(1, 50_000, 40_000, 80_000), ""},
		"few records":                                        {4, source, records(1, 900, 0, 900), ""},
		"one subtask":                                        {1, source, records(0, 1_000_000, 1_000_000, 1_000_000), ""},
		"the others have nothing":                            {8, source, records(0, 5000, 0, 5000), "Skew: subtask 1 of 8 read 100 % of all records since the start, and the others nothing."},
		"most of the others have nothing":                    {8, source, records(0, 5000, 0, 6000), "Skew: subtask 1 of 8 read 83 % of all records since the start, and most of the others nothing."},
		"a worker that tells too much":                       {4, source, records(0, math.MaxInt64-10, math.MaxInt64/2, 0), ""},
		"sums that are too large":                            {4, source, records(0, math.MaxInt64, 1, math.MinInt64), "Skew: subtask 1 of 4 read 100 % of all records since the start, 9223372036854775808 times the median."},
	} {
		v := msg.VertexDetails{Parallelism: c.parallelism, Inputs: c.inputs}
		judge(&c.spread, c.parallelism)
		got := ""
		if skew := skew(&v, &c.spread); skew != nil {
			got = skew.Words
			if !strings.HasPrefix(got, skew.Brief) || skew.Key != strings.HasPrefix(got, "Skewed key") {
				t.Errorf("%s: key %v, and in short %q", name, skew.Key, skew.Brief)
			}
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

// TestOutliersAreJudgedByWhatIsUsual would catch a mark on a subtask of few that is compared with itself, and marks on all
// subtasks of a vertex that has hardly begun.
func TestOutliersAreJudgedByWhatIsUsual(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		subtasks       int
		in             restapi.SubtaskSpread
		usual, outlier int64
	}{
		{1, restapi.SubtaskSpread{Most: 5000, Median: 5000, Sum: 5000}, 5000, 15_000},
		{2, restapi.SubtaskSpread{Most: 9000, Median: 5000, Sum: 10_000}, 1000, 3000},
		{4, restapi.SubtaskSpread{Most: 9000, Median: 5000, Sum: 20_000}, 5000, 15_000},
		{4, restapi.SubtaskSpread{Most: 9, Median: 5, Sum: 20}, 5, 1000},
	} {
		spread := restapi.VertexSpread{ReadRecords: c.in}
		judge(&spread, c.subtasks)
		if got := spread.ReadRecords; got.Usual != c.usual || got.Outlier != c.outlier {
			t.Errorf("%d subtasks with %+v: usual %d, outliers from %d on; want %d, %d", c.subtasks, c.in, got.Usual, got.Outlier, c.usual, c.outlier)
		}
	}
}

// TestSkewIsToldWhereItIsACause would catch a source that is blamed for what its consumer has taken from each of its subtasks, or
// for what the first of them has read before the others began; and a slow vertex whose skew is not told, because it waits a little.
func TestSkewIsToldWhereItIsACause(t *testing.T) {
	t.Parallel()
	begun := time.Date(2026, 11, 29, 18, 10, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		tasks  []task
		after  time.Duration
		status msg.JobStatus
		want   string // the vertices whose skew is told
	}{
		"a source waits for a skewed key":          {[]task{{"read", 4, 0.1, 0.2, 0.8, nil}, {"count", 4, 0.28, 0.98, 0, []string{"read"}}}, time.Minute, msg.JobRunning, "count"},
		"one that works more than it waits":        {[]task{{"read", 4, 0.6, 0.7, 0.3, nil}, {"count", 4, 0.28, 0.98, 0, []string{"read"}}}, time.Minute, msg.JobRunning, "read count"},
		"the slow one waits in most subtasks":      {[]task{{"read", 4, 0.1, 0.2, 0.8, nil}, {"count", 4, 0.25, 0.97, 0.3, []string{"read"}}, {"write", 4, 0.3, 0.4, 0, []string{"count"}}}, time.Minute, msg.JobRunning, "count write"},
		"the first seconds of a source":            {[]task{{"read", 4, 0.9, 0.95, 0, nil}, {"count", 4, 0.28, 0.4, 0, []string{"read"}}}, 9 * time.Second, msg.JobRunning, "count"},
		"a source that is slow from the beginning": {[]task{{"read", 4, 0.9, 0.95, 0, nil}}, time.Second, msg.JobRunning, ""},
		"a source later on":                        {[]task{{"read", 4, 0.2, 0.4, 0, nil}, {"count", 4, 0.28, 0.4, 0, []string{"read"}}}, 10 * time.Second, msg.JobRunning, "read count"},
		"a job that has ended at once":             {[]task{{"read", 4, 0, 0, 0, nil}, {"count", 4, 0, 0, 0, []string{"read"}}}, time.Second, msg.JobFinished, "read count"},
	} {
		d, summaries := answer(c.tasks...)
		d.Status = c.status
		for i := range summaries {
			d.Vertices[i].Start = begun
			summaries[i].Spread = &restapi.VertexSpread{ReadRecords: restapi.SubtaskSpread{Subtask: 3, Most: 90_000, Median: 1000, Sum: 93_000}}
		}
		Judge(&d, summaries, begun.Add(c.after))
		var told []string
		for i := range summaries {
			if summaries[i].Skew != nil {
				told = append(told, d.Vertices[i].Name)
			}
			if summaries[i].Spread.ReadRecords.Usual != 1000 {
				t.Errorf("%s: the spread of %s is not judged", name, d.Vertices[i].Name)
			}
		}
		if got := strings.Join(told, " "); got != c.want {
			t.Errorf("%s: skew of %q, want %q", name, got, c.want)
		}
	}
}
