package doctor

import (
	"errors"
	"testing"

	"github.com/bobbin-yarn/bobbin/client/doctor"
	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
)

// TestAPairOfEachServer would catch a doctor that reports a standby as an error, that waits for
// ever for a server that hangs, or that accepts a pair without an active server.
func TestAPairOfEachServer(t *testing.T) {
	c := clusters.Change(t, clusters.Pair, "kills a standby ResourceManager, stops a standby NameNode, and leaves no NameNode active")
	alice := suite.UserOf(t, c, bobbintest.Alice)

	e := examine(t, alice)
	e.well(t, "names", "resourcemanager", "namenode", "staging")
	for _, server := range []string{"resourcemanager", "namenode"} {
		e.wants(t, server, doctor.OK, "is active", "")
		e.wants(t, server, doctor.OK, "is standby", "")
	}

	standby := alice.Conf(t).Get("dfs.namenode.rpc-address.bobbin.nn2")
	e = examine(t, alice, "-D", "flink.hadoop.fs.defaultFS=hdfs://"+standby)
	e.wants(t, "namenode", doctor.Failed, standby+" (fs.defaultFS, ", "name the nameservice")

	active := rpctest.ActiveRM(t, c)
	other := map[string]string{"resourcemanager1": "resourcemanager2", "resourcemanager2": "resourcemanager1"}[active]
	if err := errors.Join(c.Kill(t.Context(), other), c.Pause(t.Context(), "namenode2")); err != nil {
		t.Fatal(err)
	}
	e = examine(t, alice, "-D", "client.timeout=30s") // a third of it passes
	e.wants(t, "resourcemanager", doctor.Warning, "does not work: connect: connection refused", "start the server")
	e.well(t, "queue")
	e.wants(t, "namenode", doctor.Warning, "no answer in time", "does not answer")
	e.wants(t, "namenode", doctor.Warning, "(dfs.ha.namenodes.", "")
	e.well(t, "staging")

	if err := errors.Join(c.Resume("namenode2"), c.Deactivate(t.Context(), "namenode1")); err != nil {
		t.Fatal(err)
	}
	e = examine(t, alice)
	e.wants(t, "namenode", doctor.Failed, "no NameNode is active", "hdfs haadmin -getAllServiceState")
	e.wants(t, "staging", doctor.Skipped, `the check "NameNode" has failed`, "")
}
