package rest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// longGateway knows many jobs.
type longGateway struct{ fakeGateway }

func (g *longGateway) Jobs(context.Context) ([]msg.JobOverview, error) {
	jobs := make([]msg.JobOverview, 1000)
	for i := range jobs {
		jobs[i] = msg.JobOverview{ID: ids.JobID(fmt.Sprintf("%032x", i)), Name: strings.Repeat("long ", 60), Status: msg.JobRunning}
	}
	return jobs, nil
}

// ask sends a request for the list of these jobs.
func (p *pipes) ask(t *testing.T) net.Conn {
	t.Helper()
	conn := p.dial(t)
	if _, err := io.WriteString(conn, "GET /jobs/overview HTTP/1.1\r\nHost: am\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	return conn
}

// TestSlowReadersOfALargePageChangeNothing is the attack of a user who may look: he asks for a large page on 200
// connections, and reads none of the answers. It would catch a master whose memory they fill, and one that lets others
// wait until the readers' time is over.
func TestSlowReadersOfALargePageChangeNothing(t *testing.T) {
	t.Parallel()
	const memory, readers = 2 << 20, 200
	synctest.Test(t, func(t *testing.T) {
		p := &pipes{connections: make(chan net.Conn), closed: make(chan struct{})}
		ctx, cancel := context.WithCancel(t.Context())
		s := newServer(&longGateway{})
		s.answers = newAnswerRoom(memory)
		served := make(chan error, 1)
		go func() { served <- s.Serve(ctx, p) }()
		var slow []net.Conn
		for range readers {
			slow = append(slow, p.ask(t))
		}
		time.Sleep(time.Minute / 2) // less than the time that an answer may take
		synctest.Wait()
		if s.answers.held > memory || len(s.answers.writing) == 0 {
			t.Errorf("%d answers are held, of %d bytes, want %d bytes at most", len(s.answers.writing), s.answers.held, memory)
		}
		began := time.Now()
		for range 10 {
			response, err := http.ReadResponse(bufio.NewReader(p.ask(t)), nil)
			if err != nil {
				t.Fatalf("who reads: %v", err)
			}
			body, err := io.ReadAll(response.Body)
			if err != nil || len(body) < 300_000 || int64(len(body)) != response.ContentLength {
				t.Fatalf("who reads gets %d bytes of %d, %v", len(body), response.ContentLength, err)
			}
			response.Body.Close()
		}
		if took := time.Since(began); took > 0 {
			t.Errorf("who reads waits for %v", took)
		}
		open := 0
		for _, conn := range slow {
			if n, err := io.Copy(io.Discard, conn); err != nil && !errors.Is(err, io.EOF) {
				t.Error(err)
			} else if n > 300_000 {
				open++
			}
		}
		if open > 2*memory/300_000 {
			t.Errorf("%d slow readers have an answer yet", open)
		}
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
		time.Sleep(time.Second) // as inBubble
	})
}

// TestAReaderIsNotCutWhileItReads would catch an answer that breaks off because many others are being read.
func TestAReaderIsNotCutWhileItReads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAnswerRoom(100)
		cut := map[string]bool{}
		enter := func(name string, size int) *answer {
			w, err := a.hold(t.Context(), size, false, func() { cut[name] = true })
			if err != nil {
				t.Fatal(err)
			}
			return w
		}
		reads, stalls := enter("reads", 40), enter("stalls", 40)
		go func() { // ends with the answer
			for range 100 {
				time.Sleep(stallTime / 2)
				a.progress(reads)
			}
			a.leave(reads)
		}()
		began := time.Now()
		late := enter("late", 40)
		if took := time.Since(began); took != stallTime || !cut["stalls"] || cut["reads"] {
			t.Errorf("after %v these are cut: %v", took, cut)
		}
		a.leave(stalls) // as it does when it is cut
		a.leave(late)
		began = time.Now()
		huge := enter("huge", 1000) // more than there is
		if took := time.Since(began); cut["reads"] || took < time.Second || a.held != 100 {
			t.Errorf("after %v these are cut: %v; %d bytes are held", took, cut, a.held)
		}
		ctx, cancel := context.WithTimeout(t.Context(), stallTime/2)
		defer cancel()
		if _, err := a.hold(ctx, 1, false, func() {}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("who has left is held: %v", err)
		}
		a.leave(huge)
		if a.held != 0 || len(a.writing) != 0 {
			t.Errorf("%d bytes are held by nobody", a.held)
		}
	})
}

// TestViewsCountFromWhenTheyAreComposed would catch views that fill the memory before anything is written of them: they
// count as long as the longest was, and none of them waits for room once it is composed.
func TestViewsCountFromWhenTheyAreComposed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const most, length = 1600, 100
		a := newAnswerRoom(most)
		ctx, cancel := context.WithCancel(t.Context())
		views := make(chan *answer, 20)
		var waiting sync.WaitGroup
		for range cap(views) {
			waiting.Go(func() {
				if view, err := a.compose(ctx, false); err == nil {
					views <- view
				}
			})
		}
		composed := func(want int, held int64) {
			t.Helper()
			synctest.Wait()
			if len(views) != want || a.held != held {
				t.Fatalf("%d views are composed at once, and %d bytes are held; want %d and %d", len(views), a.held, want, held)
			}
		}
		composed(maxComposed, most)
		one := <-views
		a.written(one, length, func() { t.Error("one that was just composed is cut") })
		composed(3, 3*most/4+length) // another would count as 400
		a.leave(one)
		composed(4, most)
		for range 3 { // they take less than is foreseen for the next
			view := <-views
			a.written(view, length, func() {})
			a.leave(view)
		}
		composed(4, most)
		long := <-views
		a.written(long, most/2, func() {})
		a.leave(<-views)
		a.leave(<-views)
		composed(1, most/4+most/2) // the next one needs all room
		a.leave(<-views)
		composed(0, most/2)
		time.Sleep(stallTime) // nobody reads the long one
		composed(1, most)
		cancel()
		a.leave(<-views)
		a.leave(long) // as its connection ends
		waiting.Wait()
		for len(views) > 0 { // a place, and the end, may have come at once
			a.leave(<-views)
		}
		if a.held != 0 || len(a.writing) != 0 || len(a.common) != 0 {
			t.Errorf("%d bytes and %d places are held by nobody", a.held, len(a.common))
		}
	})
}

// TestTheOwnersViewsDoNotWaitForOthers would catch users who may look, and who keep the owner from looking: by many who
// read, slowly and steadily, all that there is room for, and by more who wait for that. It would catch, too, an owner's
// connections that take any memory.
func TestTheOwnersViewsDoNotWaitForOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const most = 1000
		a := newAnswerRoom(most)
		ctx, cancel := context.WithCancel(t.Context())
		var others sync.WaitGroup
		for range 4 {
			others.Go(func() {
				one, err := a.hold(ctx, most/4, false, func() { t.Error("one is cut that reads") })
				if err != nil {
					t.Error(err)
				}
				for ctx.Err() == nil {
					time.Sleep(stallTime / 2)
					a.progress(one)
				}
				a.leave(one)
			})
		}
		synctest.Wait()
		for range 2 * maxComposed {
			others.Go(func() {
				if view, err := a.compose(ctx, false); err == nil {
					a.leave(view)
					if ctx.Err() == nil {
						t.Error("one who may look gets in beyond the room")
					}
				}
			})
		}
		synctest.Wait()
		began := time.Now()
		for _, length := range []int{most / 10, 10 * most} {
			view, err := a.compose(t.Context(), true)
			if err != nil {
				t.Fatal(err)
			}
			a.written(view, length, func() {})
			a.leave(view)
			result, err := a.hold(t.Context(), length, true, func() {})
			if err != nil {
				t.Fatal(err)
			}
			a.leave(result)
		}
		if took := time.Since(began); took > 0 {
			t.Errorf("the owner waits for %s", took)
		}
		view, err := a.compose(t.Context(), true)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.compose(t.Context(), true); !errors.Is(err, msg.ErrNotReady) {
			t.Errorf("two of the owner's get in beyond the room: %v", err)
		}
		a.leave(view)
		cancel()
		others.Wait()
		if a.held != 0 || len(a.common)+len(a.firsts) != 0 {
			t.Errorf("%d bytes and %d places are held by nobody", a.held, len(a.common)+len(a.firsts))
		}
	})
}

// TestFewViewsAreComposedAtOnce would catch a thousand readers who ask at once, and fill the memory before anything is
// written; and a place that is lost with a handler that panics.
func TestFewViewsAreComposedAtOnce(t *testing.T) {
	t.Parallel()
	for longest, want := range map[int64]int64{
		0:                                      maxComposed,
		answersMemory / viewCost / 2:           2, // which leave no room for a third
		answersMemory / viewCost:               1,
		answersMemory:                          1,
		answersMemory / viewCost / maxComposed: maxComposed,
	} {
		t.Run(fmt.Sprint(longest), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := &gateGateway{open: make(chan struct{})}
				s := newServer(g)
				s.config.Rights = Rights{View: ParseACL("*")}
				s.answers.longest = longest
				looking := s.behind(func(http.Header, *http.Request) (caller, error) { return caller{name: "bob"}, nil })
				answers := make(chan int, 1000)
				for range cap(answers) {
					go func() { // ends with its answer
						w := httptest.NewRecorder()
						looking.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/jobs", nil))
						answers <- w.Code
					}()
				}
				synctest.Wait()
				if got := g.asked.Load(); got != want {
					t.Errorf("%d views are composed at once, want %d", got, want)
				}
				close(g.open)
				for range cap(answers) {
					if status := <-answers; status != http.StatusOK {
						t.Fatalf("status %d", status)
					}
				}
				panicking := s.handler(route{access: view}, func(*http.Request) (any, error) { panic("test") })
				func() {
					defer func() { _ = recover() }()
					panicking.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil))
				}()
				if a := s.answers; a.held > 0 || len(a.common) > 0 {
					t.Errorf("%d bytes and %d places are taken by nobody", a.held, len(a.common))
				}
			})
		})
	}
}

// TestAViewTakesWhatItCountsFor would catch views of which a few fill the memory, as more is made of them on their way
// than what counts.
func TestAViewTakesWhatItCountsFor(t *testing.T) {
	s := newServer(&wideGateway{vertices: 2000})
	r := httptest.NewRequest(http.MethodGet, "/jobs/"+string(runningID), nil)
	r.SetPathValue("job", string(runningID))
	before := inUse()
	details, err := s.details(r)
	if err != nil {
		t.Fatal(err)
	}
	value := jobDetailsOf(details, time.Now())
	made := inUse() - before
	runtime.KeepAlive(details)
	length := int64(cap(s.replyOf(r, http.StatusOK, value).body))
	// JSON's encoder has the text in a buffer that grows by a quarter at a time, and copies it then.
	if takes := made + length*5/4 + length; takes > viewCost*length {
		t.Errorf("a view of %d bytes takes %d while it is composed, %d of them for what it is made of; it counts as %d", length, takes, made, viewCost*length)
	}
}

// inUse is how much memory is in use, in bytes.
func inUse() int64 {
	runtime.GC()
	runtime.GC() // what a pool has goes with the second one
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// wideGateway knows jobs of many vertices.
type wideGateway struct {
	fakeGateway
	vertices int
}

func (g *wideGateway) JobDetails(_ context.Context, job ids.JobID) (msg.JobDetails, error) {
	d := msg.JobDetails{ID: job, Name: "wide", Status: msg.JobRunning}
	for i := range g.vertices {
		d.Vertices = append(d.Vertices, msg.VertexDetails{
			ID: fmt.Sprintf("%032x", i), Name: fmt.Sprintf("FlatMap(%d) -> Filter -> Map", i), Parallelism: 100, Status: msg.ExecutionRunning,
			Tasks:  map[msg.ExecutionState]int{msg.ExecutionRunning: 60, msg.ExecutionFinished: 40},
			Inputs: []msg.VertexInput{{Vertex: fmt.Sprintf("%032x", i-1), Pattern: jobgraph.AllToAll}},
		})
	}
	return d, nil
}

// gateGateway keeps those who ask waiting.
type gateGateway struct {
	fakeGateway
	open  chan struct{}
	asked atomic.Int64
}

func (g *gateGateway) Jobs(ctx context.Context) ([]msg.JobOverview, error) {
	g.asked.Add(1)
	<-g.open
	return g.fakeGateway.Jobs(ctx)
}
