package rest

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// countingGateway counts how often the jobs are asked for, and one of them, or its vertex.
type countingGateway struct {
	fakeGateway

	asked, ofOne int
}

func (g *countingGateway) JobDetails(ctx context.Context, job ids.JobID) (msg.JobDetails, error) {
	g.ofOne++
	return g.fakeGateway.JobDetails(ctx, job)
}

func (g *countingGateway) VertexSubtasks(ctx context.Context, job ids.JobID, vertex string) (msg.VertexSubtasks, error) {
	g.ofOne++
	return g.fakeGateway.VertexSubtasks(ctx, job, vertex)
}

func (g *countingGateway) Jobs(ctx context.Context) ([]msg.JobOverview, error) {
	g.asked++
	return g.fakeGateway.Jobs(ctx)
}

// TestViewersShareAnswers would catch ten viewers who cost ten times one, an answer that grows old while people look at it, a
// command that does not see what it has just changed, and an answer to another question.
func TestViewersShareAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := &countingGateway{}
		server := newServer(g)
		look := func(path string, asked int) {
			t.Helper()
			w := askServer(server, http.MethodGet, path)
			if w.Code != http.StatusOK || g.asked != asked {
				t.Errorf("%s: status %d, and the jobs were asked for %d times, want %d", path, w.Code, g.asked, asked)
			}
		}
		look("/jobs/overview?maxAge=1000", 1)
		for range 10 {
			look("/jobs/overview?maxAge=1000", 1)
		}
		look("/jobs/overview", 2)
		look("/overview?maxAge=1000", 3)
		time.Sleep(600 * time.Millisecond)
		look("/jobs/overview?maxAge=1000", 3)
		look("/jobs/overview?maxAge=500", 4)
		time.Sleep(600 * time.Millisecond)
		look("/jobs/overview?maxAge=1000", 4) // that of 600 ms ago
		time.Sleep(600 * time.Millisecond)
		look("/jobs/overview?maxAge=100000", 5)
	})
}

// TestViewersOfDetailsShareAnswers would catch viewers of a vertex, of a worker or of charts who each cost the ApplicationMaster an
// answer of their own.
func TestViewersOfDetailsShareAnswers(t *testing.T) {
	t.Parallel()
	const vertex = "/jobs/" + string(runningID) + "/vertices/" + runningVertex
	synctest.Test(t, func(t *testing.T) {
		g := &countingGateway{}
		server := newServer(g)
		processes := &fakeProcesses{}
		server.config.Processes = processes
		sampled := 0
		workers := server.config.Metrics.Workers
		server.config.Metrics.Workers = func(ctx context.Context) (iter.Seq[MeasuredWorker], error) {
			sampled++
			return workers(ctx)
		}
		server.config.Metrics.Worker = namedOf(server.config.Metrics.Workers)
		work := func() int { return g.ofOne + sampled + len(processes.asked) }
		for path, costs := range map[string]bool{
			vertex + "?": true, vertex + "?backpressure=true&": true, vertex + "/subtasktimes?": true, vertex + "/backpressure?": true,
			"/jobs/" + string(runningID) + "/accumulators?": true, "/taskmanagers/" + workerID + "/metrics?get=x&": true,
			"/taskmanagers/metrics?get=x&": true, "/taskmanagers/" + workerID + "/hosts?": true, "/jobmanager/logs?": true,
			"/config?": false, "/taskmanagers/" + workerID + "?": false,
		} {
			before := work()
			var first string
			for i := range 10 {
				w := askServer(server, http.MethodGet, path+"maxAge=1000")
				if i == 0 {
					first = w.Body.String()
				}
				if w.Code != http.StatusOK || w.Body.String() != first {
					t.Errorf("%s: status %d: %s, and another viewer got %s", path, w.Code, w.Body, first)
				}
				time.Sleep(50 * time.Millisecond)
			}
			if cost := work() - before; cost > 2 || costs && cost == 0 { // some need two questions
				t.Errorf("%s: ten viewers cost %d questions", path, cost)
			}
			if len(server.recent.kept) == 0 {
				t.Errorf("%s: no answer is kept", path)
			}
			time.Sleep(longestRecent + 1)
		}
	})
}

// TestNobodySeesAnothersAccess would catch an answer about the rights of one user that another one gets.
func TestNobodySeesAnothersAccess(t *testing.T) {
	t.Parallel()
	s := newServer(&fakeGateway{})
	s.config.Rights = Rights{Owner: "alice", View: ParseACL("bob,carol"), Modify: ParseACL("carol"), Enforced: true}
	for _, name := range []string{"bob", "carol"} {
		w := httptest.NewRecorder()
		h := s.behind(func(http.Header, *http.Request) (caller, error) { return caller{name: name}, nil })
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/access?maxAge=1000", nil))
		if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"`+name+`"`) {
			t.Errorf("%s: status %d: %s", name, w.Code, w.Body)
		}
	}
}

// TestRecentAnswersAreBounded would catch answers that fill the memory of the ApplicationMaster.
func TestRecentAnswersAreBounded(t *testing.T) {
	t.Parallel()
	var kept recent
	one := &answer{room: newAnswerRoom(100, stallTime, msg.ErrNotReady)}
	now := time.Unix(1, 0)
	sum := func() (bytes int) {
		for _, k := range kept.kept {
			bytes += len(k.key) + len(k.told.body) + recentEntry
		}
		return bytes
	}
	for i := range 100 {
		kept.keep(one, string(rune('a'+i%7))+string(rune('a'+i%11)), reply{body: make([]byte, i*1000%(mostRecent/3))}, period{now, now})
		if got := sum(); got != kept.bytes || got > mostRecent {
			t.Fatalf("after %d: %d bytes are kept, and %d counted", i, got, kept.bytes)
		}
	}
	for i := range 1000 { // questions that differ in a parameter that nobody reads
		kept.keep(one, fmt.Sprint("/jobs?x=", i), reply{body: []byte("{}")}, period{now, now})
	}
	if n := len(kept.kept); n > mostRecent/recentEntry {
		t.Errorf("%d small answers are kept", n)
	}
	for _, key := range []string{"large", "larger"} {
		kept.keep(one, key, reply{body: make([]byte, mostRecent+1)}, period{now, now})
	}
	if _, found := kept.find("large", time.Second, now, now); found {
		t.Error("two large answers are kept")
	}
	if _, found := kept.find("larger", time.Second, now, now); !found {
		t.Error("the newest large answer is not kept")
	}
	if kept.find("", 0, now, now.Add(longestRecent+1)); kept.bytes != 0 || len(kept.kept) != 0 || kept.large != nil {
		t.Errorf("%d bytes of old answers are kept, and %v", kept.bytes, kept.large)
	}
}

// tardyGateway needs some time for a long list of jobs.
type tardyGateway struct {
	countingGateway

	takes time.Duration
	name  string // of each of its jobs
}

func (g *tardyGateway) Jobs(ctx context.Context) ([]msg.JobOverview, error) {
	time.Sleep(g.takes)
	jobs, err := g.countingGateway.Jobs(ctx)
	for i := range jobs {
		jobs[i].Name = g.name
	}
	return jobs, err
}

// TestViewersShareWhatIsSlowOrLarge would catch an answer that each viewer composes anew because it takes longer than its age may
// be, or because it is large: these cost most. It would also catch a command that gets an answer from before it came.
func TestViewersShareWhatIsSlowOrLarge(t *testing.T) {
	t.Parallel()
	for name, g := range map[string]*tardyGateway{
		"slow": {takes: 3 * time.Second}, "large": {takes: time.Millisecond, name: strings.Repeat("x", 1<<20)},
		"both": {takes: 3 * time.Second, name: strings.Repeat("x", 1<<20)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				server := newServer(g)
				server.answers = newAnswerRooms(64<<20, "x")
				look := func(path string) {
					if w := askServer(server, http.MethodGet, path); w.Code != http.StatusOK || strings.HasPrefix(path, "/jobs/") && w.Body.Len() < len(g.name) {
						t.Errorf("%s: status %d, %d bytes", path, w.Code, w.Body.Len())
					}
				}
				var viewers sync.WaitGroup
				for range 10 {
					viewers.Go(func() { look("/jobs/overview?maxAge=1000") })
				}
				viewers.Wait()
				if g.asked != 1 {
					t.Errorf("ten viewers at the same time cost %d answers", g.asked)
				}
				look("/overview?maxAge=1000") // a small one drops no large one
				before := g.asked
				if look("/jobs/overview?maxAge=1000"); g.takes < time.Second && g.asked != before {
					t.Error("an answer of a moment ago is composed anew")
				}
				time.Sleep(longestRecent + 1)
				before = g.asked
				look("/jobs/overview?maxAge=1000")
				if g.asked != before+1 {
					t.Errorf("an old answer is taken")
				}
				room := server.answers.all
				if large := len(g.name) > 0; large != (room.held > 0) || len(room.turn) != 0 {
					t.Errorf("%d bytes of kept answers are counted, and %d turns", room.held, len(room.turn))
				}
				// Another answer gets the memory.
				other := &answer{room: room}
				if err := other.enter(t.Context(), int(room.most), func() {}); err != nil {
					t.Fatal(err)
				}
				if _, found := server.recent.find("/jobs/overview", time.Hour, time.Now(), time.Now()); found && len(g.name) > 0 {
					t.Error("an answer is kept in memory that another one has")
				}
				if other.leave(); room.held != 0 || len(room.writing) != 0 || len(room.bodies) != 0 {
					t.Errorf("%d bytes are held by nobody, in %d answers and %d bodies", room.held, len(room.writing), len(room.bodies))
				}
			})
		})
	}
}
