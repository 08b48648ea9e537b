// Package releases tests the client with every supported Hadoop release, without Kerberos and with
// Kerberos under each protection: a user's calls and tokens, HDFS, and an application whose
// ApplicationMaster is a Go program. Each leg first asks the servers for their settings in force,
// and then checks the protection of its own connections.
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
