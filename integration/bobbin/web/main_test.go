// Package web looks at applications with a real browser, Debian's Chromium: at Bobbin's page through YARN's real proxy, through a
// link of `bobbin open` and at a history server, and through Flink's own dashboard, which the test serves from Flink's archive
// in front of Bobbin's REST.
package web

import (
	"os"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
)

var suite = bobbintest.NewSuite(clusters.Open)

func TestMain(m *testing.M) {
	code := suite.Run(m)
	chromium.end()
	os.Exit(code)
}
