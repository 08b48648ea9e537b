package main

import (
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest"
	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest/clustertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// logs have the requests of one host in two files and in no order.
func logs() *dataflowtest.Files {
	return dataflowtest.NewFiles(map[string]string{
		"/logs/1": `10.0.0.1 - - [10/Oct/2000:14:25:35 -0700] "GET /c HTTP/1.0" 200 1
10.0.0.2 - - [10/Oct/2000:13:55:36 -0700] "GET /x HTTP/1.0" 404 7
10.0.0.1 - - [10/Oct/2000:20:55:36 +0000] "GET /a HTTP/1.0" 200 100
`,
		"/logs/2": `not a request
10.0.0.1 - - [10/Oct/2000:14:55:35 -0700] "GET /e HTTP/1.0" 200 1
10.0.0.1 - - [10/Oct/2000:13:55:36 -0700] "GET /b HTTP/1.0" 200 250
`,
	})
}

func check(t *testing.T, files *dataflowtest.Files) {
	t.Helper()
	for dir, want := range map[string][]string{
		"/out/sessions": {
			"10.0.0.1\t2000-10-10T20:55:36Z\t29m59s\t3\t/a\t/c", // the next request is 30 minutes later
			"10.0.0.1\t2000-10-10T21:55:35Z\t0s\t1\t/e\t/e",
			"10.0.0.2\t2000-10-10T20:55:36Z\t0s\t1\t/x\t/x",
		},
		"/out/odd": {"not in the Common Log Format\tnot a request"},
	} {
		got := strings.Split(strings.TrimSpace(files.Files()[dir+"/part-00000"]+files.Files()[dir+"/part-00001"]), "\n")
		slices.Sort(got)
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", dir, diff)
		}
	}
}

// It would catch requests that are not sorted, time zones that count, and a gap that is a second too short or too long.
func TestSessionsEndAfterHalfAnHour(t *testing.T) {
	t.Parallel()
	files := logs()
	dataflowtest.Run(t, Sessions, Args{Logs: []string{"/logs"}, Output: "/out"}, dataflowtest.Options{FileSystem: files, Parallelism: 2})
	check(t, files)
}

// It would catch sessions that a lost worker leaves in halves.
func TestSessionsSurviveAWorker(t *testing.T) {
	t.Parallel()
	files := logs()
	clustertest.Run(t, Sessions, Args{Logs: []string{"/logs"}, Output: "/out"}, clustertest.Options{
		Files: files, Parallelism: 2, Faults: []clustertest.Fault{clustertest.KillWorker("sessionize").After(2)},
	})
	check(t, files)
}

func TestMalformedLinesAreNoRequests(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"", "a b c", `h - - "GET / HTTP/1.0" 200 1`, `h - - [10/Oct/2000] "GET / HTTP/1.0" 200 1`, ` - - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.0" 200 1`,
		`h - - [10/Oct/2000:13:55:36 -0700] "GET" 200`,
	} {
		if r, err := parse(t.Context(), []byte(line)); err == nil {
			t.Errorf("%q is the request %+v", line, r)
		}
	}
}
