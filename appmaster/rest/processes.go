package rest

import (
	"context"
	"fmt"
	"mime"
	"net/http"
	"strings"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
)

// processRoutes returns the routes of one process: the ApplicationMaster, or a worker whose id is in the path. log
// is the name of its log, without the suffix.
func (s *Server) processRoutes(path, log string) []route {
	const ok = http.StatusOK
	inquires := func(pattern string, access access, handle func(*http.Request) (any, error)) route {
		return route{pattern: pattern, access: access, status: ok, handle: handle, inquires: true}
	}
	streams := func(pattern string, access access, handle func(*http.Request) (any, error)) route {
		return route{pattern: pattern, access: access, status: ok, handle: handle, streams: true}
	}
	file := func(name string) func(*http.Request) (any, error) {
		return func(r *http.Request) (any, error) { return s.logFile(r, name) }
	}
	return []route{
		{pattern: "GET " + path + "/logs", access: view, status: ok, handle: s.logs, inquires: true, disk: true, shared: true},
		streams("GET "+path+"/logs/{file}", view, func(r *http.Request) (any, error) { return s.logFile(r, r.PathValue("file")) }),
		streams("GET "+path+"/log", view, file(log+".log")),
		streams("GET "+path+"/stdout", view, file(log+".stdout")),
		inquires("GET "+path+"/thread-dump", view, s.threadDump),
		inquires("GET "+path+"/flamegraph", inspect, s.processFlameGraph),
		inquires("GET "+path+"/profiler", inspect, s.profiles),
		route{pattern: "POST " + path + "/profiler", access: modify, status: ok, handle: s.newProfile}.reads(maxBody),
		streams("GET "+path+"/profiler/{file}", inspect, s.profileFile),
	}
}

// errNoProcesses refuses questions about processes.
var errNoProcesses = fmt.Errorf("%w: this cluster runs in the process of a user", msg.ErrNotShown)

// inquiry is a question to a process.
type inquiry func(context.Context, msg.Inquiry) (msg.InquiryAnswer, error)

// ask returns how to ask the path's process, or the query's task host on it.
func (s *Server) ask(r *http.Request) inquiry {
	return s.askOf(r, ids.HostID(r.URL.Query().Get("host")))
}

// askWorker returns how to ask the path's process about what it has for its task hosts as well.
func (s *Server) askWorker(r *http.Request) inquiry { return s.askOf(r, "") }

func (s *Server) askOf(r *http.Request, host ids.HostID) inquiry {
	worker := ids.ResourceID(r.PathValue("worker"))
	return func(ctx context.Context, about msg.Inquiry) (msg.InquiryAnswer, error) {
		if s.config.Processes == nil {
			return msg.InquiryAnswer{}, errNoProcesses
		}
		return s.config.Processes.Inquire(ctx, worker, host, about)
	}
}

// logs answers GET …/logs.
func (s *Server) logs(r *http.Request) (any, error) {
	got, err := s.askWorker(r)(r.Context(), msg.Inquiry{Topic: msg.AboutLogs})
	if err != nil {
		return nil, err
	}
	answer := restapi.LogList{Logs: make([]restapi.LogFile, len(got.Files))}
	for i, f := range got.Files {
		answer.Logs[i] = restapi.LogFile{Modified: f.Modified.UnixMilli(), Name: f.Name, Size: f.Size}
	}
	return answer, nil
}

// logFile answers with a file of the folder of logs, or with the end of it.
func (s *Server) logFile(r *http.Request, name string) (any, error) {
	from, err := partOf(r)
	if err != nil {
		return nil, err
	}
	ask := s.askWorker(r)
	answer := &stream{contentType: "text/plain", ask: func(ctx context.Context, part msg.Part) (msg.InquiryAnswer, error) {
		return ask(ctx, msg.Inquiry{Topic: msg.AboutLog, File: name, Part: part})
	}}
	if answer, err = answer.begin(r.Context(), from); err != nil {
		return nil, err
	}
	answer.header = follow(name, answer.first)
	return answer, nil
}

// threadDump answers GET …/thread-dump.
func (s *Server) threadDump(r *http.Request) (any, error) {
	got, err := s.ask(r)(r.Context(), msg.Inquiry{Topic: msg.AboutGoroutines})
	if err != nil {
		return nil, err
	}
	answer := restapi.ThreadDump{Threads: []restapi.ThreadInfo{}}
	for stack := range strings.SplitSeq(string(got.Content), "\n\n") {
		// "goroutine 7 [select, 3 minutes]:" is the first line of a stack.
		name, _, _ := strings.Cut(stack, " [")
		if name == stack {
			name = "" // a note
		}
		answer.Threads = append(answer.Threads, restapi.ThreadInfo{Name: name, Stack: stack + "\n"})
	}
	return answer, nil
}

// errNoProfiling refuses requests for profiles, as Flink does without the option.
var errNoProfiling = &refusal{http.StatusNotFound, "no profiles can be taken here: " + config.RESTProfiling.Name() + " is false"}

// profiles answers GET …/profiler.
func (s *Server) profiles(r *http.Request) (any, error) {
	if !s.config.Options.Bool(config.RESTProfiling) {
		return nil, errNoProfiling
	}
	got, err := s.ask(r)(r.Context(), msg.Inquiry{Topic: msg.AboutProfiles})
	if err != nil {
		return nil, err
	}
	answer := restapi.ProfilingList{Profiles: make([]restapi.ProfilingInfo, len(got.Profiles))}
	for i, p := range got.Profiles {
		answer.Profiles[i] = profilingOf(p)
	}
	return answer, nil
}

// newProfile answers POST …/profiler.
func (s *Server) newProfile(r *http.Request) (any, error) {
	if !s.config.Options.Bool(config.RESTProfiling) {
		return nil, errNoProfiling
	}
	var sent restapi.ProfilingRequest
	if err := s.readJSON(r, &sent); err != nil {
		return nil, err
	}
	most := s.config.Options.Duration(config.RESTProfilingMax)
	length := seconds(sent.Duration)
	if length <= 0 || length > most {
		return nil, badRequest("a profile takes from 1 to %d seconds (%s), not %d", int(most.Seconds()), config.RESTProfilingMax, sent.Duration)
	}
	got, err := s.ask(r)(r.Context(), msg.Inquiry{Topic: msg.AboutNewProfile, Profile: msg.ProfileRequest{
		Mode: msg.ProfileMode(strings.ToUpper(sent.Mode)), Duration: length, Keep: s.config.Options.Int(config.RESTProfilingHistory),
	}})
	if err != nil {
		return nil, err
	}
	s.logger.WithFields(logrus.Fields{
		"container": r.PathValue("worker"), "host": r.URL.Query().Get("host"), "mode": sent.Mode, "duration": length, "caller": callerOf(r.Context()).String(),
	}).Info("profile is taken")
	if len(got.Profiles) != 1 {
		return nil, fmt.Errorf("take a profile: the process has begun %d", len(got.Profiles))
	}
	return profilingOf(got.Profiles[0]), nil
}

// profileFile answers GET …/profiler/{file}.
func (s *Server) profileFile(r *http.Request) (any, error) {
	if !s.config.Options.Bool(config.RESTProfiling) {
		return nil, errNoProfiling
	}
	name, ask := r.PathValue("file"), s.ask(r)
	answer := &stream{contentType: "application/octet-stream", ask: func(ctx context.Context, part msg.Part) (msg.InquiryAnswer, error) {
		return ask(ctx, msg.Inquiry{Topic: msg.AboutProfile, File: name, Part: part})
	}}
	answer, err := answer.begin(r.Context(), msg.Part{})
	if err != nil {
		return nil, err
	}
	answer.header = http.Header{"Content-Disposition": {mime.FormatMediaType("attachment", map[string]string{"filename": name})}}
	return answer, nil
}

func profilingOf(p msg.ProfileDetails) restapi.ProfilingInfo {
	told := restapi.ProfilingInfo{
		Status: string(p.State), Mode: string(p.Mode), ProfilingMode: string(p.Mode),
		TriggerTime: p.Triggered.UnixMilli(), Duration: int64(p.Duration.Seconds()),
	}
	if p.State != msg.ProfileRunning {
		finished := p.Finished.UnixMilli()
		told.FinishedTime, told.Message = &finished, &p.Message
	}
	if p.File != "" {
		told.OutputFile = &p.File
	}
	return told
}
