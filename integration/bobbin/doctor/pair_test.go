package doctor

import (
	"testing"

	"github.com/bobbin-yarn/bobbin/client/doctor"
	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
)

// TestAPairOfNameNodes would catch a doctor that takes a standby for ill, that waits for ever for one
// whose machine hangs, or that is content with a pair of which none is active.
func TestAPairOfNameNodes(t *testing.T) {
	cluster.Long(t)
	c := cluster.ForTest(t, cluster.Config{NameNodeHA: true, NodeManagers: 1, Users: []string{bobbintest.Alice}})
	alice := suite.UserOf(t, c, bobbintest.Alice)

	e := examine(t, alice)
	e.well(t, "names", "namenode", "staging")
	e.wants(t, "namenode", doctor.OK, "is active", "")
	e.wants(t, "namenode", doctor.OK, "is standby", "")

	standby := alice.Conf(t).Get("dfs.namenode.rpc-address.bobbin.nn2")
	e = examine(t, alice, "-D", "flink.hadoop.fs.defaultFS=hdfs://"+standby)
	e.wants(t, "namenode", doctor.Failed, standby+" (fs.defaultFS, ", "name the nameservice")

	if err := c.Pause(t.Context(), "namenode2"); err != nil {
		t.Fatal(err)
	}
	e = examine(t, alice)
	e.wants(t, "namenode", doctor.Warning, "no answer in time", "does not answer")
	e.well(t, "staging")
	if err := c.Resume("namenode2"); err != nil {
		t.Fatal(err)
	}

	if err := c.Kill(t.Context(), "namenode1"); err != nil {
		t.Fatal(err)
	}
	e = examine(t, alice)
	e.wants(t, "namenode", doctor.Failed, "no NameNode is active", "hdfs haadmin -getAllServiceState")
	e.wants(t, "namenode", doctor.Failed, "(dfs.ha.namenodes.", "")
	e.wants(t, "staging", doctor.Skipped, "NameNode has failed", "")
}
