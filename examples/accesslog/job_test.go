package main

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/bobbin-yarn/bobbin/dataflow"
	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest"
	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest/clustertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const log = `10.0.0.1 - - [10/Oct/2000:13:55:36 -0700] "GET /a HTTP/1.0" 200 100
10.0.0.2 - frank [10/Oct/2000:13:55:37 -0700] "GET /b HTTP/1.0" 404 7
10.0.0.1 - - [10/Oct/2000:13:55:38 -0700] "GET /a HTTP/1.0" 304 -
not a request
10.0.0.1 - - [10/Oct/2000:13:55:39 -0700] "GET /a HTTP/1.0" 200 250
`

// TestReport would catch an aggregation by the wrong key, a request that its
// encoding changes, and a request that one of the outputs lacks.
func TestReport(t *testing.T) {
	t.Parallel()
	files := dataflowtest.NewFiles(map[string]string{"/logs/1": log, "/logs/2": log})
	result := dataflowtest.Run(t, Report, Args{Logs: []string{"/logs"}, Output: "/out"},
		dataflowtest.Options{FileSystem: files, Parallelism: 2})
	check(t, files, result)
}

// TestSizesAreMeasured would catch a histogram that has no size of a request, or that of a malformed line.
func TestSizesAreMeasured(t *testing.T) {
	t.Parallel()
	files := dataflowtest.NewFiles(map[string]string{"/logs/1": log, "/logs/2": log})
	var metrics dataflowtest.Metrics
	dataflowtest.Run(t, Report, Args{Logs: []string{"/logs"}, Output: "/out"},
		dataflowtest.Options{FileSystem: files, Parallelism: 2, Metrics: &metrics})
	sizes := metrics.Operator("parse").Histogram("bytes").Summary()
	if sizes.Count != 8 || sizes.Sum != 2*(100+7+0+250) || sizes.Max != 250 {
		t.Errorf("sizes of requests are %+v", sizes)
	}
}

// TestReportSurvivesAWorker would catch a state outside of the operators, such as
// a package variable: the elements that a lost worker has processed come again.
func TestReportSurvivesAWorker(t *testing.T) {
	t.Parallel()
	files := dataflowtest.NewFiles(map[string]string{"/logs/1": log, "/logs/2": log})
	result := clustertest.Run(t, Report, Args{Logs: []string{"/logs"}, Output: "/out"}, clustertest.Options{
		Files: files, Parallelism: 2, Workers: 2,
		Faults: []clustertest.Fault{
			clustertest.KillWorker("parse").After(6),
			clustertest.SlowTask("sum", time.Millisecond).Subtask(0),
		},
	})
	check(t, files, result)
}

// check checks all outputs of a job that has read the log twice.
func check(t *testing.T, files *dataflowtest.Files, result *dataflow.Result) {
	t.Helper()
	for dir, want := range map[string][]string{
		"/out/hosts": {"", "10.0.0.1\t700", "10.0.0.2\t14"},
		"/out/paths": {"", "/a\t250", "/b\t7"},
		"/out/odd":   {"", "not in the Common Log Format\tnot a request", "not in the Common Log Format\tnot a request"},
	} {
		got := strings.Split(files.Files()[dir+"/part-00000"]+files.Files()[dir+"/part-00001"], "\n")
		slices.Sort(got)
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", dir, diff)
		}
	}

	statuses, err := dataflow.Collected(result, Statuses)
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(statuses, func(a, b dataflow.KV[int, int64]) int { return cmp.Compare(a.Key, b.Key) })
	if diff := gocmp.Diff([]dataflow.KV[int, int64]{{Key: 200, Value: 4}, {Key: 304, Value: 2}, {Key: 404, Value: 2}}, statuses); diff != "" {
		t.Errorf("statuses (-want +got):\n%s", diff)
	}
	if got := result.Counters; got["requests"] != 8 || got["malformed"] != 2 {
		t.Errorf("counters %v, want 8 requests and 2 malformed lines", got)
	}
}

// TestHostsAreLeftOut would catch a job that does not read its cached file.
func TestHostsAreLeftOut(t *testing.T) {
	t.Parallel()
	list := filepath.Join(t.TempDir(), "robots")
	if err := os.WriteFile(list, []byte("10.0.0.1\n10.0.0.3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	files := dataflowtest.NewFiles(map[string]string{"/logs/1": log})
	dataflowtest.Run(t, Report, Args{Logs: []string{"/logs"}, Output: "/out", Without: "robots"},
		dataflowtest.Options{FileSystem: files, CachedFiles: map[string]string{"robots": list}})
	if got, want := files.Files()["/out/hosts/part-00000"], "10.0.0.2\t7\n"; got != want {
		t.Errorf("hosts are %q, want %q", got, want)
	}
}

func TestMalformedLinesAreNoRequests(t *testing.T) {
	for _, line := range []string{
		"", "a b c", `h - - [t] "GET" 200 1`, `h - - [t] "GET / HTTP/1.0" 200`, `h - - [t] "GET / HTTP/1.0" ok 1`,
		`h - - [t] "GET / HTTP/1.0" 200 many`, ` - - [t] "GET / HTTP/1.0" 200 1`,
	} {
		if r, err := parse(line); err == nil {
			t.Errorf("%q is the request %+v", line, r)
		}
	}
}
