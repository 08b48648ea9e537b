package history

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// TestTheLinksLeadToTheLogs would catch links that a real log server does not understand, and those that lead to the logs of another
// container. The configuration names only the pages of the log server: the links to logs of workers lead to its REST.
func TestTheLinksLeadToTheLogs(t *testing.T) {
	cluster.Thorough(t)
	t.Parallel()
	u := suite.UserOf(t, clusters.Use(t, clusters.Open), bobbintest.Alice)
	logs := startLogServer(t, u)
	s := u.HistoryServer(t, u.Scratch(t), bobbintest.Option("flink.yarn.log.server.url", logs.url+"/jobhistory/logs")...)
	ran := count(t, u, append([]string{"-t", "yarn-per-job", "-jm", "256m", "-tm", "320m"}, s.Options()...)...)
	u.WaitLogs(t, ran.Application)
	awaitState(t, s.URL, ran.Job, msg.JobFinished)
	logs.await(t)

	checkLog(t, logOf(t, s, ran.Job, workerOf(t, s, ran.Job)), ran.Job, "task executor starts")
	checkLog(t, s.URL+"/jobs/"+ran.Job+"/jobmanager/log", ran.Job, "process ends") // the page has the end of the log
}

// checkLog follows a link to a log, in which these texts are.
func checkLog(t *testing.T, link string, texts ...string) {
	t.Helper()
	page := string(fetch(t, link))
	for _, text := range texts {
		if !strings.Contains(page, text) {
			t.Errorf("%s leads to a page without %q:\n%s", link, text, page)
			return
		}
	}
}

// logServer is MapReduce's JobHistoryServer, which has the logs that YARN has aggregated.
type logServer struct {
	url   string
	ended chan struct{} // closed when the process has ended
}

// startLogServer starts a JobHistoryServer that runs as u, until the test ends. Its own files are on HDFS.
func startLogServer(t *testing.T, u *bobbintest.User) *logServer {
	t.Helper()
	address, dir := fmt.Sprintf("127.0.0.1:%d", bobbintest.FreePort(t)), "hdfs://"+u.Scratch(t)
	server, err := u.Cluster.JobHistoryServer(t.Context(), map[string]string{
		"mapreduce.jobhistory.webapp.address":        address,
		"mapreduce.jobhistory.address":               "127.0.0.1:0",
		"mapreduce.jobhistory.admin.address":         "127.0.0.1:0",
		"mapreduce.jobhistory.done-dir":              dir + "/done",
		"mapreduce.jobhistory.intermediate-done-dir": dir + "/intermediate",
	})
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer // read after the process
	server.Stdout, server.Stderr = &said, &said
	server.Env = append(server.Env, "HADOOP_USER_NAME="+u.Name)
	server.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	s := &logServer{url: "http://" + address, ended: make(chan struct{})}
	go func() { _ = server.Wait(); close(s.ended) }() // the end of the test kills it
	t.Cleanup(func() {
		<-s.ended
		if t.Failed() {
			t.Logf("the log server:\n%s", said.String())
		}
	})
	return s
}

// await waits until the server answers.
func (s *logServer) await(t *testing.T) {
	t.Helper()
	wait.Satisfied(t, "the log server answers", func() error {
		select {
		case <-s.ended:
			return fmt.Errorf("%w: the log server has ended", wait.ErrGivenUp)
		default:
		}
		response, err := http.Get(s.url + "/ws/v1/history/info")
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("%s", response.Status)
		}
		return nil
	})
}
