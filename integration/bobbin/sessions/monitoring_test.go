package sessions

import (
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/prometheus"
)

// TestPrometheusWatchesAnOpenCluster checks docs/monitoring.md with a real Prometheus: see CheckWatches.
func TestPrometheusWatchesAnOpenCluster(t *testing.T) {
	t.Parallel()
	u, _ := person(t)
	d := suite.Dawdle(t, u, "-p", "1", "-s", "1", "-D", "metrics.reporter.prom.port=0")
	prometheus.CheckWatches(t, d.Master.Access, "../../../docs/monitoring")
	d.CheckSucceeds(t)
}

// TestPromtoolTestsTheAlertRules checks the files of docs/monitoring without a server: see CheckFiles.
func TestPromtoolTestsTheAlertRules(t *testing.T) {
	t.Parallel()
	prometheus.CheckFiles(t, "../../../docs/monitoring")
}
