// Package prom shows metrics in the text format of Prometheus.
//
// A metric is called bobbin_<level>_<name>, where other characters than letters, digits and _ become
// _. Its labels are those of its scope, and its group. Counters are counters, gauges and meters are
// gauges, and histograms are summaries.
//
// The package starts no goroutine. It must never import a role.
package prom

import (
	"bytes"
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/internal/metrics"
)

// Page is an answer, in the form in which it is sent.
type Page struct {
	ContentType string
	Status      int
	Body        []byte
}

// Render answers a request for the metrics of a source. If the source fails, the page has the
// samples that it gave, and bobbin_scrape_failed is 1.
func Render(r *http.Request, source metrics.Source, logger logrus.FieldLogger) Page {
	registry := prometheus.NewRegistry()
	registry.MustRegister(&collector{ctx: r.Context(), source: source, logger: logger})
	var page recorder
	// The text of ten thousand series compresses within milliseconds, but the network is idle and the
	// processor may not be.
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{ErrorLog: logger, ErrorHandling: promhttp.ContinueOnError, DisableCompression: true}).ServeHTTP(&page, r)
	if page.status == 0 {
		page.status = http.StatusOK
	}
	return Page{ContentType: page.Header().Get("Content-Type"), Status: page.status, Body: page.body.Bytes()}
}

// Name returns the name of a metric in Prometheus.
func Name(level metrics.Level, name string) string {
	return clean("bobbin_" + string(level) + "_" + name)
}

// clean replaces each character that a name of Prometheus must not have.
func clean(name string) string {
	return strings.Map(func(c rune) rune {
		if c < 128 && (c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z') {
			return c
		}
		return '_'
	}, name)
}

// recorder keeps a page instead of sending it.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (r *recorder) Header() http.Header {
	if r.header == nil {
		r.header = http.Header{}
	}
	return r.header
}

func (r *recorder) WriteHeader(status int) { r.status = status }

func (r *recorder) Write(p []byte) (int, error) { return r.body.Write(p) }
