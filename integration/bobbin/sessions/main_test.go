// Package sessions tests clusters that run several jobs, on a real YARN. It starts and uses them
// like a person, and checks the state that the ResourceManager reports.
package sessions

import (
	"os"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
)

var suite = bobbintest.NewSuite(clusters.Open).Racing()

func TestMain(m *testing.M) { os.Exit(suite.Run(m)) }
