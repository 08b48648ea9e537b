package prom_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sirupsen/logrus"
	"go.uber.org/goleak"

	"github.com/bobbin-yarn/bobbin/internal/metrics"
	"github.com/bobbin-yarn/bobbin/internal/metrics/prom"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func render(t *testing.T, err error, samples ...metrics.Sample) prom.Page {
	t.Helper()
	logger := logrus.New()
	logger.SetOutput(io.Discard)
	r := httptest.NewRequest(http.MethodGet, "/metrics", nil).WithContext(t.Context())
	r.Header.Set("Accept-Encoding", "gzip")
	return prom.Render(r, func(context.Context) ([]metrics.Sample, error) { return samples, err }, logger)
}

// It would catch a page that Prometheus cannot read, a counter that is shown as a gauge, and a label that is lost.
func TestPage(t *testing.T) {
	worker := metrics.Scope{Level: metrics.TaskManager, Labels: []metrics.Label{{Name: metrics.LabelHost, Value: "node1"}, {Name: metrics.LabelWorker, Value: `c"1`}}}
	summary := summaryOf(1, 2, 3)
	page := render(t, nil,
		metrics.Sample{Scope: worker, Name: "Status.Go.CPU.Time", Kind: metrics.KindCounter, Value: 5},
		metrics.Sample{Scope: worker, Name: "load-1", Kind: metrics.KindGauge, Value: math.NaN()},
		metrics.Sample{Scope: worker, Name: "failuresPerSecond", Kind: metrics.KindMeter, Value: 0.5},
		metrics.Sample{Scope: worker, Name: "Rpc.latency", Kind: metrics.KindHistogram, Group: metrics.Label{Name: "protocol", Value: "ClientNamenodeProtocol"}, Summary: &summary},
	)
	want := `# HELP bobbin_scrape_dropped Samples that are missing in this answer, because others have the same name and labels or the same name and another type
# TYPE bobbin_scrape_dropped gauge
bobbin_scrape_dropped 0
# HELP bobbin_scrape_failed 1: a part of this answer is missing, because its source failed
# TYPE bobbin_scrape_failed gauge
bobbin_scrape_failed 0
# HELP bobbin_taskmanager_Rpc_latency Time until a Hadoop server answers a call; ClientProtocol is HDFS's NameNode
# TYPE bobbin_taskmanager_Rpc_latency summary
bobbin_taskmanager_Rpc_latency{host="node1",protocol="ClientNamenodeProtocol",tm_id="c\"1",quantile="0.5"} 2
bobbin_taskmanager_Rpc_latency{host="node1",protocol="ClientNamenodeProtocol",tm_id="c\"1",quantile="0.75"} 3
bobbin_taskmanager_Rpc_latency{host="node1",protocol="ClientNamenodeProtocol",tm_id="c\"1",quantile="0.95"} 3
bobbin_taskmanager_Rpc_latency{host="node1",protocol="ClientNamenodeProtocol",tm_id="c\"1",quantile="0.98"} 3
bobbin_taskmanager_Rpc_latency{host="node1",protocol="ClientNamenodeProtocol",tm_id="c\"1",quantile="0.99"} 3
bobbin_taskmanager_Rpc_latency{host="node1",protocol="ClientNamenodeProtocol",tm_id="c\"1",quantile="0.999"} 3
bobbin_taskmanager_Rpc_latency_sum{host="node1",protocol="ClientNamenodeProtocol",tm_id="c\"1"} 6
bobbin_taskmanager_Rpc_latency_count{host="node1",protocol="ClientNamenodeProtocol",tm_id="c\"1"} 3
# HELP bobbin_taskmanager_Status_Go_CPU_Time Processor time of the worker itself
# TYPE bobbin_taskmanager_Status_Go_CPU_Time counter
bobbin_taskmanager_Status_Go_CPU_Time{host="node1",tm_id="c\"1"} 5
# HELP bobbin_taskmanager_failuresPerSecond A metric of the job's program
# TYPE bobbin_taskmanager_failuresPerSecond gauge
bobbin_taskmanager_failuresPerSecond{host="node1",tm_id="c\"1"} 0.5
# HELP bobbin_taskmanager_load_1 A metric of the job's program
# TYPE bobbin_taskmanager_load_1 gauge
bobbin_taskmanager_load_1{host="node1",tm_id="c\"1"} NaN
`
	if page.Status != http.StatusOK || !strings.HasPrefix(page.ContentType, "text/plain; version=0.0.4") {
		t.Errorf("status %d, %s", page.Status, page.ContentType)
	}
	if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(string(page.Body), "\n")); diff != "" {
		t.Error(diff)
	}
}

// It would catch names of users' metrics that make Prometheus lose all other metrics.
func TestWhatDoesNotFitIsDropped(t *testing.T) {
	job := metrics.Scope{Level: metrics.Operator}
	summary := summaryOf()
	page := render(t, nil,
		metrics.Sample{Scope: job, Name: "a.b", Kind: metrics.KindCounter, Value: 1},
		metrics.Sample{Scope: job, Name: "a_b", Kind: metrics.KindCounter, Value: 2},                                                              // the same series
		metrics.Sample{Scope: job, Name: "a-b", Kind: metrics.KindGauge, Value: 3, Group: metrics.Label{Name: "g", Value: "1"}},                   // another type
		metrics.Sample{Scope: job, Name: "h", Kind: metrics.KindHistogram, Group: metrics.Label{Name: "quantile", Value: "1"}, Summary: &summary}, // Prometheus' own label
		metrics.Sample{Scope: job, Name: "c", Kind: metrics.KindGauge, Group: metrics.Label{Name: "__name__", Value: "1"}, Value: 1},              // likewise
		metrics.Sample{Scope: job, Name: "d", Kind: metrics.KindGauge, Group: metrics.Label{Name: "g", Value: "a\xffb\n"}, Value: 4},              // no UTF-8
		metrics.Sample{Scope: job, Name: "a.b", Kind: metrics.KindCounter, Value: 5, Group: metrics.Label{Name: "g", Value: "other"}},             // fits
		metrics.Sample{Scope: job, Name: "s_sum", Kind: metrics.KindGauge, Value: 6},
		metrics.Sample{Scope: job, Name: "s", Kind: metrics.KindHistogram, Summary: &summary}, // has a part that is there
		metrics.Sample{Scope: job, Name: "t", Kind: metrics.KindHistogram, Summary: &summary},
		metrics.Sample{Scope: job, Name: "t_count", Kind: metrics.KindGauge}, // is a part
		metrics.Sample{Scope: job, Name: "ok", Kind: metrics.KindGauge},
	)
	if page.Status != http.StatusOK {
		t.Fatalf("status %d: %s", page.Status, page.Body)
	}
	for _, line := range []string{
		"bobbin_taskmanager_job_task_operator_a_b 1", `bobbin_taskmanager_job_task_operator_a_b{g="other"} 5`,
		"bobbin_taskmanager_job_task_operator_d{g=\"a�b\\n\"} 4", "bobbin_taskmanager_job_task_operator_ok 0", "bobbin_taskmanager_job_task_operator_s_sum 6", "bobbin_taskmanager_job_task_operator_t_count 0", "bobbin_scrape_dropped 6",
	} {
		if !bytes.Contains(page.Body, []byte(line+"\n")) {
			t.Errorf("no line %s in\n%s", line, page.Body)
		}
	}
}

// It would catch one role that is busy, and takes the metrics of all others with it.
func TestAFailedSourceIsShown(t *testing.T) {
	page := render(t, errors.New("busy"), metrics.Sample{Scope: metrics.Scope{Level: metrics.JobManager}, Name: "Status.Go.CPU.Load", Kind: metrics.KindGauge, Value: 1})
	for _, line := range []string{
		"bobbin_scrape_failed 1", "bobbin_jobmanager_Status_Go_CPU_Load 1",
		"# HELP bobbin_jobmanager_Status_Go_CPU_Load Share of the machine's cores that the ApplicationMaster has used in the last seconds",
	} {
		if page.Status != http.StatusOK || !bytes.Contains(page.Body, []byte(line+"\n")) {
			t.Errorf("status %d, and no line %s in\n%s", page.Status, line, page.Body)
		}
	}
}

// It would catch a client whose Accept header the page cannot satisfy, and which gets an error.
func TestAnyAcceptGetsAPage(t *testing.T) {
	for _, accept := range []string{"", "text/html", "application/openmetrics-text;version=1.0.0", "nonsense;;", "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited"} {
		r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
		r.Header.Set("Accept", accept)
		page := prom.Render(r, func(context.Context) ([]metrics.Sample, error) { return nil, nil }, logrus.New())
		if page.Status != http.StatusOK || len(page.Body) == 0 {
			t.Errorf("Accept %q: status %d, %d bytes", accept, page.Status, len(page.Body))
		}
	}
}

// summaryOf describes values.
func summaryOf(values ...float64) metrics.Summary {
	var h metrics.Histogram
	for _, v := range values {
		h.Update(v)
	}
	return h.Summary()
}
