package security

import (
	"slices"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
)

// TestTheMasterIsGivenNoTokenThatIsNotWanted would catch an option that is taken while the ApplicationMaster's
// container holds HDFS's token all the same, and an application that needs it though it has a keytab: the
// ResourceManager here gets the tokens by which NodeManagers fetch files. Which values leave HDFS out is package client's to
// test; that its token is there by default, TestNobodyElseGetsIntoAJob's.
func TestTheMasterIsGivenNoTokenThatIsNotWanted(t *testing.T) {
	t.Parallel()
	alice := suite.User(t, bobbintest.Alice).WithoutTicket()
	left := option("yarn.security.appmaster.delegation.token.services", "hbase")
	// Answers to heartbeats bring nodes the tokens that the ResourceManager obtains. One that is composed at the moment at
	// which it obtains them may lose them: ResourceTrackerService#populateTokenSequenceNo reads their number twice.
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
