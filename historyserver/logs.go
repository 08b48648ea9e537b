package historyserver

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"strings"

	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// logURL answers where the logs of a job are (Flink's GeneratedLogUrlHandler).
func (s *Server) logURL(r *http.Request) (any, error) {
	at, err := s.logAt(r)
	return restapi.LogURL{URL: at}, err
}

// toLog leads a browser to a log: the page links it. The live page has a log of a worker at the same name.
func (s *Server) toLog(w http.ResponseWriter, r *http.Request) {
	at, err := s.logAt(r)
	if err != nil {
		s.answer(w, r, func(*http.Request) (any, error) { return nil, err })
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	http.Redirect(w, r, at, http.StatusFound) //nolint:gosec // the operator's URL; the names in it are escaped
}

// logAt is the URL of a log. The error is errNotHere if nothing says where it is.
func (s *Server) logAt(r *http.Request) (string, error) {
	h, err := s.job(r)
	if err != nil {
		return "", err
	}
	pattern, worker := s.config.MasterLog, r.PathValue("worker")
	switch {
	case worker != "":
		pattern = s.config.WorkerLog
	case pattern == "":
		return s.masterLogAt(h)
	}
	if pattern == "" {
		return "", errNotHere
	}
	return strings.NewReplacer("<jobid>", string(h.source.job), "<tmid>", url.PathEscape(worker)).Replace(pattern), nil
}

// maxEnvironment bounds the answer that names the container of an ApplicationMaster, in bytes.
const maxEnvironment = 64 << 10

// masterLogAt is the URL of the logs of the ApplicationMaster that has written an archive, at YARN's log server. Archives of Flink,
// and those that an older release has written, do not name the container: errNotHere.
func (s *Server) masterLogAt(h held) (string, error) {
	stored, err := openPacked(s.pack(h.source.job), "/jobs/"+string(h.source.job)+"/jobmanager/environment")
	if errors.Is(err, fs.ErrNotExist) {
		return "", errNotHere
	}
	if err != nil {
		return "", err
	}
	defer stored.Close()
	var about restapi.EnvironmentInfo
	if json.NewDecoder(io.LimitReader(stored, maxEnvironment)).Decode(&about) != nil || about.Container == nil {
		return "", errNotHere
	}
	return logOfMaster(s.config.LogPages, s.config.LogFiles, *about.Container)
}

// logOfMaster is the URL of the logs of a container, at the pages of YARN's log server or, if there are none, at its REST. The pages
// want the path NODE:PORT/CONTAINER/ENTITY/USER (HsWebApp, AHSWebApp), where NodeManagers send a browser, too, with the container as
// the entity (ContainerLogsPage). The error is errNotHere if something is missing.
func logOfMaster(pages, files string, c restapi.MasterContainer) (string, error) {
	if _, err := records.ParseContainerID(c.ID); err != nil { // what an archive has is the text of a user
		return "", errNotHere
	}
	switch {
	case pages != "" && named(c.Node) && named(c.User):
		return strings.TrimSuffix(pages, "/") + "/" + url.PathEscape(c.Node) + "/" + c.ID + "/" + c.ID + "/" + url.PathEscape(c.User), nil
	case files != "":
		return logFileOf(files, c.ID, launch.MasterLog), nil
	}
	return "", errNotHere
}

// named reports whether a text can be one part of a path.
func named(part string) bool { return part != "" && part != "." && part != ".." }

// WorkerLogAt is Config.WorkerLog for YARN's log server: files is its REST, as in Config.LogFiles.
func WorkerLogAt(files string) string { return logFileOf(files, "<tmid>", launch.WorkerLog) }

// logFileOf is the URL of the file NAME.log of a container. HsWebServices and AHSWebServices have the same path.
func logFileOf(files, container, name string) string {
	return strings.TrimSuffix(files, "/") + "/containerlogs/" + container + "/" + name + ".log"
}
