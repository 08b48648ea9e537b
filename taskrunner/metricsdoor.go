package taskrunner

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/crowd"
	"github.com/bobbin-yarn/bobbin/internal/doorstep"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/logging"
	"github.com/bobbin-yarn/bobbin/internal/metrics"
	"github.com/bobbin-yarn/bobbin/internal/metrics/prom"
	"github.com/bobbin-yarn/bobbin/internal/metrics/status"
	"github.com/bobbin-yarn/bobbin/internal/metrics/tasks"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/pki"
	"github.com/bobbin-yarn/bobbin/internal/ports"
	"github.com/bobbin-yarn/bobbin/taskrunner/taskexecutor"
)

// Limits of what a client can make the worker hold.
const (
	doorHeaderTime = 10 * time.Second
	doorWriteTime  = 10 * time.Second // Prometheus gives up after as long, unless it is told otherwise
	doorIdleTime   = 2 * time.Minute  // Prometheus comes once a minute or more often, over one connection
	doorHeader     = 16 << 10         // bytes
	// doorReaders is how many connections stay whose clients have the token. Package doorstep bounds the others. TLS takes some 60 KB
	// for each, and the worker's own memory is small.
	doorReaders = 16
)

// metricsDoor shows a worker's metrics to Prometheus, at metrics.reporter.prom.port. As REST does, it speaks TLS with a
// certificate of the application's authority, and answers only clients that send the token to view. It keeps doorReaders of
// their connections, and then closes the one on which nothing has moved for the longest time.
type metricsDoor struct {
	listener *net.TCPListener
	viewer   string // the digest of the token
	pages    *metricsPages
	logger   logrus.FieldLogger

	server *http.Server  // nil before begin
	served chan struct{} // closed when server has ended
}

// openMetricsDoor opens the port; nil: the worker has none. A worker without a port works: it logs the reason.
func openMetricsDoor(ctx context.Context, env environment, logger logrus.FieldLogger) *metricsDoor {
	at := env.config.Ports(config.PrometheusPort)
	if len(at) == 0 || env.launch.Viewer == "" {
		return nil
	}
	listener, err := ports.Listen(ctx, env.launch.Host, at)
	if err != nil {
		logger.WithError(err).Warnf("the worker shows no metrics to Prometheus: see %s", config.PrometheusPort)
		return nil
	}
	logger.WithField("address", listener.Addr()).Info("the worker shows its metrics to Prometheus")
	return &metricsDoor{listener: listener, viewer: env.launch.Viewer, logger: logger}
}

// port is the open port; 0: there is none.
func (d *metricsDoor) port() int {
	if d == nil {
		return 0
	}
	return d.listener.Addr().(*net.TCPAddr).Port
}

// measuredWorker knows what a worker uses and does: a *taskexecutor.TaskExecutor.
type measuredWorker interface {
	Metrics() msg.WorkerMetrics
	JobName(job ids.JobID) (name string, known bool)
	Tasks(now time.Time) (all []taskexecutor.MeasuredTask, omitted int)
	Counts() []taskexecutor.MeasuredCount
}

// begin answers in another goroutine until close. A nil door does nothing.
func (d *metricsDoor) begin(env environment, worker measuredWorker) {
	if d == nil {
		return
	}
	source := func(context.Context) ([]metrics.Sample, error) {
		return workerSamples(env.launch.Host, string(env.container), worker), nil
	}
	d.pages = &metricsPages{now: time.Now, render: func() prom.Page { return prom.Render(plain(), source, d.logger) }}
	d.server = &http.Server{
		Handler:           http.HandlerFunc(d.answer),
		ReadHeaderTimeout: doorHeaderTime, ReadTimeout: doorHeaderTime, WriteTimeout: doorWriteTime, IdleTimeout: doorIdleTime,
		MaxHeaderBytes: doorHeader,
		ConnContext: func(ctx context.Context, conn net.Conn) context.Context {
			return context.WithValue(ctx, connectionKey{}, conn)
		},
		ErrorLog:                     logging.ForHTTP(d.logger),
		DisableGeneralOptionsHandler: true,
	}
	d.served = make(chan struct{})
	go func() {
		defer close(d.served)
		few := crowd.New(0, doorReaders).Listen(doorstep.New(d.listener))
		err := d.server.Serve(tls.NewListener(few, env.credential.RESTServerTLS()))
		if !errors.Is(err, http.ErrServerClosed) {
			d.logger.WithError(err).Warn("the worker shows no metrics to Prometheus any more")
		}
	}()
}

// plain is a request without wishes for a format: all clients share the page.
func plain() *http.Request { return &http.Request{Method: http.MethodGet, Header: http.Header{}} }

// workerSamples are the samples of a worker, its task hosts, its tasks, and what the code of their operators counts.
func workerSamples(host, container string, worker measuredWorker) []metrics.Sample {
	samples := status.OfWorker(host, container, worker.Metrics(), worker.JobName)
	all, omitted := worker.Tasks(time.Now())
	for _, one := range all {
		samples = append(samples, taskSamples(host, container, one)...)
	}
	for _, one := range worker.Counts() {
		samples = append(samples, countSample(host, container, one))
	}
	return append(samples, metrics.Sample{
		Scope: status.WorkerScope(host, container), Name: "Metrics.tasksOmitted", Kind: metrics.KindGauge, Value: float64(omitted),
	})
}

// taskSamples are the samples of a task.
func taskSamples(host, container string, one taskexecutor.MeasuredTask) []metrics.Sample {
	scope := metrics.Scope{Level: metrics.Task, Labels: []metrics.Label{
		{Name: metrics.LabelHost, Value: host},
		{Name: metrics.LabelWorker, Value: container},
		{Name: metrics.LabelJobID, Value: string(one.Job)},
		{Name: metrics.LabelJobName, Value: one.JobName},
		{Name: metrics.LabelTaskID, Value: one.Vertex},
		{Name: metrics.LabelSubtaskIndex, Value: strconv.Itoa(one.Subtask)},
	}}
	return tasks.AppendUser(tasks.Append(nil, scope, one.Sample, one.Times), scope, nil, &msg.UserMetrics{Dropped: one.Dropped})
}

// countSample is the sample of what the code of an operator counts. As in the sums of a vertex, there is no subtask_index.
func countSample(host, container string, one taskexecutor.MeasuredCount) metrics.Sample {
	scope := metrics.Scope{Level: metrics.Operator, Labels: []metrics.Label{
		{Name: metrics.LabelHost, Value: host},
		{Name: metrics.LabelWorker, Value: container},
		{Name: metrics.LabelJobID, Value: string(one.Job)},
		{Name: metrics.LabelJobName, Value: one.JobName},
		{Name: metrics.LabelTaskID, Value: one.Vertex},
		{Name: metrics.LabelOperatorID, Value: strconv.Itoa(one.Operator)},
	}}
	return metrics.Sample{Scope: scope, Name: one.Name, Kind: metrics.KindCounter, Value: one.Value}
}

// close closes the port, and waits for everything that begin has started. A nil door is closed.
func (d *metricsDoor) close() {
	if d == nil {
		return
	}
	if d.server != nil {
		_ = d.server.Close()
		<-d.served
	}
	_ = d.listener.Close() // if begin was not called
}

type connectionKey struct{}

// answer answers one request. A connection whose first request has no token ends.
func (d *metricsDoor) answer(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	scheme, sent, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	switch {
	case scheme != "Bearer" || !pki.MatchesDigest(d.viewer, sent):
		w.Header().Set("Connection", "close")
		w.Header().Set("WWW-Authenticate", "Bearer")
		http.Error(w, "send the application's token to view as \"Authorization: Bearer …\"", http.StatusUnauthorized)
	case r.Method != http.MethodGet || r.URL.Path != "/metrics":
		http.Error(w, "only GET /metrics is answered here", http.StatusNotFound)
	default:
		if conn, is := r.Context().Value(connectionKey{}).(net.Conn); is {
			crowd.Admit(conn, false)
			doorstep.Prove(conn)
		}
		page := d.pages.get()
		defer d.pages.done(page)
		w.Header().Set("Content-Type", page.ContentType)
		w.WriteHeader(page.Status)
		if _, err := w.Write(page.Body); err != nil {
			d.logger.WithError(err).Debug("client did not read the metrics")
		}
	}
}
