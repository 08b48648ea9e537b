// Package jobs tests whole jobs on a real YARN: their results, how they end, and
// what becomes of them when processes are killed. Each is submitted by bobbin as
// an ordinary user; what is true afterwards is asked of YARN, HDFS and the
// kernel.
package jobs

import (
	"os"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
)

var suite = bobbintest.NewSuite(clusters.Open).Racing()

func TestMain(m *testing.M) { os.Exit(suite.Run(m)) }
