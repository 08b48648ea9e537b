package security

import (
	"slices"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
)

// TestTheMasterHasTheTokensThatAreWanted would catch an option that is taken while the ApplicationMaster's
// container holds HDFS's token all the same, and an application that needs it though it has a keytab: the
// ResourceManager here gets the tokens by which NodeManagers fetch files.
func TestTheMasterHasTheTokensThatAreWanted(t *testing.T) {
	alice := suite.User(t, bobbintest.Alice).WithoutTicket()
	for name, c := range map[string]struct {
		flags []string
		want  bool
	}{
		"by default":       {nil, true},
		"HDFS's named":     {option("yarn.security.appmaster.delegation.token.services", "hbase;hadoopfs"), true},
		"HDFS's left out":  {option("yarn.security.appmaster.delegation.token.services", "hbase"), false},
		"no service named": {option("yarn.security.appmaster.delegation.token.services", ""), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := suite.Dawdle(t, alice, slices.Concat(keytabOptions(alice), c.flags, []string{"-p", "1"})...)
			given := d.First(t, bobbintest.ApplicationMaster).Credentials(t)
			if given.ByKind(creds.KindAMRM) == nil {
				t.Error("the container has no token for YARN: its credentials are others")
			}
			if got := given.ByKind(creds.KindHDFSDelegation) != nil; got != c.want {
				t.Errorf("the container has a token for HDFS: %t, want %t", got, c.want)
			}
			if worker := d.First(t, bobbintest.TaskExecutor).Credentials(t); worker.ByKind(creds.KindHDFSDelegation) == nil {
				t.Error("the worker has no token for HDFS, which its master is to get")
			}
			if said := d.Run.Seen().Stderr; strings.Contains(said, "the client obtains no tokens") {
				t.Errorf("the client warns where the ResourceManager gets tokens: %s", said)
			}
			d.CheckSucceeds(t)
		})
	}
}
