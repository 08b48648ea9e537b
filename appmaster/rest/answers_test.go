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
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/appmaster/budget"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// longGateway has many jobs.
type longGateway struct{ fakeGateway }

func (g *longGateway) Jobs(context.Context) ([]msg.JobOverview, error) {
	jobs := make([]msg.JobOverview, 100)
	for i := range jobs {
		jobs[i] = msg.JobOverview{ID: ids.JobID(fmt.Sprintf("%032x", i)), Name: strings.Repeat("long ", 600), Status: msg.JobRunning}
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

// TestSlowReadersOfALargePageChangeNothing is the attack of a user who may view: he requests a large page
// on 200 connections, and reads none of the answers. It would catch answers that fill the
// ApplicationMaster's memory, and other users who wait until the readers' time is over.
func TestSlowReadersOfALargePageChangeNothing(t *testing.T) {
	t.Parallel()
	const memory, readers = 2 << 20, 200
	synctest.Test(t, func(t *testing.T) {
		p := &pipes{connections: make(chan net.Conn), closed: make(chan struct{})}
		ctx, cancel := context.WithCancel(t.Context())
		s := newServer(&longGateway{})
		s.answers = newAnswerRooms(4*memory, config.JobManagerProcessSize)
		served := make(chan error, 1)
		go func() { served <- s.Serve(ctx, p) }()
		var slow []net.Conn
		for range readers {
			slow = append(slow, p.ask(t))
		}
		time.Sleep(time.Minute / 2) // less than the time that an answer may take
		synctest.Wait()
		if a := s.answers.some; a.held > memory || len(a.writing) == 0 {
			t.Errorf("%d answers are held, of %d bytes, want %d bytes at most", len(a.writing), a.held, memory)
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
		time.Sleep(time.Second) // as in inBubble
	})
}

// steady enters an answer that is read slowly, and never stalls, until ctx ends.
func steady(ctx context.Context, t *testing.T, room *answerRoom, size int) *answer {
	t.Helper()
	one := &answer{room: room}
	if err := one.enter(ctx, size, func() { t.Error("one is cut that reads") }); err != nil {
		t.Fatal(err)
	}
	go func() { // ends with ctx
		parts := time.NewTicker(room.stall / 2)
		defer parts.Stop()
		for {
			select {
			case <-parts.C:
				one.progress()
			case <-ctx.Done():
				return
			}
		}
	}()
	return one
}

// TestAReaderIsNotCutWhileItReads would catch an answer that is cut because many others are being read, an
// answer larger than the room that never gets in, and memory that stays reserved without an answer.
func TestAReaderIsNotCutWhileItReads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		room, ctx := newAnswerRoom(100, stallTime, msg.ErrNotReady), t.Context()
		reading, end := context.WithCancel(ctx)
		reads := steady(reading, t, room, 40)
		cut := false
		stalls := &answer{room: room}
		if err := stalls.enter(ctx, 40, func() { cut = true }); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		late := steady(reading, t, room, 40)
		if took := time.Since(began); took != stallTime || !cut {
			t.Errorf("the reader that stalls is cut: %t, after %s", cut, took)
		}
		stalls.leave() // as an answer does when it is cut
		if room.held != 80 {
			t.Errorf("%d bytes are held, want 80", room.held)
		}
		time.AfterFunc(time.Second, func() {
			reads.leave()
			late.leave()
		})
		huge := &answer{room: room}
		if err := huge.enter(ctx, 1000, func() { t.Error("one is cut for nobody") }); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took < time.Second || room.held != 100 {
			t.Errorf("an answer that is too large gets in after %s; %d bytes are held", took, room.held)
		}
		gone, cancel := context.WithTimeout(ctx, stallTime/2)
		defer cancel()
		if err := (&answer{room: room}).enter(gone, 1, func() {}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a reader that has left is held: %v", err)
		}
		huge.leave()
		huge.leave()
		if room.held != 0 || len(room.writing) != 0 || len(room.turn) != 0 {
			t.Errorf("%d bytes are held by nobody, and %d turns", room.held, len(room.turn))
		}
		end()
	})
}

// TestAnAnswerThatTookLongIsWritten would catch an answer that a slow process has given, and that is thrown away because the time
// for waiting is over: by chance if there is room, and always if others are just being composed.
func TestAnAnswerThatTookLongIsWritten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		room, ctx := newAnswerRoom(100, stallTime, msg.ErrNotReady), t.Context()
		for i := range 50 {
			other := &answer{room: room}
			one := &answer{room: room}
			if err := one.inquire(ctx, "w1", false); err != nil {
				t.Fatal(err)
			}
			time.Sleep(budget.RoomTime + time.Second) // the process is slow
			if i%2 == 1 {                             // the room is not free at once
				if err := other.await(ctx); err != nil {
					t.Fatal(err)
				}
				time.AfterFunc(budget.RoomTime/2, other.leave)
			}
			if err := one.enter(ctx, 60, func() {}); err != nil {
				t.Errorf("answer %d is thrown away: %v", i, err)
			}
			one.leave()
		}
		// A free place is taken also when the time is over.
		late := &answer{room: room, until: time.Now().Add(-time.Second)}
		for range 50 {
			if err := late.await(ctx); err != nil {
				t.Error(err)
			}
			late.leave()
		}
	})
}

// TestAFullTurnIsNoFullMemory would catch the advice to raise the memory while a view waits for HDFS, and its lack while the memory is
// full.
func TestAFullTurnIsNoFullMemory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		full := errors.New("raise the memory")
		room, ctx := newAnswerRoom(100, 2*budget.RoomTime, full), t.Context()
		slow := &answer{room: room}
		if err := slow.await(ctx); err != nil {
			t.Fatal(err)
		}
		if err := (&answer{room: room}).await(ctx); !errors.Is(err, errNoTurn) {
			t.Errorf("while another view is composed: %v", err)
		}
		if err := slow.enter(ctx, 80, func() {}); err != nil {
			t.Fatal(err)
		}
		var entering sync.WaitGroup
		entering.Go(func() {
			one := &answer{room: room}
			if err := one.enter(ctx, 80, func() {}); !errors.Is(err, full) {
				t.Errorf("an answer that finds no room: %v", err)
			}
			one.leave()
		})
		synctest.Wait()
		late := &answer{room: room, until: time.Now().Add(time.Second)}
		if err := late.await(ctx); !errors.Is(err, full) {
			t.Errorf("while another answer finds no room: %v", err)
		}
		entering.Wait()
		if slow.leave(); room.crowded {
			t.Error("the room is crowded by nobody")
		}
	})
}

// TestJobsAreSampledApart would catch a job with a frozen host that keeps viewers of another job waiting, or those of processes; and
// samplings without a bound.
func TestJobsAreSampledApart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		room, ctx := newAnswerRoom(100, stallTime, msg.ErrNotReady), t.Context()
		answers := make([]*answer, maxSampling+2)
		began := time.Now()
		for i := range answers {
			answers[i] = &answer{room: room}
			err := answers[i].sample(ctx, ids.JobID(fmt.Sprint(max(i-1, 0)))) // two are of the same job
			wanted := i == 0 || i > 1 && i <= maxSampling
			if got := err == nil; got != wanted {
				t.Errorf("sampling %d: %v", i, err)
			}
			if i == 0 && time.Since(began) > 0 {
				t.Error("the first one has waited")
			}
		}
		began = time.Now()
		for i := range maxInquiring {
			if err := (&answer{room: room}).inquire(ctx, fmt.Sprint(i), false); err != nil || time.Since(began) > 0 {
				t.Errorf("a process: %v after %s", err, time.Since(began))
			}
		}
		for _, one := range answers {
			one.leave()
		}
		if len(room.asking.samplings) > 0 {
			t.Error("a place is taken by nobody")
		}
	})
}

// TestAViewKeepsTheTurnUntilThereIsRoom would catch composed views that wait for room and fill the memory.
func TestAViewKeepsTheTurnUntilThereIsRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		room, ctx := newAnswerRoom(100, stallTime, msg.ErrNotReady), t.Context()
		reads := steady(ctx, t, room, 80)
		var composed, written atomic.Int64
		for range 100 {
			go func() { // ends with its answer
				view := &answer{room: room}
				defer view.leave()
				if err := view.await(ctx); err != nil {
					t.Error(err)
				}
				composed.Add(1)
				if err := view.enter(ctx, 60, func() {}); err != nil {
					t.Error(err)
				}
				written.Add(1)
			}()
		}
		time.Sleep(time.Second)
		if n := composed.Load(); n != 1 {
			t.Errorf("%d views are composed while there is no room, want 1", n)
		}
		reads.leave()
		time.Sleep(time.Second)
		if n := written.Load(); n != 100 {
			t.Errorf("%d views are written once there is room, want all", n)
		}
	})
}

// lookers serves users in a bubble. A header names the user, and the owner has all rights.
func lookers(s *Server) http.Handler {
	s.config.Rights = Rights{Owner: "alice", View: ParseACL("bob")}
	return s.behind(func(_ http.Header, r *http.Request) (caller, error) { return caller{name: r.Header.Get("User")}, nil })
}

// look requests a path as a user.
func look(h http.Handler, user, path string) *httptest.ResponseRecorder {
	w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, path, nil)
	r.Header.Set("User", user)
	h.ServeHTTP(w, r)
	return w
}

// TestOneViewIsComposedAtATime would catch a thousand requests at the same time that fill the memory before
// anything is written; an owner who waits for them; and a turn that is lost when a handler panics.
func TestOneViewIsComposedAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := &gateGateway{open: make(chan struct{})}
		s := newServer(g)
		h := lookers(s)
		answers := make(chan int, 1000)
		for i := range cap(answers) {
			go func() { // ends with its answer
				answers <- look(h, []string{"alice", "bob"}[i%2], "/jobs").Code
			}()
		}
		synctest.Wait()
		if got := g.asked.Load(); got != 2 {
			t.Errorf("%d views are composed at once, want one for the owner and one for all others", got)
		}
		close(g.open)
		for range cap(answers) {
			if status := <-answers; status != http.StatusOK {
				t.Fatalf("status %d", status)
			}
		}
		panicking := s.handler(route{access: view, handle: func(*http.Request) (any, error) { panic("test") }})
		func() {
			defer func() { _ = recover() }()
			asks := context.WithValue(t.Context(), callerKey{}, caller{name: "bob"})
			panicking.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(asks, http.MethodGet, "/", nil))
		}()
		if a, b := s.answers.all, s.answers.some; a.held+b.held > 0 || len(a.turn)+len(b.turn) > 0 {
			t.Errorf("%d bytes and %d turns are taken by nobody", a.held+b.held, len(a.turn)+len(b.turn))
		}
	})
}

// TestWhoFindsNoRoomIsToldSo would catch a refusal without a text, or without the remedy, when other
// requests leave no room; and a refusal that comes after the client has given up.
func TestWhoFindsNoRoomIsToldSo(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		full func(ctx context.Context, t *testing.T, room *answerRoom)
		want string
	}{
		"as another one's turn does not end": {
			func(_ context.Context, _ *testing.T, room *answerRoom) { room.turn <- struct{}{} },
			"composes answers to other requests: ask again",
		},
		"as others read on": {
			func(ctx context.Context, t *testing.T, room *answerRoom) { steady(ctx, t, room, int(room.most)) },
			"raise jobmanager.memory.flink.size",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newServer(&longGateway{})
				options, err := config.New(config.Layer{Source: "test", Values: map[string]string{config.JobManagerFlinkSize.Name(): "1g"}})
				if err != nil {
					t.Fatal(err)
				}
				s.config.Options = options
				s = New(s.config, s.gateway, logrus.New())
				h := lookers(s)
				test.full(t.Context(), t, s.answers.some)
				began := time.Now()
				w := look(h, "bob", "/jobs/overview")
				if took := time.Since(began); w.Code != http.StatusServiceUnavailable || took != budget.RoomTime {
					t.Errorf("status %d after %s", w.Code, took)
				}
				if body := w.Body.String(); !strings.Contains(body, test.want) || w.Header().Get("Content-Length") != fmt.Sprint(len(body)) {
					t.Errorf("the answer is %q, of %s bytes", body, w.Header().Get("Content-Length"))
				}
			})
		})
	}
}

// TestWhoWaitsAsLongAsHeMayIsAnswered would catch a connection that ends before its answer can be written,
// of a client that polls and then waits for room, each as long as allowed.
func TestWhoWaitsAsLongAsHeMayIsAnswered(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		reads time.Duration // other answers fill the room for that long
		want  int
	}{
		"with a page":           {maxWait + budget.RoomTime - time.Second, http.StatusOK},
		"that there is no room": {maxWait + budget.RoomTime + time.Second, http.StatusServiceUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := besieged(t, &lateGateway{}, func(*Server) {})
				room := s.server.answers.results
				others := steady(t.Context(), t, room, int(room.most))
				time.AfterFunc(test.reads, others.leave)
				began := time.Now()
				response, err := s.ask(strings.Replace(withToken, "/jobs", "/jobs/"+string(runningID)+"/collect/top?wait=1h", 1))
				if err != nil {
					t.Fatalf("no answer after %s: %v", time.Since(began), err)
				}
				defer response.Body.Close()
				if body, err := io.ReadAll(response.Body); err != nil || response.StatusCode != test.want || len(body) < 50 {
					t.Errorf("status %d after %s, %d bytes and %v; want %d", response.StatusCode, time.Since(began), len(body), err, test.want)
				}
			})
		})
	}
}

// lateGateway has a long page at the end of the longest wait.
type lateGateway struct{ pageGateway }

func (g *lateGateway) CollectPage(ctx context.Context, job ids.JobID, name string, cursor int64, wait time.Duration) (msg.CollectPage, error) {
	time.Sleep(wait)
	return g.pageGateway.CollectPage(ctx, job, name, cursor, wait)
}

// TestTheOwnersAnswersAreHisOwn would catch an owner who reads slowly, and whose answers are cut because
// users who may view need the memory; and an owner who waits because these users read, slowly and steadily,
// answers that fill the room.
func TestTheOwnersAnswersAreHisOwn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := besieged(t, &longGateway{}, func(s *Server) { s.answers = newAnswerRooms(4<<20, config.JobManagerProcessSize) })
		overview := strings.Replace(withTicket, "/jobs", "/jobs/overview", 1)
		for range 20 {
			go func() { // ends with the server
				for {
					response, err := s.ask(overview)
					if err != nil {
						return
					}
					for err == nil {
						_, err = io.CopyN(io.Discard, response.Body, answerPart/2)
						time.Sleep(stallTime / 4)
					}
				}
			}()
		}
		time.Sleep(10 * time.Second)
		others := s.server.answers.some
		others.mu.Lock()
		held := others.held
		others.mu.Unlock()
		if held < others.most/2 || len(others.turn) == 0 {
			t.Fatalf("others hold %d bytes of %d, and %d turns", held, others.most, len(others.turn))
		}
		response, err := s.ask(strings.Replace(withToken, "/jobs", "/jobs/overview", 1))
		if err != nil {
			t.Fatal(err)
		}
		var read int64
		for err == nil {
			var n int64
			n, err = io.CopyN(io.Discard, response.Body, answerPart)
			read += n
			time.Sleep(2 * stallTime)
			began := time.Now()
			if status := s.status(t, withToken); status != http.StatusOK || time.Since(began) > stallTime {
				t.Errorf("the owner is told %d after %s", status, time.Since(began))
			}
		}
		if !errors.Is(err, io.EOF) || read != response.ContentLength {
			t.Errorf("the owner has read %d bytes of %d: %v", read, response.ContentLength, err)
		}
	})
}

// pageGateway has long pages of results.
type pageGateway struct{ fakeGateway }

// longPage is the length of its pages, in bytes.
const longPage = 8 * answerPart

func (*pageGateway) CollectPage(context.Context, ids.JobID, string, int64, time.Duration) (msg.CollectPage, error) {
	return msg.CollectPage{Records: make([]byte, longPage)}, nil
}

// slowReader delays each part of an answer.
type slowReader struct {
	*httptest.ResponseRecorder
	pause time.Duration
	cut   atomic.Bool
}

func (s *slowReader) Write(part []byte) (int, error) {
	time.Sleep(s.pause)
	if s.cut.Load() {
		return 0, os.ErrDeadlineExceeded
	}
	return s.ResponseRecorder.Write(part)
}

// SetWriteDeadline is that of http.ResponseController.
func (s *slowReader) SetWriteDeadline(time.Time) error {
	s.cut.Store(true)
	return nil
}

// TestTheOwnersResultsFillHisLink is an owner who reads more results at the same time than there is room
// for, over a slow link. It would catch views of his jobs that wait behind these pages, until his command
// takes the cluster for dead; and pages that are cut for one another, so that hardly any arrives.
func TestTheOwnersResultsFillHisLink(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer(&pageGateway{})
		s.answers = newAnswerRooms(4*longPage, config.JobManagerProcessSize) // two pages at a time
		h := lookers(s)
		var reading sync.WaitGroup
		for range 4 {
			reading.Go(func() {
				w := &slowReader{ResponseRecorder: httptest.NewRecorder(), pause: ownStallTime / 2}
				r := httptest.NewRequest(http.MethodGet, "/jobs/"+string(runningID)+"/collect/top", nil)
				r.Header.Set("User", "alice")
				h.ServeHTTP(w, r)
				if w.Code != http.StatusOK || w.Body.Len() != longPage {
					t.Errorf("a page of %d bytes, with status %d; want %d", w.Body.Len(), w.Code, longPage)
				}
			})
		}
		for range 30 {
			time.Sleep(time.Second)
			began := time.Now()
			if w := look(h, "alice", "/jobs/overview"); w.Code != http.StatusOK || time.Since(began) > 0 {
				t.Errorf("a look has status %d after %s", w.Code, time.Since(began))
			}
		}
		reading.Wait()
		if room := s.answers.results; room.held > 0 || len(room.turn) > 0 {
			t.Errorf("%d bytes and %d turns are taken by nobody", room.held, len(room.turn))
		}
	})
}

// TestALookupOfAProgramKeepsNobodyElseWaiting would catch a slow NameNode that delays all views of the
// cluster; and users who may view, and whose thousand lookups ask HDFS at the same time, over the
// connections that serve the owner too.
func TestALookupOfAProgramKeepsNobodyElseWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer(&fakeGateway{})
		session := &slowSession{open: make(chan struct{})}
		s.config.Session = session
		h := lookers(s)
		const many = 100
		statuses := make(chan int, many)
		for range many {
			go func() { statuses <- look(h, "bob", "/programs/"+unknownID).Code }() // ends with the lookup, or without it
		}
		synctest.Wait()
		if n := session.asked.Load(); n != maxLookups {
			t.Errorf("%d programs are looked for, want %d", n, maxLookups)
		}
		go look(h, "alice", "/programs/"+unknownID) // ends with the lookup
		synctest.Wait()
		if n := session.asked.Load(); n != maxLookups+1 {
			t.Errorf("%d programs are looked for with the owner's, want %d", n, maxLookups+1)
		}
		began := time.Now()
		if w := look(h, "bob", "/overview"); w.Code != http.StatusOK || time.Since(began) > 0 {
			t.Errorf("status %d after %s", w.Code, time.Since(began))
		}
		for range many - maxLookups {
			if status := <-statuses; status != http.StatusServiceUnavailable || time.Since(began) != budget.RoomTime {
				t.Fatalf("a user who waits for a lookup is told %d after %s", status, time.Since(began))
			}
		}
		close(session.open)
		synctest.Wait()
		if w := look(h, "bob", "/programs/"+unknownID); w.Code != http.StatusNotFound {
			t.Errorf("status %d once HDFS answers", w.Code)
		}
		if all, some := s.answers.all, s.answers.some; len(all.lookups)+len(some.lookups) > 0 {
			t.Errorf("%d lookups are taken by nobody", len(all.lookups)+len(some.lookups))
		}
	})
}

// slowSession takes its time to find out whether it has a program.
type slowSession struct {
	fakeSession
	open  chan struct{}
	asked atomic.Int64
}

func (s *slowSession) Program(ctx context.Context, sha256 string) (msg.ProgramDetails, error) {
	s.asked.Add(1)
	<-s.open
	return s.fakeSession.Program(ctx, sha256)
}

// TestRefusalsAreSmall would catch refusals as long as the requests, with which users fill the memory, and
// an owner who does not get the full error of his program.
func TestRefusalsAreSmall(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"controls":   strings.Repeat("\x01", maxHeader),
		"characters": strings.Repeat("€", maxHeader/3),
		"quotes":     strings.Repeat("\"", maxHeader),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(&fakeGateway{err: errors.New(text)})
			h := lookers(s)
			if n := look(h, "bob", "/overview").Body.Len(); n > smallAnswer || n < maxRefusal {
				t.Errorf("a user who may look is told %d bytes", n)
			}
			if n := look(h, "alice", "/overview").Body.Len(); n < maxHeader {
				t.Errorf("the owner is told %d bytes", n)
			}
		})
	}
}

// TestRedirectionsAreSmall would catch answers by net/http itself that fill the memory: it redirects a path
// that is not clean, and repeats the clean path and the query in a page, up to five times as long.
func TestRedirectionsAreSmall(t *testing.T) {
	t.Parallel()
	const unclean = "/a/../"
	h := lookers(newServer(&fakeGateway{}))
	for name, test := range map[string]struct {
		target     string
		bob, alice int
	}{
		"of a long query":            {unclean + "?" + strings.Repeat("&", maxHeader), http.StatusRequestURITooLong, http.StatusTemporaryRedirect},
		"of a long path":             {unclean + strings.Repeat("\xff", maxHeader), http.StatusRequestURITooLong, http.StatusTemporaryRedirect},
		"of a path of another name":  {"/v1?" + strings.Repeat("&", maxHeader), http.StatusRequestURITooLong, http.StatusTemporaryRedirect},
		"of the longest query":       {unclean + "?" + strings.Repeat("\xff", maxRefusal-len(unclean)-1), http.StatusTemporaryRedirect, http.StatusTemporaryRedirect},
		"of the longest path":        {unclean + strings.Repeat("\xff", maxRefusal-len(unclean)), http.StatusTemporaryRedirect, http.StatusTemporaryRedirect},
		"of the longest path, and 1": {unclean + strings.Repeat("\xff", maxRefusal-len(unclean)+1), http.StatusRequestURITooLong, http.StatusTemporaryRedirect},
	} {
		w := look(h, "bob", test.target)
		var header strings.Builder
		if err := w.Header().Write(&header); err != nil {
			t.Fatal(err)
		}
		if n := header.Len() + w.Body.Len(); w.Code != test.bob || n > smallAnswer {
			t.Errorf("%s: a user who may look is told %d bytes, with status %d", name, n, w.Code)
		}
		if w := look(h, "alice", test.target); w.Code != test.alice || w.Body.Len() > 0 {
			t.Errorf("%s: the owner is told %d bytes, with status %d", name, w.Body.Len(), w.Code)
		}
	}
}

// gateGateway keeps requests waiting.
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
