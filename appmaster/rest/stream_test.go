package rest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/budget"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
)

// fetch requests a path of processes over a connection. The error is that of reading the answer.
func fetch(t *testing.T, p Processes, method, path string) (*http.Response, string, error) {
	t.Helper()
	s := newServer(&fakeGateway{})
	s.config.Processes = p
	server := httptest.NewServer(s.Unguarded())
	defer func() {
		server.Close() // waits for the handler
		if held := s.answers.all.held; held != 0 {
			t.Errorf("%s: %d bytes are taken by nobody", path, held)
		}
	}()
	r, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return response, string(body), err
}

// TestALogIsPassedOnPartByPart would catch a log that is read into memory whole, a part that is missing or comes
// twice, and an offset that is not heeded.
func TestALogIsPassedOnPartByPart(t *testing.T) {
	t.Parallel()
	const size = 3*msg.MaxPart + 100
	log := logLines(size)
	for _, test := range []struct {
		path  string
		from  int
		parts int
	}{
		{"/jobmanager/log", 0, 4},
		{"/taskmanagers/" + workerID + "/stdout", 0, 4},
		{"/v1/taskmanagers/" + workerID + "/logs/x.log", 0, 4},
		{"/jobmanager/log?offset=100", 100, 3},
		{"/jobmanager/log?offset=-100&file=2a", size - 100, 1},
		{"/jobmanager/log?offset=-1000000", 0, 4},
		{"/jobmanager/log?offset=" + strconv.Itoa(size), size, 1},
		{"/jobmanager/log?offset=" + strconv.Itoa(size+1), 0, 4},
	} {
		p := &fakeProcesses{content: log}
		response, body, err := fetch(t, p, http.MethodGet, test.path)
		if err != nil || response.StatusCode != http.StatusOK || body != log[test.from:] || response.ContentLength != int64(size-test.from) || len(p.asked) != test.parts {
			t.Errorf("%s: status %d, %d bytes of %d in %d parts: %v", test.path, response.StatusCode, len(body), size-test.from, len(p.asked), err)
		}
		for name, want := range map[string]string{
			restapi.HeaderOffset: strconv.Itoa(test.from), restapi.HeaderNext: strconv.Itoa(size), restapi.HeaderFile: "2a", "Content-Type": "text/plain",
		} {
			if got := response.Header.Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", test.path, name, got, want)
			}
		}
	}
	p := &fakeProcesses{content: log}
	if response, body, err := fetch(t, p, http.MethodHead, "/jobmanager/log"); err != nil || body != "" || response.ContentLength != size || len(p.asked) != 1 {
		t.Errorf("HEAD: %d of %d bytes in %d parts: %v", len(body), response.ContentLength, len(p.asked), err)
	}
	for _, path := range []string{"/jobmanager/log?offset=x", "/jobmanager/log?offset=9223372036854775808", "/jobmanager/log?file=-1"} {
		if response, _, _ := fetch(t, p, http.MethodGet, path); response.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: status %d", path, response.StatusCode)
		}
	}
	for _, path := range []string{"/jobmanager/logs/nobody", "/taskmanagers/nobody/log", "/taskmanagers/nobody/logs", "/taskmanagers/" + workerID + "/thread-dump?host=none", "/taskmanagers/nobody"} {
		if response, body, _ := fetch(t, p, http.MethodGet, path); response.StatusCode != http.StatusNotFound || !strings.Contains(body, "errors") {
			t.Errorf("%s: status %d: %s", path, response.StatusCode, body)
		}
		if response, _, _ := fetch(t, nil, http.MethodGet, path); response.StatusCode != http.StatusNotFound {
			t.Errorf("%s, of a cluster in a user's process: status %d", path, response.StatusCode)
		}
	}
}

// unsteady are processes whose files change after the first part.
type unsteady struct {
	fakeProcesses
	change func(first bool, a *msg.InquiryAnswer) error
}

func (c *unsteady) Inquire(ctx context.Context, worker ids.ResourceID, host ids.HostID, about msg.Inquiry) (msg.InquiryAnswer, error) {
	a, err := c.fakeProcesses.Inquire(ctx, worker, host, about)
	if err == nil {
		err = c.change(len(c.asked) == 1, &a)
	}
	return a, err
}

// TestALogThatChangesEndsEarly would catch an answer that mixes two files, one that never ends, and one that looks
// complete to its reader.
func TestALogThatChangesEndsEarly(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(bool, *msg.InquiryAnswer) error{
		"it is another file": func(first bool, a *msg.InquiryAnswer) error {
			if !first {
				a.File.ID++
			}
			return nil
		},
		"it is cut": func(first bool, a *msg.InquiryAnswer) error {
			if !first {
				a.Offset = 0
			}
			return nil
		},
		"nothing comes": func(first bool, a *msg.InquiryAnswer) error {
			if !first {
				a.Content = nil
			}
			return nil
		},
		"the worker is lost": func(first bool, _ *msg.InquiryAnswer) error {
			if !first {
				return msg.ErrWorkerSilent
			}
			return nil
		},
	} {
		response, body, err := fetch(t, &unsteady{fakeProcesses{content: logLines(2 * msg.MaxPart)}, change}, http.MethodGet, "/jobmanager/log")
		if !errors.Is(err, io.ErrUnexpectedEOF) || response.StatusCode != http.StatusOK || body != logLines(msg.MaxPart) {
			t.Errorf("%s: status %d, %d bytes: %v", name, response.StatusCode, len(body), err)
		}
	}
	grows := func(first bool, a *msg.InquiryAnswer) error {
		if !first {
			a.Content = append(a.Content, "more"...)
			a.File.Size += 4
		}
		return nil
	}
	log := logLines(msg.MaxPart + 7)
	if _, body, err := fetch(t, &unsteady{fakeProcesses{content: log}, grows}, http.MethodGet, "/jobmanager/log"); body != log || err != nil {
		t.Errorf("a file that grows: %d bytes: %v", len(body), err)
	}
	rotated := func(_ bool, a *msg.InquiryAnswer) error {
		a.File.Name += ".1"
		return nil
	}
	response, body, err := fetch(t, &unsteady{fakeProcesses{content: log}, rotated}, http.MethodGet, "/jobmanager/log?offset=5&file=2a")
	if body != log[5:] || err != nil || response.Header.Get(restapi.HeaderNext) != "0" || response.Header.Get(restapi.HeaderFile) != "" {
		t.Errorf("after a rotation: %d bytes, %v: %v", len(body), response.Header, err)
	}
	for name, lie := range map[string]func(*msg.InquiryAnswer){
		"a part beyond the end": func(a *msg.InquiryAnswer) { a.File.Size = a.Offset },
		"a part before it":      func(a *msg.InquiryAnswer) { a.Offset = -1 },
		"no part":               func(a *msg.InquiryAnswer) { a.Content = nil },
		"an end below zero":     func(a *msg.InquiryAnswer) { a.Offset, a.File.Size = math.MaxInt64-1, -5 },
	} {
		liar := &unsteady{fakeProcesses{content: log}, func(_ bool, a *msg.InquiryAnswer) error { lie(a); return nil }}
		if response, _, err := fetch(t, liar, http.MethodGet, "/jobmanager/log"); response.StatusCode != http.StatusInternalServerError || err != nil {
			t.Errorf("%s: status %d: %v", name, response.StatusCode, err)
		}
	}
}

// stopped are workers that do not answer until they are open. The ApplicationMaster answers.
type stopped struct {
	fakeProcesses
	open  chan struct{}
	waits atomic.Int64 // questions
	ended atomic.Int64 // those that were given up
}

func (p *stopped) Inquire(ctx context.Context, worker ids.ResourceID, host ids.HostID, about msg.Inquiry) (msg.InquiryAnswer, error) {
	if worker == "" {
		return p.fakeProcesses.Inquire(ctx, worker, host, about)
	}
	p.waits.Add(1)
	select {
	case <-p.open:
	case <-ctx.Done():
		p.ended.Add(1)
		return msg.InquiryAnswer{}, context.Cause(ctx)
	}
	return (&fakeProcesses{content: logLines(2 * msg.MaxPart)}).Inquire(context.Background(), "", "", about)
}

// TestAStoppedWorkerKeepsNobodyElseWaiting would catch a worker that does not answer and so delays views of other
// things, questions to other processes or the owner's, and requests for its logs that fill the memory.
func TestAStoppedWorkerKeepsNobodyElseWaiting(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds of a processor")
	}
	t.Parallel()
	for path, want := range map[string]int{
		"/taskmanagers/" + workerID + "/thread-dump": 1, // the other places are for other processes
		"/taskmanagers/" + workerID + "/log":         answersMemory / 4 / streamRoom,
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newServer(&fakeGateway{})
			p := &stopped{open: make(chan struct{})}
			s.config.Processes = p
			h := lookers(s)
			many := want + 50
			statuses := make(chan int, many)
			for range many {
				go func() { statuses <- look(h, "bob", path).Code }() // ends with the answer, or without it
			}
			synctest.Wait()
			if n := p.waits.Load(); n != int64(want) {
				t.Errorf("%d questions are asked, want %d", n, want)
			}
			go look(h, "alice", path) // ends with the answer
			synctest.Wait()
			if n := p.waits.Load(); n != int64(want)+1 {
				t.Errorf("%d questions are asked with the owner's, want %d", n, want+1)
			}
			if strings.HasSuffix(path, "dump") {
				began := time.Now()
				for range maxInquiring + 1 {
					if w := look(h, "bob", "/jobmanager/thread-dump"); w.Code != http.StatusOK || time.Since(began) > 0 {
						t.Errorf("another process: status %d after %s", w.Code, time.Since(began))
					}
				}
				if w := look(h, "bob", "/overview"); w.Code != http.StatusOK || time.Since(began) > 0 {
					t.Errorf("status %d after %s", w.Code, time.Since(began))
				}
				for range many - want {
					if status := <-statuses; status != http.StatusServiceUnavailable || time.Since(began) != budget.RoomTime {
						t.Fatalf("a user who waits for others is told %d after %s", status, time.Since(began))
					}
				}
			}
			close(p.open)
			synctest.Wait()
			for _, room := range []*answerRoom{s.answers.all, s.answers.some} {
				if room.held > 0 || len(room.asking.places) > 0 || len(room.asking.processes) > 0 || len(room.turn) > 0 {
					t.Errorf("%d bytes and %d places are taken by nobody", room.held, len(room.asking.places)+len(room.turn))
				}
			}
		})
	}
}

// halfReader is a connection whose reader takes some pieces, and then none until its deadline.
type halfReader struct {
	*httptest.ResponseRecorder
	takes, pieces int
	cut           chan struct{}
}

func (w *halfReader) SetWriteDeadline(at time.Time) error {
	if !at.After(time.Now()) {
		close(w.cut)
	}
	return nil
}

func (w *halfReader) Write(p []byte) (int, error) {
	if w.pieces++; w.pieces <= w.takes {
		return len(p), nil
	}
	<-w.cut
	return 0, io.ErrClosedPipe
}

// TestASlowReaderOfALogIsCut would catch a reader of a log who keeps memory that others need, and an answer that
// goes on after it was cut, because it has a new deadline for its next part.
func TestASlowReaderOfALogIsCut(t *testing.T) {
	t.Parallel()
	for name, waits := range map[string]bool{"for the reader": false, "for the worker": true} {
		synctest.Test(t, func(t *testing.T) {
			s := newServer(&fakeGateway{})
			s.answers = newAnswerRooms(4*streamRoom, "")
			p := &stopped{open: make(chan struct{}, 10)}
			s.config.Processes = p
			h := lookers(s)
			slow := &halfReader{httptest.NewRecorder(), 1, 0, make(chan struct{})}
			if waits {
				slow.takes = 1 << 30
			}
			r := httptest.NewRequest(http.MethodGet, "/taskmanagers/"+workerID+"/log", nil)
			r.Header.Set("User", "bob")
			ended := make(chan struct{})
			go func() { h.ServeHTTP(slow, r); close(ended) }() // ends when it is cut
			p.open <- struct{}{}
			synctest.Wait()
			taken := slow.pieces
			other := make(chan int, 1)
			go func() { other <- look(h, "bob", "/taskmanagers/"+workerID+"/log").Code }() // ends with the answer
			synctest.Wait()
			time.Sleep(stallTime)
			synctest.Wait()
			close(p.open)
			if status := <-other; status != http.StatusOK {
				t.Errorf("it waits %s: the next one is told %d", name, status)
			}
			<-ended
			if slow.pieces != taken {
				t.Errorf("it waits %s: %d pieces are written after the cut", name, slow.pieces-taken)
			}
			if held := s.answers.some.held; held != 0 {
				t.Errorf("it waits %s: %d bytes are taken by nobody", name, held)
			}
		})
	}
}

// TestFaultsOfProcesses would catch a fault that tells users the wrong thing: a monitor takes 5xx for a fault of the
// cluster.
func TestFaultsOfProcesses(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]int{
		msg.ErrWorkerSilent: http.StatusServiceUnavailable, msg.ErrTooManyInquiries: http.StatusServiceUnavailable,
		msg.ErrProfiling: http.StatusConflict, msg.ErrBadInquiry: http.StatusBadRequest, errors.New("disk"): http.StatusInternalServerError,
	} {
		for _, path := range []string{"/taskmanagers/" + workerID + "/log", "/jobmanager/logs", "/jobmanager/thread-dump"} {
			p := &fakeProcesses{err: fmt.Errorf("of the worker: %w", err)}
			if response, body, _ := fetch(t, p, http.MethodGet, path); response.StatusCode != want || !strings.Contains(body, "of the worker") {
				t.Errorf("%v: status %d: %s", err, response.StatusCode, body)
			}
		}
	}
}
