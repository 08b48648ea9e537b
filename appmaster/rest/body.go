package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/budget"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/memory"
)

const (
	// leastRate is how fast a body must arrive beyond readTime, in bytes a second, so that a client that
	// sends a little now and then cannot keep a connection for ever. The page waits as long (web/src/pages/session/api.ts).
	leastRate = 32 << 10
	// driverTime is how long a driver may take to plan its job.
	driverTime = 5 * time.Minute
	// uploadTime is how long a program may wait for other uploads.
	uploadTime = 5 * time.Minute
)

// enter waits for room for a request's body. If the request does not tell its length, most is reserved, the
// largest length.
func enter(room *budget.Room, request *http.Request, most int64) (leave func(), err error) {
	if request.ContentLength >= 0 {
		most = request.ContentLength
	}
	return room.Hold(request.Context(), int(most))
}

// fits refuses a body that is too large before it is read.
func (s *Server) fits(route route, request *http.Request) error {
	if route.body > 0 && request.ContentLength > route.body {
		return s.tooLarge(route.body)
	}
	return nil
}

func (s *Server) tooLarge(most int64) error {
	return &refusal{http.StatusRequestEntityTooLarge, fmt.Sprintf("the request's body is too large: at most %d bytes are accepted; %s limits a program, %s and %s limit any other body",
		most, config.RESTMaxProgramSize, config.RESTMaxContentLength, memory.MasterSizedBy(s.config.Options))}
}

// bounded limits a body to what its route reads, and gives the connection the time that the route needs:
// for the body as long as it arrives fast enough, and then for the answer.
func (s *Server) bounded(route route, h http.Handler) http.Handler {
	most := route.body
	if most == 0 {
		most = maxBody
	}
	timed := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if route.body == 0 && route.time == 0 {
			h.ServeHTTP(w, r)
			return
		}
		// A test's ResponseWriter supports no deadlines; each connection does.
		control := http.NewResponseController(w)
		body := &timedBody{ReadCloser: r.Body, control: control, answer: route.time + writeTime}
		_ = control.SetWriteDeadline(time.Now().Add(body.answer))
		r.Body = body
		h.ServeHTTP(w, r)
	})
	return http.MaxBytesHandler(timed, most)
}

// timedBody is a body that may arrive for as long as it arrives fast enough. Only the time in Read counts,
// because the reader itself may have to wait for its turn, or for HDFS.
type timedBody struct {
	io.ReadCloser
	control *http.ResponseController
	waited  time.Duration
	read    int64
	answer  time.Duration // the time that an answer may take after the body
}

func (b *timedBody) Read(p []byte) (int, error) {
	start := time.Now()
	left := readTime + time.Duration(b.read/leastRate)*time.Second - b.waited
	late := start.Add(min(left, readTime))
	_ = b.control.SetReadDeadline(late)
	_ = b.control.SetWriteDeadline(late.Add(b.answer))
	n, err := b.ReadCloser.Read(p)
	b.read += int64(n)
	b.waited += time.Since(start)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = &refusal{http.StatusRequestTimeout, fmt.Sprintf("the request's body comes too slowly: %d bytes in %s", b.read, b.waited.Round(time.Second))}
	}
	return n, err
}

// readJSON decodes a body. An empty body means {}.
func (s *Server) readJSON(r *http.Request, into any) error {
	var body bytes.Buffer
	if r.ContentLength > 0 { // enter has reserved room for it
		body.Grow(int(r.ContentLength) + bytes.MinRead)
	}
	if _, err := body.ReadFrom(r.Body); err != nil {
		if cut := s.cutShort(err); cut != nil {
			return cut
		}
		return badRequest("the request's body cannot be read: %v", err)
	}
	text := bytes.TrimSpace(body.Bytes())
	if len(text) == 0 {
		return nil
	}
	if err := json.Unmarshal(text, into); err != nil {
		return badRequest("the request's body is not the JSON that this path accepts: %v", err)
	}
	return nil
}

// cutShort returns why the rest of a body is not read, if err says so; otherwise nil.
func (s *Server) cutShort(err error) error {
	if large, is := errors.AsType[*http.MaxBytesError](err); is {
		return s.tooLarge(large.Limit)
	}
	if slow, is := errors.AsType[*refusal](err); is {
		return slow
	}
	return nil
}
