package rest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
)

// someFlames is the graph of a task host with two tasks of a vertex, and one of another vertex.
const someFlames = "1700000000000 12\n" +
	"1 5 e1-v0-s0-a1\n2 4 main.work\n3 3 main.sort\n" +
	"1 2 e1-v0-s1-a0\n2 2 main.work\n" +
	"1 5 e1-v1-s0-a0\n2 5 main.other\n"

// flaming is a server with the options on.
func flaming(t *testing.T, p *fakeProcesses) *Server {
	t.Helper()
	s := newServer(&fakeGateway{})
	options, err := testOptions().With(config.Layer{Source: "test", Values: map[string]string{
		config.RESTFlames.Name(): "true", config.RESTProfiling.Name(): "true", config.RESTFlamesRefresh.Name(): "20 s",
	}})
	if err != nil {
		t.Fatal(err)
	}
	s.config.Options, s.config.Processes = options, p
	return s
}

func getFlames(t *testing.T, s *Server, path string) (int, restapi.FlameGraph) {
	t.Helper()
	w := httptest.NewRecorder()
	s.Unguarded().ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	var answer restapi.FlameGraph
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
		t.Fatalf("%v: %s", err, w.Body)
	}
	return w.Code, answer
}

const flamesOfRunning = "/jobs/" + string(runningID) + "/vertices/" + runningVertex + "/flamegraph"

// TestFlameGraphsOfAVertex would catch the tasks of another vertex in a graph, two subtasks that are not joined, one that
// is shown instead of another, and a graph that is there before it is made.
func TestFlameGraphsOfAVertex(t *testing.T) {
	t.Parallel()
	p := &fakeProcesses{flames: someFlames}
	s := flaming(t, p)
	leaf := func(name string, value int64, children ...restapi.FlameNode) restapi.FlameNode {
		if children == nil {
			children = []restapi.FlameNode{}
		}
		return restapi.FlameNode{Name: name, Value: value, Children: children}
	}
	both := leaf("root", 7, leaf("main.work", 6, leaf("main.sort", 3)))
	first := leaf("root", 5, leaf("main.work", 4, leaf("main.sort", 3)))
	for query, want := range map[string]restapi.FlameGraph{
		"":                       {End: 1_700_000_000_000, Data: &both, Unit: "samples", Workers: 1, Sampled: 1},
		"?subtaskindex=0":        {End: 1_700_000_000_000, Data: &first, Unit: "samples", Workers: 1, Sampled: 1},
		"?type=ON_CPU":           {End: 1_700_000_000_000, Data: &both, Unit: "ms", Workers: 1, Sampled: 1},
		"?type=on_cpu":           {End: 1_700_000_000_000, Data: &both, Unit: "ms", Workers: 1, Sampled: 1}, // Flink's dashboard
		"?subtaskindex=99999999": {End: restapi.FlamesTerminated},
	} {
		if status, got := getFlames(t, s, flamesOfRunning+query); status != http.StatusOK || cmp.Diff(want, got) != "" {
			t.Errorf("%q: status %d (-want +got):\n%s", query, status, cmp.Diff(want, got))
		}
	}
	asked := workerID + " " + workerID + "-1 flames  {Offset:0 Length:0 ID:0} {Mode:ON_CPU Duration:20s Keep:0}"
	if !slices.Contains(p.asked, asked) {
		t.Errorf("asked: %q, want %q", p.asked, asked)
	}
	for _, query := range []string{"?type=cpu", "?subtaskindex=-1", "?subtaskindex=x"} {
		w := httptest.NewRecorder()
		s.Unguarded().ServeHTTP(w, httptest.NewRequest(http.MethodGet, flamesOfRunning+query, nil))
		if w.Code != http.StatusBadRequest {
			t.Errorf("%q: status %d: %s", query, w.Code, w.Body)
		}
	}
	p.started = true
	if status, got := getFlames(t, s, flamesOfRunning); status != http.StatusOK || got.End != restapi.FlamesWaiting || got.Data != nil {
		t.Errorf("before the first graph: status %d: %+v", status, got)
	}
	s.config.Options = testOptions()
	if status, got := getFlames(t, s, flamesOfRunning); status != http.StatusOK || got.End != restapi.FlamesDisabled {
		t.Errorf("without the option: status %d: %+v", status, got)
	}
}

// TestAGraphWithoutAWorker would catch a worker that is frozen and hides what all others do, and one that lies.
func TestAGraphWithoutAWorker(t *testing.T) {
	t.Parallel()
	p := &fakeProcesses{flames: "1700000000000 1\n1 2 e1-v0-s0-a0\n"}
	s := flaming(t, p)
	ask := func(workers ...ids.ResourceID) (restapi.FlameGraph, error) {
		answer, err := s.sample(t.Context(), wantedFlames{job: runningID, subtask: -1, mode: msg.FlameFull}, 0, workers)
		got, _ := answer.(restapi.FlameGraph)
		return got, err
	}
	if _, err := ask(workerID); err == nil || !strings.Contains(err.Error(), "flame graph of worker "+workerID) {
		t.Errorf("a forged graph: %v", err)
	}
	p.flames = someFlames
	if got, err := ask("gone", workerID); err != nil || got.Workers != 2 || got.Sampled != 1 || got.Data.Value != 7 {
		t.Errorf("%+v, %v", got, err)
	}
	p.started = true
	if got, err := ask("gone", workerID); err != nil || got.End != restapi.FlamesWaiting {
		t.Errorf("before the first graph: %+v, %v", got, err)
	}
	if _, err := ask("gone", "gone too"); err == nil {
		t.Error("no worker answers, and there is a graph")
	}
}

// TestStoppedWorkersOfAVertex would catch a flame graph for which a user waits ten seconds for each stopped worker, and one that
// he awaits for ever because no worker answers.
func TestStoppedWorkersOfAVertex(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &stopped{}
		s := flaming(t, &p.fakeProcesses)
		s.config.Processes = p
		var workers []ids.ResourceID
		for i := range 1000 {
			workers = append(workers, ids.ResourceID(fmt.Sprint(i)))
		}
		began := time.Now()
		got, err := s.sample(t.Context(), wantedFlames{job: runningID, subtask: -1, mode: msg.FlameFull}, 0, workers)
		if took := time.Since(began); got != nil || statusOf(err) != http.StatusServiceUnavailable || took != samplingTime {
			t.Errorf("%v, %v after %s", got, err, took)
		}
	})
}

// TestViewersOfAVertexShareASampling would catch viewers of a flame graph who each ask all its workers, and so keep others
// waiting; an answer that is lost because the first viewer has left; and viewers who wait for ever after a panic.
func TestViewersOfAVertexShareASampling(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &stopped{open: make(chan struct{})}
		s := flaming(t, &p.fakeProcesses)
		s.config.Processes = p
		const many = 50
		statuses := make(chan int, many)
		view := func(ctx context.Context, path string) {
			w := httptest.NewRecorder()
			s.Unguarded().ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, path, nil))
			statuses <- w.Code
		}
		first, leave := context.WithCancel(t.Context())
		go view(first, flamesOfRunning) // these end with the answer
		synctest.Wait()
		for i := range many - 2 { // the same question in other words
			go view(t.Context(), []string{"", "/v1"}[i%2]+flamesOfRunning+fmt.Sprint("?type=FULL&x=", i))
		}
		go view(t.Context(), flamesOfRunning+"?subtaskindex=0") // waits for its place
		synctest.Wait()
		leave()
		synctest.Wait()
		if n := p.waits.Load(); n != 1 {
			t.Errorf("%d questions are asked, want 1", n)
		}
		if w := askServer(s, http.MethodGet, "/jobmanager/thread-dump"); w.Code != http.StatusOK {
			t.Errorf("another process: status %d", w.Code)
		}
		close(p.open)
		for range many {
			if status := <-statuses; status != http.StatusOK {
				t.Errorf("a viewer is told %d", status)
			}
		}
		if n := p.waits.Load(); n != 4 {
			t.Errorf("%d questions are asked for two graphs, want 4", n)
		}

		var shared joined
		key, composing := joinedKey{}, make(chan struct{})
		failed := make(chan error, 1)
		go func() {
			<-composing
			_, err := shared.answer(t.Context(), key, func(context.Context) (reply, error) { return reply{}, nil })
			failed <- err
		}()
		func() {
			defer func() { _ = recover() }() // as net/http does
			_, _ = shared.answer(t.Context(), key, func(context.Context) (reply, error) {
				close(composing)
				synctest.Wait()
				panic("a bug")
			})
		}()
		if err := <-failed; !errors.Is(err, errNoInquiry) {
			t.Errorf("after a panic: %v", err)
		}
	})
}

// TestASamplingEndsWithItsViewers would catch questions that go on when all who have asked have left, or when the server has ended,
// and a later viewer who is told of their end.
func TestASamplingEndsWithItsViewers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &stopped{open: make(chan struct{})}
		s := flaming(t, &p.fakeProcesses)
		s.config.Processes = p
		var leaves []context.CancelFunc
		for range 3 {
			ctx, leave := context.WithCancel(t.Context())
			leaves = append(leaves, leave)
			go func() { // ends with its client
				s.Unguarded().ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodGet, flamesOfRunning, nil))
			}()
			synctest.Wait()
		}
		for i, leave := range leaves {
			leave()
			synctest.Wait()
			if n, want := p.ended.Load(), int64(i/2); p.waits.Load() != 1 || n != want {
				t.Errorf("%d viewers have left: %d of %d questions have ended, want %d", i+1, n, p.waits.Load(), want)
			}
		}

		server, pipe := s.httpServer(s.Unguarded()), &pipes{connections: make(chan net.Conn), closed: make(chan struct{})}
		served := make(chan error, 1)
		go func() { served <- server.Serve(pipe) }()
		if _, err := io.WriteString(pipe.dial(t), "GET "+flamesOfRunning+" HTTP/1.1\r\nHost: am\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if n := p.waits.Load(); n != 2 {
			t.Errorf("a later viewer: %d questions are asked, want 2", n)
		}
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		<-served
		synctest.Wait()
		if n := p.ended.Load(); n != 2 {
			t.Errorf("the server has ended, and %d questions have, want 2", n)
		}
		if n := len(s.joined.open) + len(s.answers.all.asking.samplings) + len(s.answers.all.asking.processes); n != 0 {
			t.Errorf("%d places are taken by nobody", n)
		}
	})
}

// frozen are workers of which some have a task host that does not answer: the worker says so after some seconds, or the
// ResourceManager says so at once, because it has not answered before.
type frozen struct {
	fakeProcesses
	hosts map[ids.ResourceID]time.Duration
}

func (p *frozen) Inquire(ctx context.Context, worker ids.ResourceID, _ ids.HostID, about msg.Inquiry) (msg.InquiryAnswer, error) {
	if about.Topic == msg.AboutHosts {
		return msg.InquiryAnswer{Hosts: []msg.HostDetails{{Host: "h1", Job: runningID}, {Host: "h2", Job: failedID}}}, nil
	}
	if takes, is := p.hosts[worker]; is {
		time.Sleep(takes)
		return msg.InquiryAnswer{}, fmt.Errorf("%w: its task host", msg.ErrWorkerSilent)
	}
	return p.fakeProcesses.Inquire(ctx, workerID, "", about)
}

// TestAGraphWithoutFrozenHosts would catch a task host that misses one answer and is hidden for minutes, hosts that are not asked
// and leave a graph with the tasks of a few others, or with none, and viewers of a job whose hosts all are frozen who are not told.
func TestAGraphWithoutFrozenHosts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &frozen{fakeProcesses{flames: someFlames}, map[ids.ResourceID]time.Duration{"w1": 8 * time.Second}}
		s := flaming(t, &p.fakeProcesses)
		s.config.Processes = p
		ask := func(took time.Duration, sampled int, workers ...ids.ResourceID) {
			t.Helper()
			began := time.Now()
			answer, err := s.sample(t.Context(), wantedFlames{job: runningID, subtask: -1, mode: msg.FlameFull}, 0, workers)
			got, _ := answer.(restapi.FlameGraph)
			if time.Since(began) != took || got.Sampled != sampled || sampled > 0 && got.Workers != len(workers) {
				t.Errorf("after %s: %d of %d workers, %v; want %d after %s", time.Since(began), got.Sampled, got.Workers, err, sampled, took)
			}
			if sampled == 0 && statusOf(err) != http.StatusServiceUnavailable {
				t.Errorf("no worker answers: %v", err)
			}
		}
		ask(8*time.Second, 1, "w1", "w2")
		delete(p.hosts, "w1")
		ask(0, 2, "w1", "w2") // it was late once

		var workers []ids.ResourceID
		for i := range 2 * mostSampled {
			workers = append(workers, ids.ResourceID(fmt.Sprint(i)))
			if i%2 == 0 { // these are tried first
				p.hosts[workers[i]] = 0
			}
		}
		ask(0, mostSampled, workers...)
		for _, worker := range workers {
			p.hosts[worker] = 0
		}
		ask(0, 0, workers...)
	})
}

// TestSomeOfManyWorkersAreAsked would catch a graph of a thousand workers that asks all of them.
func TestSomeOfManyWorkersAreAsked(t *testing.T) {
	t.Parallel()
	p := &manyProcesses{fakeProcesses: fakeProcesses{flames: someFlames}, asked: make(chan ids.ResourceID, 4000)}
	s := flaming(t, &p.fakeProcesses)
	s.config.Processes = p
	var workers []ids.ResourceID
	for i := range 1000 {
		workers = append(workers, ids.ResourceID(fmt.Sprint(i)))
	}
	answer, err := s.sample(t.Context(), wantedFlames{job: runningID, subtask: -1, mode: msg.FlameFull}, 0, workers)
	got, _ := answer.(restapi.FlameGraph)
	if err != nil || got.Workers != 1000 || got.Sampled != mostSampled || got.Data.Value != 7*mostSampled {
		t.Errorf("%+v, %v", got, err)
	}
	close(p.asked)
	seen := map[ids.ResourceID]bool{}
	for worker := range p.asked {
		seen[worker] = true
	}
	if len(seen) != mostSampled || !seen["0"] || !seen["937"] {
		t.Errorf("asked: %v", seen)
	}
}

// TestFlameGraphsOfAProcess would catch the heap that is shown as processor time, and a graph without the option.
func TestFlameGraphsOfAProcess(t *testing.T) {
	t.Parallel()
	p := &fakeProcesses{flames: someFlames}
	s := flaming(t, p)
	for path, want := range map[string]string{
		"/jobmanager/flamegraph?kind=heap": "bytes", "/taskmanagers/" + workerID + "/flamegraph": "ms",
		"/taskmanagers/" + workerID + "/flamegraph?kind=cpu&host=" + workerID + "-1": "ms",
	} {
		if status, got := getFlames(t, s, path); status != http.StatusOK || got.Unit != want || got.Data == nil || got.Data.Value != 12 {
			t.Errorf("%s: status %d: %+v", path, status, got)
		}
	}
	if status, _ := getFlames(t, s, "/jobmanager/flamegraph?kind=wall"); status != http.StatusBadRequest {
		t.Errorf("an unknown kind: status %d", status)
	}
	p.started = true
	if _, got := getFlames(t, s, "/jobmanager/flamegraph"); got.End != restapi.FlamesWaiting {
		t.Errorf("before the first graph: %+v", got)
	}
	s.config.Options = testOptions()
	if status, _ := getFlames(t, s, "/jobmanager/flamegraph"); status != http.StatusNotFound {
		t.Errorf("without the option: status %d", status)
	}
}

// TestFlameGraphsAreForThoseWhoMayChange would catch a viewer who makes processes work, and other applications' pages
// behind the proxy that see a user's code.
func TestFlameGraphsAreForThoseWhoMayChange(t *testing.T) {
	t.Parallel()
	s := flaming(t, &fakeProcesses{flames: someFlames})
	s.config.Rights = Rights{Owner: "alice", View: ParseACL("bob"), Modify: ParseACL("carol"), Enforced: true}
	for _, test := range []struct {
		caller caller
		want   int
	}{
		{caller{token: true}, http.StatusOK},
		{caller{name: "carol"}, http.StatusOK},
		{caller{name: "bob"}, http.StatusForbidden},
		{caller{name: "alice", proxied: true}, http.StatusForbidden},
	} {
		h := s.behind(func(http.Header, *http.Request) (caller, error) { return test.caller, nil })
		for _, path := range []string{flamesOfRunning, "/jobmanager/flamegraph", "/taskmanagers/" + workerID + "/flamegraph"} {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
			if w.Code != test.want {
				t.Errorf("%s by %+v: status %d, want %d: %s", path, test.caller, w.Code, test.want, w.Body)
			}
		}
	}
}

// manyProcesses are many workers, each with a task host of the same job.
type manyProcesses struct {
	fakeProcesses
	asked chan ids.ResourceID // buffered
}

func (p *manyProcesses) Inquire(_ context.Context, worker ids.ResourceID, _ ids.HostID, about msg.Inquiry) (msg.InquiryAnswer, error) {
	p.asked <- worker
	if about.Topic == msg.AboutHosts {
		return msg.InquiryAnswer{Hosts: []msg.HostDetails{{Host: "h", Job: runningID}}}, nil
	}
	return msg.InquiryAnswer{Content: []byte(p.flames)}, nil
}

// TestEachWorkerOfAVertexIsAskedOnce would catch a worker that is asked once for each of its subtasks, or one that runs none.
func TestEachWorkerOfAVertexIsAskedOnce(t *testing.T) {
	t.Parallel()
	all := runsOn("w2", "w1", "w2", "", "w1")
	all.Subtasks = append(all.Subtasks, msg.Subtask{TaskAttempt: msg.TaskAttempt{State: msg.ExecutionFinished, Resource: "w3"}})
	for subtask, want := range map[int]string{-1: "[w2 w1]", 1: "[w1]", 3: "[]", 5: "[]", 7: "[]"} {
		if got := fmt.Sprint(wantedFlames{subtask: subtask}.workers(all)); got != want {
			t.Errorf("subtask %d runs on %s, want %s", subtask, got, want)
		}
	}
}

// BenchmarkWorkersOfAVertex would show work that grows with the square of the subtasks.
func BenchmarkWorkersOfAVertex(b *testing.B) {
	for _, subtasks := range []int{100, 10_000} {
		workers := make([]ids.ResourceID, subtasks)
		for i := range workers {
			workers[i] = ids.ResourceID(fmt.Sprintf("container_1_0001_01_%06d", i))
		}
		v := runsOn(workers...)
		b.Run(fmt.Sprint(subtasks), func(b *testing.B) {
			for b.Loop() {
				wantedFlames{subtask: -1}.workers(v)
			}
		})
	}
}

// runsOn is a vertex whose subtasks run on these workers.
func runsOn(workers ...ids.ResourceID) (v msg.VertexSubtasks) {
	for _, w := range workers {
		v.Subtasks = append(v.Subtasks, msg.Subtask{TaskAttempt: msg.TaskAttempt{State: msg.ExecutionRunning, Resource: w}})
	}
	return v
}
