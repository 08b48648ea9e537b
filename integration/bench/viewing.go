package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/pause"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
)

// question is a path of REST that a part of the page asks for, and the time from one request to the next.
type question struct {
	path    string
	every   time.Duration
	changes bool // only users who may change the job may ask
	follows bool // it is a log: the first request is for its end, each later one for what was written since
}

// shown are the questions of a page; see usePoll and useFollowed in web/src.
type shown struct {
	name      string
	questions []question
}

// The metrics for which the page asks a process and a protocol; see processMetrics, metricsPath and pathOf in web/src.
const (
	askedOfProcess = "Status.Process.Memory.Resident,Status.Container.Memory.Resident,Status.Process.Memory.Budget,Status.Go.Memory.Heap.Used," +
		"Status.Go.Memory.Total,Status.Go.Memory.Heap.Max,Status.Go.CPU.Load,Status.Go.Goroutines.Count,Status.Go.Threads.Count," +
		"Status.Go.GarbageCollector.All.Count,Status.Go.GarbageCollector.All.Time"
	askedInList = "Status.Container.Memory.Resident,Status.Process.Memory.Budget,Status.Go.CPU.Load"
	askedOfYARN = "Yarn.allocateLatency_median,Yarn.allocateLatency_p99,Yarn.allocateFailures,openAsks,numRegisteredTaskManagers,numPendingTaskManagers"
)

// askedProtocols are those that an ApplicationMaster calls.
func askedProtocols() []string {
	return []string{"ApplicationMasterProtocol", "ClientProtocol", "ContainerManagementProtocol"}
}

// shownPages are the pages that people leave open. A JOB, a VERTEX and a WORKER with a number in a path are those of the running job.
func shownPages() []shown {
	const fast, slow, rarely = 3 * time.Second, 5 * time.Second, time.Minute
	const chart, table = 3 * time.Second, 4 * time.Second
	const settled = 15 * time.Second // what is over, as a start is
	frame := []question{{path: "overview", every: table}, {path: "config", every: rarely}, {path: "access", every: rarely}}
	ask := func(path string, every time.Duration) question { return question{path: path, every: every} }
	page := func(name string, own ...question) shown { return shown{name, append(own, frame...)} }
	job := []question{ask("jobs/JOB", fast), ask("jobs/JOB/vertices", fast)} // it does not wait: all tasks run
	ofJob := func(name string, own ...question) shown { return page(name, append(own, job...)...) }
	list := []question{ask("taskmanagers", table), ask("slots", table)}
	for i := range lingering {
		list = append(list, ask(fmt.Sprintf("taskmanagers/WORKER%d/metrics?get=%s", i, askedInList), slow))
	}
	master := []question{ask("jobmanager/metrics?get="+askedOfYARN, table), ask("jobmanager/metrics", rarely)}
	for _, name := range askedProtocols() {
		var get []string
		for _, field := range []string{"calls", "failures", "latency_median", "latency_p99", "latency_max"} {
			get = append(get, "Rpc.protocol."+name+"."+field)
		}
		master = append(master, ask("jobmanager/metrics?get="+strings.Join(get, ","), table))
	}
	return []shown{
		page("overview", ask("jobs/overview", fast), ask("slots", table), ask("taskmanagers", table),
			ask("jobs/JOB/vertices", table), ask("application", 2*slow), ask("start", settled)),
		ofJob("job, with a vertex open", ask("jobs/JOB/vertices/VERTEX?backpressure=true", fast)),
		ofJob("time line of the job", ask("jobs/JOB/timeline", slow), ask("jobs/JOB/start", settled)),
		ofJob("flame graph of a vertex", question{path: "jobs/JOB/vertices/VERTEX/flamegraph?type=FULL", every: 20 * time.Second, changes: true}), // a graph is a minute old before the page asks more often for the next one
		page("list of workers", list...),
		page("worker", ask("taskmanagers/WORKER0", chart), ask("taskmanagers/WORKER0/metrics?get="+askedOfProcess, chart)),
		page("task hosts of a worker", ask("taskmanagers/WORKER0", chart), ask("taskmanagers/WORKER0/hosts", slow), ask("jobs/overview", slow)),
		page("log of a worker", ask("taskmanagers/WORKER0", chart),
			question{path: "taskmanagers/WORKER0/logs/" + launch.WorkerLog + ".log", every: fast, follows: true}),
		page("master: YARN and HDFS", master...),
	}
}

// firstPart is how much of the end of a log the page reads first, in bytes.
const firstPart = 256 << 10

// next returns what asks once more, and counts the requests.
func (q question) next(ctx context.Context, client *http.Client, url string, access launch.Access, count *int) func() error {
	token := access.Viewer
	if q.changes {
		token = access.Token
	}
	if !q.follows {
		url += maxAgeOf(q.path)
		return func() error {
			*count++
			_, _, err := get(ctx, client, url, token)
			return err
		}
	}
	from := fmt.Sprintf("?offset=-%d", firstPart)
	return func() error {
		*count++
		header, _, err := get(ctx, client, url+from, token)
		if err != nil {
			return err
		}
		from = "?offset=" + header.Get(restapi.HeaderNext)
		if file := header.Get(restapi.HeaderFile); file != "" {
			from += "&file=" + file
		}
		return nil
	}
}

// polls calls f at an interval until ctx ends, first at a random time within it: viewers open the page at any time.
func polls(ctx context.Context, every time.Duration, f func() error) error {
	for wait := rand.N(every); pause.For(ctx, wait) == nil; wait = every {
		if err := f(); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

// maxAgeOf says, as the page does, that an answer may be a second old.
func maxAgeOf(path string) string {
	if strings.Contains(path, "?") {
		return "&maxAge=1000"
	}
	return "?maxAge=1000"
}

// newViewer makes the client of one person, who has the certificate authority of the application.
func newViewer(access launch.Access) (*http.Client, error) {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(access.Authority) {
		return nil, errors.New("the access file has no certificate authority")
	}
	return &http.Client{Transport: &http.Transport{Proxy: nil, MaxIdleConnsPerHost: 6, MaxConnsPerHost: 6, TLSClientConfig: &tls.Config{RootCAs: roots}}}, nil
}

// get reads a path of REST.
func get(ctx context.Context, client *http.Client, url, token string) (header http.Header, body []byte, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, nil, err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := client.Do(request)
	if err != nil {
		return nil, nil, err
	}
	defer response.Body.Close()
	body, err = io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("GET %s: %s: %.200s", url, response.Status, body)
	}
	return response.Header, body, err
}

// namesOf finds the job, a vertex and the workers to look at.
func namesOf(ctx context.Context, access launch.Access) (*strings.Replacer, error) {
	client, err := newViewer(access)
	if err != nil {
		return nil, err
	}
	defer client.CloseIdleConnections()
	read := func(path string, into any) error {
		_, body, err := get(ctx, client, "https://"+access.Address+"/v1/"+path, access.Viewer)
		if err != nil {
			return err
		}
		return json.Unmarshal(body, into)
	}
	var jobs struct{ Jobs []struct{ JID string } }
	if err := read("jobs/overview", &jobs); err != nil || len(jobs.Jobs) != 1 {
		return nil, errors.Join(fmt.Errorf("the session has %d jobs, want 1", len(jobs.Jobs)), err)
	}
	job := jobs.Jobs[0].JID
	var details struct{ Vertices []struct{ ID string } }
	if err := read("jobs/"+job, &details); err != nil || len(details.Vertices) == 0 {
		return nil, errors.Join(errors.New("the job has no vertex"), err)
	}
	var workers struct{ TaskManagers []struct{ ID string } }
	if err := read("taskmanagers", &workers); err != nil || len(workers.TaskManagers) < lingering {
		return nil, errors.Join(fmt.Errorf("the session has %d workers, want %d", len(workers.TaskManagers), lingering), err)
	}
	names := []string{"JOB", job, "VERTEX", details.Vertices[0].ID}
	for i := range lingering {
		names = append(names, fmt.Sprint("WORKER", i), workers.TaskManagers[i].ID)
	}
	return strings.NewReplacer(names...), nil
}
