package rest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/sirupsen/logrus"
)

// raw is an answer that is not JSON.
type raw struct {
	status      int // 0: the route's
	contentType string
	header      http.Header
	body        []byte
}

// reply is an answer in the form in which it is written.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// replyOf makes the reply of what a route's function has returned.
func (s *Server) replyOf(r *http.Request, status int, value any) reply {
	if told, is := value.(reply); is {
		return told
	}
	if plain, is := value.(raw); is {
		header := http.Header{"Content-Type": {plain.contentType}}
		maps.Copy(header, plain.header)
		return reply{cmp.Or(plain.status, status), header, plain.body}
	}
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)                  // names contain arrows, and the content type keeps browsers from reading it as a page
	if err := encoder.Encode(value); err != nil { // the value has no JSON form
		status = http.StatusInternalServerError
		body.Reset()
		body.WriteString(`{"errors":["answer cannot be encoded as JSON"]}`)
		s.logger.WithFields(logrus.Fields{"path": r.URL.Path, "err": err}).Error("answer cannot be encoded as JSON")
	}
	return reply{status, http.Header{"Content-Type": {"application/json; charset=UTF-8"}}, body.Bytes()}
}

// write writes an answer. A large answer counts against its room until the reader has it.
func (s *Server) write(w http.ResponseWriter, r *http.Request, told reply, one *answer) {
	if len(told.body) <= smallAnswer {
		one.leave()
	} else if err := one.enterWith(r.Context(), told.body, cutter(w)); err != nil {
		s.writeError(w, r, err)
		return
	}
	maps.Copy(w.Header(), told.header)
	w.Header().Set("Content-Length", strconv.Itoa(len(told.body)))
	w.WriteHeader(told.status)
	for part := range slices.Chunk(told.body, answerPart) {
		if _, err := w.Write(part); err != nil {
			s.logger.WithFields(logrus.Fields{"path": r.URL.Path, "err": err}).Debug("client closed the connection, or did not read the answer")
			return
		}
		one.progress()
	}
}

// cutter returns a function that ends the connection of an answer.
func cutter(w http.ResponseWriter) func() {
	control := http.NewResponseController(w)
	return func() { _ = control.SetWriteDeadline(time.Now()) }
}
