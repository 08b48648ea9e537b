package appmaster

import (
	"context"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/appmaster/rest"
	"github.com/bobbin-yarn/bobbin/appmaster/rest/resttest"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/pki"
)

// TestAMetricOfAWideVertexAllocatesLittle would catch samples of all subtasks that are made at once: those of 10,000 subtasks take
// 200 MB, for an answer of a hundred bytes that the page asks for every two seconds.
func TestAMetricOfAWideVertexAllocatesLittle(t *testing.T) { //nolint:paralleltest // it counts the allocations of the process
	const subtasks = 10_000
	job, vertex := ids.JobID(strings.Repeat("b", 32)), strings.Repeat("a", 32)
	wide := tasksOf(t, 1, subtasks+1)
	m := measured{
		details: func(ctx context.Context, _ ids.JobID) (msg.JobDetails, error) { return wide.details(ctx, "job1") },
		subtasks: func(ctx context.Context, _ ids.JobID, vertex string) (msg.VertexSubtasks, error) {
			return wide.subtasks(ctx, "job1", vertex)
		},
	}
	access := resttest.Serve(t, nil, rest.Config{Metrics: rest.Metrics{Vertex: m.ofVertex}})
	secure, err := pki.RESTClientTLS(access.Authority)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: secure}}
	defer client.CloseIdleConnections()
	path := "/jobs/" + string(job) + "/vertices/" + vertex
	get := func(query string) (answer string, allocated uint64) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+access.Address+path+query, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+access.Token)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		reply, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer reply.Body.Close()
		body, err := io.ReadAll(reply.Body)
		if err != nil || reply.StatusCode != http.StatusOK {
			t.Fatalf("GET %s: status %d, %v: %s", query, reply.StatusCode, err, body)
		}
		runtime.ReadMemStats(&after)
		return strings.TrimSpace(string(body)), after.TotalAlloc - before.TotalAlloc
	}
	get("/subtasks/0/metrics") // it connects
	for _, test := range []struct {
		query, want string
		most        uint64 // bytes for each subtask
	}{
		{"/metrics?get=7.numRecordsIn", `[{"id":"7.numRecordsIn","value":"10"}]`, 1000},
		{"/subtasks/7/metrics?get=parse.depth", `[{"id":"parse.depth","value":"4"}]`, 1000},
		{"/subtasks/metrics?get=numRecordsIn,read.calls&agg=max,sum", `[{"id":"numRecordsIn","max":10,"sum":100000},{"id":"read.calls","max":0.5,"sum":5000}]`, 5000},
		{"/subtasks/metrics?subtasks=3-4&get=numRecordsIn&agg=sum", `[{"id":"numRecordsIn","sum":20}]`, 1000},
	} {
		answer, allocated := get(test.query)
		if answer != test.want {
			t.Errorf("GET %s: %s\nwant %s", test.query, answer, test.want)
		}
		if allocated > test.most*subtasks {
			t.Errorf("GET %s allocates %d bytes, more than %d for each of %d subtasks", test.query, allocated, test.most, subtasks)
		}
	}
}
