// Package jobs tests whole jobs on a real YARN: their results, their ends, and the effects of
// killed processes. bobbin submits each job as an ordinary user. The tests then ask YARN, HDFS and
// the kernel for the state.
package jobs

import (
	"os"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
)

var suite = bobbintest.NewSuite(clusters.Open).RacingIfLong()

func TestMain(m *testing.M) { os.Exit(suite.Run(m)) }
