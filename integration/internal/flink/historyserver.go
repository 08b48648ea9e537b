package flink

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster/artifacts"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
)

// HistoryServer is a running HistoryServer of Flink.
type HistoryServer struct {
	URL string // without a slash at its end

	ended chan struct{} // closed when the process has ended
}

// StartHistoryServer starts Flink's HistoryServer of a directory with archives: a URI of a folder on this machine, or of a
// directory on the HDFS of u's cluster. u may be nil for the first. It looks for new archives twice a second.
func StartHistoryServer(t testing.TB, u *bobbintest.User, archives string) *HistoryServer {
	t.Helper()
	java, err := artifacts.FindJava()
	if err != nil {
		t.Fatal(err)
	}
	dir, port := t.TempDir(), bobbintest.FreePort(t)
	if err := os.WriteFile(filepath.Join(dir, "config.yaml"), fmt.Appendf(nil, `historyserver.archive.fs.dir: %s
historyserver.web.address: 127.0.0.1
historyserver.web.port: %d
historyserver.archive.fs.refresh-interval: 500
historyserver.web.tmpdir: %s/web
historyserver.log.jobmanager.url-pattern: http://logs/<jobid>/jobmanager.log
historyserver.log.taskmanager.url-pattern: http://logs/<tmid>/taskmanager.log
io.tmp.dirs: %s
`, archives, port, dir, dir), 0o600); err != nil {
		t.Fatal(err)
	}
	classes, env := filepath.Join(Home(t), "lib", "*"), os.Environ()
	if u != nil {
		hadoop, err := artifacts.Fetch(t.Context(), u.Cluster.Version())
		if err != nil {
			t.Fatal(err)
		}
		classes += string(filepath.ListSeparator) + hadoop.Classpath(u.Cluster.ConfDir())
		env = append(env, "HADOOP_CONF_DIR="+u.Cluster.ConfDir(), "HADOOP_USER_NAME="+u.Name)
	}
	var log bytes.Buffer // read after the process
	server := exec.CommandContext(t.Context(), java, "-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", classes,
		"org.apache.flink.runtime.webmonitor.history.HistoryServer", "--configDir", dir)
	server.Stdout, server.Stderr, server.Env = &log, &log, env
	server.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	h := &HistoryServer{URL: fmt.Sprintf("http://127.0.0.1:%d", port), ended: make(chan struct{})}
	go func() { _ = server.Wait(); close(h.ended) }() // it is killed
	t.Cleanup(func() {
		<-h.ended
		if t.Failed() {
			t.Log(log.String())
		}
	})
	return h
}

// overviewPath is the path of the list of jobs. Each archive has one of its own job, and the server makes a list of all.
const overviewPath = "/jobs/overview"

// lists reports whether the list of all jobs has the only job of another list.
func lists(all, one any) bool {
	jobs := func(list any) []any {
		fields, _ := list.(map[string]any)
		found, _ := fields["jobs"].([]any)
		return found
	}
	want := jobs(one)
	return len(want) == 1 && slices.ContainsFunc(jobs(all), func(job any) bool { return reflect.DeepEqual(job, want[0]) })
}

// Await waits until the server lists these jobs, which it does when it has all their answers.
func (h *HistoryServer) Await(t testing.TB, jobs ...string) {
	t.Helper()
	wait.Satisfied(t, "Flink's HistoryServer lists the jobs", func() error {
		select {
		case <-h.ended:
			return fmt.Errorf("%w: Flink's HistoryServer has ended", wait.ErrGivenUp)
		default:
		}
		list, err := fetch(t, h.URL+overviewPath)
		if err != nil {
			return err
		}
		for _, job := range jobs {
			if !bytes.Contains(list, []byte(job)) {
				return fmt.Errorf("%s is not in %s", job, list)
			}
		}
		return nil
	})
}

// Check asks the server for each answer of an archive, and compares. It returns their paths.
func (h *HistoryServer) Check(t testing.TB, archive []byte) (paths []string) {
	t.Helper()
	var read struct {
		Archive []struct{ Path, JSON string }
	}
	if err := json.Unmarshal(archive, &read); err != nil {
		t.Fatal(err)
	}
	for _, want := range read.Archive {
		var got, wanted any
		text, err := fetch(t, h.URL+want.Path)
		if err == nil {
			err = json.Unmarshal(text, &got)
		}
		if err != nil {
			t.Errorf("%s: %v: %s", want.Path, err, text)
			continue
		}
		if err := json.Unmarshal([]byte(want.JSON), &wanted); err != nil {
			t.Fatal(err)
		}
		if want.Path == overviewPath {
			if !lists(got, wanted) {
				t.Errorf("the list %s has not the job of %s", text, want.JSON)
			}
		} else if !reflect.DeepEqual(got, wanted) {
			t.Errorf("%s is\n%s\nwant\n%s", want.Path, text, want.JSON)
		}
		paths = append(paths, want.Path)
	}
	return paths
}

func fetch(t testing.TB, url string) (text []byte, err error) {
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	if text, err = io.ReadAll(response.Body); err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("GET %s: %s: %s", url, response.Status, strings.TrimSpace(string(text)))
	}
	return text, err
}
