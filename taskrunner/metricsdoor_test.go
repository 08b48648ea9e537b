package taskrunner

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/pki"
	"github.com/bobbin-yarn/bobbin/taskrunner/taskexecutor"
)

// doorOf makes the environment of a worker, and the client of a Prometheus that has the authority.
func doorOf(t *testing.T, ports string) (environment, *http.Client, pki.Token) {
	t.Helper()
	authority, err := pki.NewAuthority("application_1_0001", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	own, err := authority.IssueTaskExecutor("container_1_0001_01_000002", time.Now(), "127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	token, err := authority.Viewer()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]string{}
	if ports != "" {
		values[config.PrometheusPort.Name()] = ports
	}
	options, err := config.New(config.Layer{Source: "test", Values: values})
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(own.Authority()) {
		t.Fatal("no certificate of the authority")
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
	t.Cleanup(transport.CloseIdleConnections)
	env := environment{
		container: "container_1_0001_01_000002", config: options, credential: own,
		launch: launch.TaskExecutor{Host: "127.0.0.1", Viewer: token.Digest()},
	}
	return env, &http.Client{Transport: transport}, token
}

func fetch(t *testing.T, client *http.Client, url, token string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	answer, err := client.Do(r)
	if err != nil {
		return 0, err.Error()
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(body)
}

// oneTask is a worker with a task host and a task. Each look finds one more thread.
type oneTask struct{ threads int }

func (o *oneTask) Metrics() msg.WorkerMetrics {
	o.threads++
	return msg.WorkerMetrics{Process: msg.ProcessMetrics{Threads: o.threads}, Hosts: []msg.HostMetrics{{Job: "j1", Resident: 5, Pool: &msg.BufferPool{Used: 3, Total: 8}}}}
}

func (*oneTask) JobName(ids.JobID) (string, bool) { return "count", true }

func (*oneTask) Tasks(time.Time) ([]taskexecutor.MeasuredTask, int) {
	return []taskexecutor.MeasuredTask{{
		Job: "j1", JobName: "count", Vertex: "v1", Subtask: 3, Sample: msg.TaskSample{Now: msg.TaskMetrics{Traffic: msg.Traffic{ReadRecords: 7}}},
	}}, 5
}

func (*oneTask) Counts() []taskexecutor.MeasuredCount {
	return []taskexecutor.MeasuredCount{{Job: "j1", JobName: "count", Vertex: "v1", Operator: 2, Name: "lines.read", Value: 9}}
}

// TestAWorkerShowsItsMetrics would catch a door that answers without a credential or without TLS, one whose certificate a
// Prometheus with the authority refuses, and one that shows the values of the start for ever.
func TestAWorkerShowsItsMetrics(t *testing.T) {
	env, client, token := doorOf(t, "0")
	logger, _ := logtest.NewNullLogger()
	door := openMetricsDoor(t.Context(), env, logger)
	if door.port() == 0 {
		t.Fatal("no port is open")
	}
	door.begin(env, &oneTask{})
	defer door.close()
	address := fmt.Sprintf("127.0.0.1:%d", door.port())
	for n := 1; n <= 2; n++ {
		door.pages.last = nil // it is too old
		status, body := fetch(t, client, "https://"+address+"/metrics", token.Reveal())
		for _, line := range []string{
			fmt.Sprintf(`bobbin_taskmanager_Status_Go_Threads_Count{host="127.0.0.1",tm_id="container_1_0001_01_000002"} %d`, n),
			`bobbin_taskmanager_Metrics_tasksOmitted{host="127.0.0.1",tm_id="container_1_0001_01_000002"} 5`,
			`bobbin_taskmanager_job_Status_Process_Memory_Resident{host="127.0.0.1",job_id="j1",job_name="count",tm_id="container_1_0001_01_000002"} 5`,
			`bobbin_taskmanager_job_Status_Shuffle_Netty_AvailableMemorySegments{host="127.0.0.1",job_id="j1",job_name="count",tm_id="container_1_0001_01_000002"} 5`,
			`bobbin_taskmanager_job_task_numRecordsIn{host="127.0.0.1",job_id="j1",job_name="count",subtask_index="3",task_id="v1",tm_id="container_1_0001_01_000002"} 7`,
			`bobbin_taskmanager_job_task_operator_lines_read{host="127.0.0.1",job_id="j1",job_name="count",operator_id="2",task_id="v1",tm_id="container_1_0001_01_000002"} 9`,
		} {
			if status != http.StatusOK || !strings.Contains(body, line+"\n") {
				t.Errorf("status %d, and no line %s in\n%s", status, line, body)
			}
		}
	}
	for name, test := range map[string]struct {
		url, token string
		want       int
	}{
		"no token":      {"https://" + address + "/metrics", "", http.StatusUnauthorized},
		"another token": {"https://" + address + "/metrics", token.Reveal() + "x", http.StatusUnauthorized},
		"the digest":    {"https://" + address + "/metrics", token.Digest(), http.StatusUnauthorized},
		"another path":  {"https://" + address + "/debug/pprof", token.Reveal(), http.StatusNotFound},
		"without TLS":   {"http://" + address + "/metrics", token.Reveal(), http.StatusBadRequest},
	} {
		if status, body := fetch(t, client, test.url, test.token); status != test.want && (test.want != http.StatusBadRequest || status == http.StatusOK) {
			t.Errorf("%s: status %d, want %d: %s", name, status, test.want, body)
		}
	}
}

// TestFewReadTheMetricsAtATime would catch a worker whose memory holders of the token fill with idle connections, and one that
// turns a new connection away for them.
func TestFewReadTheMetricsAtATime(t *testing.T) {
	env, client, token := doorOf(t, "0")
	logger, _ := logtest.NewNullLogger()
	door := openMetricsDoor(t.Context(), env, logger)
	door.begin(env, &oneTask{})
	defer door.close()
	// ask reports whether a connection is answered.
	ask := func(conn net.Conn) bool {
		if _, err := fmt.Fprintf(conn, "GET /metrics HTTP/1.1\r\nHost: w\r\nAuthorization: Bearer %s\r\n\r\n", token.Reveal()); err != nil {
			return false
		}
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			return false
		}
		defer answer.Body.Close()
		_, err = io.Copy(io.Discard, answer.Body)
		return err == nil && answer.StatusCode == http.StatusOK
	}
	var readers []net.Conn
	for n := range doorReaders + 5 {
		conn, err := tls.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", door.port()), client.Transport.(*http.Transport).TLSClientConfig)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		readers = append(readers, conn)
		if !ask(conn) {
			t.Fatalf("connection %d is not answered", n)
		}
	}
	stay := 0
	for _, conn := range readers {
		if ask(conn) {
			stay++
		}
	}
	if stay != doorReaders {
		t.Errorf("%d of %d connections stay, want %d", stay, len(readers), doorReaders)
	}
}

// TestAWorkerWithoutAPort would catch a port that nobody asked for, and a worker that fails because its port is taken.
func TestAWorkerWithoutAPort(t *testing.T) {
	logger, logged := logtest.NewNullLogger()
	env, _, _ := doorOf(t, "")
	if door := openMetricsDoor(t.Context(), env, logger); door != nil || door.port() != 0 {
		t.Errorf("a port is open: %d", door.port())
	}
	env, _, _ = doorOf(t, "0")
	first := openMetricsDoor(t.Context(), env, logger)
	defer first.close()
	taken, _, _ := doorOf(t, fmt.Sprint(first.port()))
	door := openMetricsDoor(t.Context(), taken, logger)
	door.begin(taken, nil)
	door.close()
	if last := logged.LastEntry(); door != nil || last == nil || !strings.Contains(last.Message, config.PrometheusPort.Name()) {
		t.Errorf("port %d is open; last log: %v", door.port(), last)
	}
	unseen, _, _ := doorOf(t, "0")
	if unseen.launch.Viewer = ""; openMetricsDoor(t.Context(), unseen, logger) != nil {
		t.Error("a port is open that nobody can use")
	}
}
