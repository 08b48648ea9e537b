package security

import (
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/prometheus"
)

// TestPrometheusWatchesASecureCluster checks that Prometheus needs no ticket on a cluster with Kerberos: see CheckWatches.
func TestPrometheusWatchesASecureCluster(t *testing.T) {
	t.Parallel()
	alice := suite.User(t, bobbintest.Alice)
	d := suite.Dawdle(t, alice, append(keytabOptions(alice), "-p", "1", "-s", "1", "-D", "metrics.reporter.prom.port=0")...)
	prometheus.CheckWatches(t, d.Master.Access, "../../../docs/monitoring")
	d.CheckSucceeds(t)
}
