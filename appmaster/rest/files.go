package rest

import (
	"net/http"

	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
)

func fileOf(p msg.ProgramDetails) restapi.File {
	return restapi.File{ID: p.SHA256, Name: p.Name, Size: p.Size, Uploaded: p.Uploaded.UnixMilli()}
}

// file answers GET /files/{file}.
func (s *Server) file(r *http.Request) (any, error) {
	session, err := s.session()
	if err != nil {
		return nil, err
	}
	sha256, err := parseProgram(r.PathValue("file"))
	if err != nil {
		return nil, err
	}
	found, err := session.File(r.Context(), sha256)
	if err != nil {
		return nil, err
	}
	return fileOf(found), nil
}

// addFile answers POST /files?name=N&sha256=H, whose body is the file.
func (s *Server) addFile(r *http.Request) (any, error) {
	session, err := s.session()
	if err != nil {
		return nil, err
	}
	query := r.URL.Query()
	sha256, err := parseProgram(query.Get("sha256"))
	if err != nil {
		return nil, err
	}
	added, err := s.add(r, session.AddFile, query.Get("name"), sha256, r.Body)
	if err != nil {
		return nil, err
	}
	return fileOf(added), nil
}
