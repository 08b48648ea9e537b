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
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

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
		enter := func(name string, size int) *written {
			w, err := a.hold(t.Context(), size, func() { cut[name] = true })
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
		if _, err := a.hold(ctx, 1, func() {}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("who has left is held: %v", err)
		}
		a.leave(huge)
		if a.held != 0 || len(a.writing) != 0 {
			t.Errorf("%d bytes are held by nobody", a.held)
		}
	})
}

// TestFewViewsAreComposedAtOnce would catch a thousand readers who ask at once, and fill the memory before anything is
// written; and a place that is lost with a handler that panics.
func TestFewViewsAreComposedAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := &gateGateway{open: make(chan struct{})}
		s := newServer(g)
		answers := make(chan int, 1000)
		ask := func() {
			w := httptest.NewRecorder()
			s.Unguarded().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/jobs", nil))
			answers <- w.Code
		}
		for range cap(answers) {
			go ask() // ends with its answer
		}
		synctest.Wait()
		if got := g.asked.Load(); got != maxComposed {
			t.Errorf("%d views are composed at once, want %d", got, maxComposed)
		}
		close(g.open)
		for range cap(answers) {
			if status := <-answers; status != http.StatusOK {
				t.Fatalf("status %d", status)
			}
		}
		if held := len(s.answers.composing); held > 0 {
			t.Errorf("%d places are taken by nobody", held)
		}
		panicking := s.handler(route{access: view}, func(*http.Request) (any, error) { panic("test") })
		func() {
			defer func() { _ = recover() }()
			panicking.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil))
		}()
		if held := len(s.answers.composing); held > 0 {
			t.Errorf("%d places are lost with a handler that panics", held)
		}
	})
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
