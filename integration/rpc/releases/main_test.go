// Package releases holds the client to what every Hadoop release does that it is said to
// work with, in the open and with Kerberos under each protection: a user's calls and
// tokens, HDFS, and an application whose ApplicationMaster is a Go program. Each
// leg first has the servers say what is in force, and then looks at what its own
// connections agreed on.
package releases

import (
	"os"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
)

const alice, bob = clusters.Alice, clusters.Bob

func TestMain(m *testing.M) {
	if os.Getenv(masterVariable) != "" {
		os.Exit(runMaster())
	}
	os.Exit(clusters.Main(m))
}
