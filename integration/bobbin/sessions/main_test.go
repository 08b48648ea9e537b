// Package sessions tests clusters that take jobs as they come, on a real YARN: as people
// start and use them, with the ResourceManager's own view of what is true then.
package sessions

import (
	"os"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
)

var suite = bobbintest.NewSuite(clusters.Open).Racing()

func TestMain(m *testing.M) { os.Exit(suite.Run(m)) }
