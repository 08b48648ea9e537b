package security

import (
	"slices"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
)

// TestTheMasterIsGivenNoTokenThatIsNotWanted would catch an option without effect, with which the ApplicationMaster's
// container has HDFS's token nevertheless, and an application that needs the token although it has a keytab. Here the
// ResourceManager gets the tokens with which NodeManagers fetch files. Package client tests the values that leave out
// HDFS. TestNobodyElseGetsIntoAJob tests that the token is there by default.
func TestTheMasterIsGivenNoTokenThatIsNotWanted(t *testing.T) {
	cluster.Thorough(t)
	t.Parallel()
	alice := suite.User(t, bobbintest.Alice).WithoutTicket()
	left := option("yarn.security.appmaster.delegation.token.services", "hbase")
	// The answers to heartbeats bring the ResourceManager's tokens to nodes. An answer that is made at the moment when
	// the ResourceManager obtains tokens may lack them: ResourceTrackerService#populateTokenSequenceNo reads their
	// number twice.
	d := suite.DawdleAtLast(t, alice, "Client cannot authenticate via:[TOKEN, KERBEROS]", slices.Concat(keytabOptions(alice), left, []string{"-p", "1"})...)
	given := d.First(t, bobbintest.ApplicationMaster).Credentials(t)
	if given.ByKind(creds.KindAMRM) == nil {
		t.Error("the container has no token for YARN: its credentials are others")
	}
	if given.ByKind(creds.KindHDFSDelegation) != nil {
		t.Error("the container has a token for HDFS")
	}
	if worker := d.First(t, bobbintest.TaskExecutor).Credentials(t); worker.ByKind(creds.KindHDFSDelegation) == nil {
		t.Error("the worker has no token for HDFS, which its master is to get")
	}
	if said := d.Run.Seen().Stderr; strings.Contains(said, "the client obtains no tokens") {
		t.Errorf("the client warns where the ResourceManager gets tokens: %s", said)
	}
	d.CheckSucceeds(t)
}
