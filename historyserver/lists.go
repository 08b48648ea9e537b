package historyserver

import (
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/restapi"
)

// listsPause is how long the lists stay as they are while a refresh fetches archives.
const listsPause = time.Second

// lists is the file of the answers about all jobs, as the last refresh has found them. All readers share it. A list has some
// megabytes: in memory, each slow reader would keep the one that was the newest when it came.
func (s *Server) lists() string { return filepath.Join(s.folder, "lists") }

// remakeLists makes the lists if the jobs have changed.
func (s *Server) remakeLists() {
	if s.made {
		return
	}
	err := s.makeLists()
	if err != nil && !s.failing { // the next refresh tries again
		s.logger.WithError(err).Warn("the lists of jobs stay as they are, because the local folder cannot be written")
	}
	s.failing = err != nil
}

// makeLists makes the lists of the jobs that are held. Clients that read the last ones keep them. Only one goroutine at a time may
// call it.
func (s *Server) makeLists() error {
	list := s.newest()
	fresh := s.lists() + ".new"
	if err := createPack(fresh, func(w *packWriter) error { return s.writeLists(w, list) }); err != nil {
		return err
	}
	err := os.Rename(fresh, s.lists())
	s.made = err == nil
	return err
}

// writeLists writes job after job, because all together have some megabytes.
func (s *Server) writeLists(w *packWriter, list []overview) error {
	counts := restapi.ClusterOverview{Version: s.config.Version, Commit: s.config.Revision}
	for _, j := range list {
		counts.Count(j.job.State)
	}
	text, err := json.Marshal(counts)
	if err != nil {
		return err
	}
	w.begin("/overview")
	if _, err := w.Write(text); err != nil {
		return err
	}
	w.begin("/jobs")
	if err := writeList(w, list, func(j overview) ([]byte, error) {
		return json.Marshal(restapi.JobIDWithStatus{ID: j.job.ID, Status: j.job.State})
	}); err != nil {
		return err
	}
	w.begin(overviewPath)
	return writeList(w, list, func(j overview) ([]byte, error) { return j.text, nil })
}

// writeList writes {"jobs":[…]}.
func writeList(w *packWriter, list []overview, entry func(overview) ([]byte, error)) error {
	before := `{"jobs":[`
	for _, j := range list {
		text, err := entry(j)
		if err != nil {
			return err
		}
		if _, err := w.Write(append([]byte(before), text...)); err != nil {
			return err
		}
		before = ","
	}
	if len(list) > 0 {
		before = ""
	}
	_, err := w.Write([]byte(before + "]}"))
	return err
}

// ofLists answers one of the lists.
func (s *Server) ofLists(path string) func(*http.Request) (any, error) {
	return func(*http.Request) (any, error) {
		found, err := openPacked(s.lists(), path)
		if errors.Is(err, fs.ErrNotExist) { // it is no client's fault
			return nil, errNoLists
		}
		return found, err
	}
}

// errNoLists says that the lists are not in the local folder.
var errNoLists = errors.New("the lists of jobs are not in the local folder")
