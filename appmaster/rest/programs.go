package rest

import (
	"context"
	"io"
	"maps"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"unicode"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
	"github.com/bobbin-yarn/bobbin/internal/staging"
)

// Session is what REST needs of a cluster that accepts jobs and programs of its users. REST distinguishes
// these errors: those of package msg, jobgraph.ErrInvalid, and actor.ErrStopped.
type Session interface {
	// SubmitJob submits a job. The job has an id.
	SubmitJob(ctx context.Context, job restapi.JobSubmission) error
	// Programs returns the programs of which the session can run jobs.
	Programs(ctx context.Context) ([]msg.ProgramDetails, error)
	// Program returns a program that need not be uploaded, by its hash.
	Program(ctx context.Context, sha256 string) (msg.ProgramDetails, error)
	// AddProgram adds a program. If the session has a program with this hash, AddProgram reads nothing. The
	// hash may be "".
	AddProgram(ctx context.Context, name, sha256 string, content io.Reader) (msg.ProgramDetails, error)
	RemoveProgram(ctx context.Context, sha256 string) error
	// File returns a cached file that need not be uploaded, by its hash.
	File(ctx context.Context, sha256 string) (msg.ProgramDetails, error)
	// AddFile adds a cached file for jobs to be submitted. If the session has a file with this hash, AddFile
	// reads nothing.
	AddFile(ctx context.Context, name, sha256 string, content io.Reader) (msg.ProgramDetails, error)
	// PlanProgram runs a program until it has planned its first job.
	PlanProgram(ctx context.Context, run ProgramRun) (jobgraph.JobGraph, error)
	// RunProgram runs a program, and waits for its first job.
	RunProgram(ctx context.Context, run ProgramRun) (ids.JobID, error)
	// Drivers returns the programs that run beside the ApplicationMaster, also those that only plan.
	Drivers(ctx context.Context) ([]msg.DriverDetails, error)
	// EndDriver ends a program, and waits for its end. Its jobs continue.
	EndDriver(ctx context.Context, id string) error
}

// ProgramRun is a program with its arguments.
type ProgramRun struct {
	SHA256    string
	Arguments []string
	Job       ids.JobID         // of the first job; "": any
	Options   map[string]string // override those of the session
}

func programOf(p msg.ProgramDetails) restapi.Program {
	return restapi.Program{ID: p.SHA256, Name: p.Name, Size: p.Size, Uploaded: p.Uploaded.UnixMilli()}
}

// listed returns the session's programs.
func (s *Server) listed(r *http.Request) ([]msg.ProgramDetails, error) {
	session, err := s.session()
	if err != nil {
		return nil, err
	}
	return session.Programs(r.Context())
}

// programs answers GET /programs.
func (s *Server) programs(r *http.Request) (any, error) {
	list, err := s.listed(r)
	if err != nil {
		return nil, err
	}
	answer := restapi.Programs{Programs: make([]restapi.Program, 0, len(list))}
	for _, p := range list {
		answer.Programs = append(answer.Programs, programOf(p))
	}
	return answer, nil
}

// jars answers GET /jars.
func (s *Server) jars(r *http.Request) (any, error) {
	list, err := s.listed(r)
	if err != nil {
		return nil, err
	}
	answer := restapi.JarList{Address: "https://" + r.Host, Files: make([]restapi.JarFile, 0, len(list))}
	for _, p := range list {
		answer.Files = append(answer.Files, restapi.JarFile{ID: p.SHA256, Name: p.Name, Uploaded: p.Uploaded.UnixMilli(), Entry: []restapi.JarEntry{}})
	}
	return answer, nil
}

// sessionProgram reads the path's program.
func (s *Server) sessionProgram(r *http.Request) (Session, string, error) {
	session, err := s.session()
	if err != nil {
		return nil, "", err
	}
	sha256, err := parseProgram(r.PathValue("program"))
	return session, sha256, err
}

func parseProgram(text string) (string, error) {
	if len(text) != 64 || strings.Trim(text, "0123456789abcdef") != "" {
		return "", badRequest("%q is not the id of a program or a file: the id is its SHA-256, 64 hex digits in lower case", text)
	}
	return text, nil
}

func (s *Server) program(r *http.Request) (any, error) {
	session, sha256, err := s.sessionProgram(r)
	if err != nil {
		return nil, err
	}
	found, err := session.Program(r.Context(), sha256)
	if err != nil {
		return nil, err
	}
	return programOf(found), nil
}

func (s *Server) removeProgram(r *http.Request) (any, error) {
	session, sha256, err := s.sessionProgram(r)
	if err != nil {
		return nil, err
	}
	return restapi.Empty{}, session.RemoveProgram(r.Context(), sha256)
}

// addProgram answers POST /programs?name=N&sha256=H, whose body is the program.
func (s *Server) addProgram(r *http.Request) (any, error) {
	session, err := s.session()
	if err != nil {
		return nil, err
	}
	query := r.URL.Query()
	sha256 := query.Get("sha256")
	if sha256 != "" {
		if _, err := parseProgram(sha256); err != nil {
			return nil, err
		}
	}
	added, err := s.add(r, session.AddProgram, query.Get("name"), sha256, r.Body)
	if err != nil {
		return nil, err
	}
	return programOf(added), nil
}

// uploadJar answers POST /jars/upload, whose body is a form with one file. Flink's clients take the part of
// filename after the last "/" for the jar's id. That works because each program lies in a directory that
// has its hash as name.
func (s *Server) uploadJar(r *http.Request) (any, error) {
	session, err := s.session()
	if err != nil {
		return nil, err
	}
	form, err := r.MultipartReader()
	if err != nil {
		return nil, badRequest("upload a program as a form with one file: %v", err)
	}
	for {
		part, err := form.NextRawPart() // a raw part, because a program is not encoded text (RFC 7578 §4.7)
		if cut := s.cutShort(err); cut != nil {
			return nil, cut
		}
		if err != nil {
			return nil, badRequest("the form has no file: %v", err)
		}
		if part.FileName() == "" {
			continue
		}
		added, err := s.add(r, session.AddProgram, part.FileName(), "", part)
		if err != nil {
			return nil, err
		}
		return restapi.JarUploaded{Filename: strings.TrimSuffix(added.URI, "/"+path.Base(added.URI)), Status: "success"}, nil
	}
}

// add adds a program or a file to a session.
func (s *Server) add(
	r *http.Request, to func(ctx context.Context, name, sha256 string, content io.Reader) (msg.ProgramDetails, error),
	name, sha256 string, content io.Reader,
) (msg.ProgramDetails, error) {
	if name == "" || name == "/" || name != path.Base(name) || strings.HasPrefix(name, ".") || len(name) > staging.MaxName || strings.ContainsFunc(name, unicode.IsControl) {
		return msg.ProgramDetails{}, badRequest("%q is not a name of a file: give the name, for example ?name=wordcount", name)
	}
	added, err := to(r.Context(), name, sha256, content)
	if cut := s.cutShort(err); cut != nil {
		err = cut
	}
	return added, err
}

// planProgram answers GET and POST …/plan.
func (s *Server) planProgram(r *http.Request) (any, error) {
	session, run, err := s.programRun(r)
	if err != nil {
		return nil, err
	}
	graph, err := session.PlanProgram(r.Context(), run)
	if err != nil {
		return nil, err
	}
	return restapi.JobPlanInfo{Plan: restapi.PlanOf(&graph)}, nil
}

// runProgram answers POST …/run.
func (s *Server) runProgram(r *http.Request) (any, error) {
	session, run, err := s.programRun(r)
	if err != nil {
		return nil, err
	}
	job, err := session.RunProgram(r.Context(), run)
	if err != nil {
		return nil, err
	}
	return restapi.RunAnswer{Job: job}, nil
}

// programRun reads what is to be run, from the body and from the query, as Flink does.
func (s *Server) programRun(r *http.Request) (Session, ProgramRun, error) {
	session, sha256, err := s.sessionProgram(r)
	if err != nil {
		return nil, ProgramRun{}, err
	}
	var body restapi.RunRequest
	if err := s.readJSON(r, &body); err != nil {
		return nil, ProgramRun{}, err
	}
	if err := addQuery(&body, r.URL.Query()); err != nil {
		return nil, ProgramRun{}, err
	}
	run, err := runOf(body, sha256)
	return session, run, err
}

// addQuery overrides the body with the query.
func addQuery(b *restapi.RunRequest, query url.Values) error {
	if text := query.Get("parallelism"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			return badRequest("parallelism %q is not a number", text)
		}
		b.Parallelism = n
	}
	if list := query["programArg"]; len(list) > 0 {
		b.Arguments = strings.Split(strings.Join(list, ","), ",")
	}
	if line := query.Get("program-args"); line != "" {
		b.ArgumentLine = line
	}
	if savepoint := query.Get("savepointPath"); savepoint != "" {
		b.Savepoint = savepoint
	}
	return nil
}

func runOf(b restapi.RunRequest, sha256 string) (ProgramRun, error) {
	run := ProgramRun{SHA256: sha256, Arguments: b.Arguments, Job: b.Job, Options: make(map[string]string)}
	maps.Copy(run.Options, b.Options)
	switch {
	case b.Savepoint != "":
		return run, notYet("savepoints are not supported yet: leave out savepointPath")
	case b.Parallelism < 0:
		return run, badRequest("parallelism must be at least 1, not %d", b.Parallelism)
	case b.Parallelism > 0:
		run.Options[config.ParallelismDefault.Name()] = strconv.Itoa(b.Parallelism)
	}
	if b.Job != "" {
		if _, err := parseJobID(string(b.Job)); err != nil {
			return run, err
		}
	}
	if len(run.Arguments) == 0 {
		run.Arguments = splitWords(b.ArgumentLine)
	}
	return run, nil
}

// splitWords splits a line at its spaces, except between single or double quotes. It removes the quotes.
// Flink's ProgramArgs do the same.
func splitWords(line string) []string {
	var words []string
	var word strings.Builder
	begun, quote := false, rune(0)
	for _, c := range line {
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			begun, quote = true, c
		case quote == 0 && unicode.IsSpace(c):
			if begun {
				words = append(words, word.String())
				word.Reset()
				begun = false
			}
		default:
			begun = true
			word.WriteRune(c)
		}
	}
	if begun {
		words = append(words, word.String())
	}
	return words
}
