package rest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
)

const (
	// streamRoom is what an answer that is passed on part by part takes of its room, in bytes: a part, and what it
	// was decoded from. It has this room from before the first part is asked for.
	streamRoom = 2 * msg.MaxPart
	// partTime is how long a reader may take to accept a part. The whole answer may take longer than writeTime.
	partTime = 30 * time.Second
)

// errChanged ends an answer whose file has changed under it.
var errChanged = errors.New("the file was replaced or cut while it was read")

// stream is an answer that is not JSON, and is passed on part by part: the file of a process, up to the end that
// it had when the first part was read.
type stream struct {
	ask         func(context.Context, msg.Part) (msg.InquiryAnswer, error)
	contentType string
	header      http.Header
	first       msg.InquiryAnswer
}

// begin reads the first part.
func (s *stream) begin(ctx context.Context, from msg.Part) (*stream, error) {
	var err error
	if s.first, err = s.ask(ctx, from); err != nil {
		return nil, err
	}
	if a := s.first; a.Offset < 0 || a.Offset > a.File.Size || a.File.Size-a.Offset < int64(len(a.Content)) || len(a.Content) == 0 && a.Offset < a.File.Size {
		return nil, fmt.Errorf("read %d bytes at %d of %d: %w", len(a.Content), a.Offset, a.File.Size, errChanged)
	}
	return s, nil
}

// next reads the part that begins at an offset.
func (s *stream) next(ctx context.Context, offset int64) ([]byte, error) {
	a, err := s.ask(ctx, msg.Part{Offset: offset, ID: s.first.File.ID})
	switch {
	case err != nil:
		return nil, err
	case a.Offset != offset || a.File.ID != s.first.File.ID || len(a.Content) == 0:
		return nil, fmt.Errorf("read %d bytes at %d in place of %d: %w", len(a.Content), a.Offset, offset, errChanged)
	}
	return a.Content[:min(int64(len(a.Content)), s.first.File.Size-offset)], nil
}

// stream writes an answer whose room is held. If the rest of the file cannot be read, the connection ends before
// the announced length, so that the client knows.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, status int, parts *stream, one *answer) {
	file, offset, part := parts.first.File, parts.first.Offset, parts.first.Content
	maps.Copy(w.Header(), parts.header)
	w.Header().Set("Content-Type", parts.contentType)
	w.Header().Set("Content-Length", strconv.FormatInt(file.Size-offset, 10))
	w.WriteHeader(status)
	if r.Method == http.MethodHead {
		return
	}
	control := http.NewResponseController(w)
	for {
		_ = control.SetWriteDeadline(time.Now().Add(partTime)) // a test's ResponseWriter supports none
		if !one.progress() {                                   // it was cut, which the new deadline has undone
			return
		}
		for piece := range slices.Chunk(part, answerPart) {
			if _, err := w.Write(piece); err != nil {
				s.logger.WithError(err).WithField("path", r.URL.Path).Debug("client closed the connection, or did not read the answer")
				return
			}
			one.progress()
		}
		if offset += int64(len(part)); offset >= file.Size {
			return
		}
		var err error
		if part, err = parts.next(r.Context(), offset); err != nil {
			s.logger.WithError(err).WithField("path", r.URL.Path).Info("answer ends early")
			return
		}
	}
}

// partOf reads where an answer is to begin: the query's offset, below 0 from the end, and the id of the file that
// the offset is for.
func partOf(r *http.Request) (part msg.Part, err error) {
	query := r.URL.Query()
	if text := query.Get("offset"); text != "" {
		if part.Offset, err = strconv.ParseInt(text, 10, 64); err != nil {
			return part, badRequest("offset %.40q is not a number of bytes", text)
		}
	}
	if text := query.Get("file"); text != "" {
		if part.ID, err = strconv.ParseUint(text, 16, 64); err != nil {
			return part, badRequest("file %.40q is not the value of a header %s", text, restapi.HeaderFile)
		}
	}
	return part, nil
}

// follow says where a client that follows a file reads on. After the rest of a log that has rotated, it reads the
// new one.
func follow(asked string, a msg.InquiryAnswer) http.Header {
	header := http.Header{restapi.HeaderOffset: {strconv.FormatInt(a.Offset, 10)}}
	if a.File.Name != asked {
		header.Set(restapi.HeaderNext, "0")
		return header
	}
	header.Set(restapi.HeaderNext, strconv.FormatInt(a.File.Size, 10))
	if a.File.ID != 0 {
		header.Set(restapi.HeaderFile, strconv.FormatUint(a.File.ID, 16))
	}
	return header
}
