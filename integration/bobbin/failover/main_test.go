// Package failover tests what outlives an ApplicationMaster on a real YARN: jobs, results, programs, workers and warm
// task hosts. Tests kill the ApplicationMaster, alone or together with servers of Hadoop, and let one that was replaced
// wake up. A short run has one of each kind; TimesVariable of package cluster sets how often tests repeat it.
package failover

import (
	"os"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
)

var suite = bobbintest.NewSuite(clusters.Open).Racing()

func TestMain(m *testing.M) { os.Exit(suite.Run(m)) }
