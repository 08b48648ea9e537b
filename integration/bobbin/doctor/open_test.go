package doctor

import (
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/client/doctor"
	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
)

// TestAHealthyMachine would catch false alarms, and a trial file that is left behind.
func TestAHealthyMachine(t *testing.T) {
	alice := suite.User(t, bobbintest.Alice)
	got := alice.Run(t, "doctor")
	if got.Code != 0 || !strings.HasSuffix(got.Stdout, "\nAll is well.\n") || strings.Contains(got.Stdout, "\x1b") {
		t.Error(got)
	}
	e := examine(t, alice)
	e.well(t, "options", "hadoop", "names", "resourcemanager", "namenode", "queue", "staging")
	for _, check := range []string{"krb5", "credentials", "kdc", "login"} {
		e.wants(t, check, doctor.Skipped, "open", "")
	}
	hdfs := rpctest.HDFS(t, alice.Cluster)
	left, err := hdfs.List(t.Context(), "/user/"+bobbintest.Alice)
	for _, file := range left {
		if strings.HasPrefix(file.Name, ".bobbin-doctor") {
			t.Errorf("%s is left", file.Name)
		}
	}
	if err != nil {
		t.Error(err)
	}
}

// TestWhatIsWrongOnAnOpenCluster tests the most frequent mistakes, against real daemons.
func TestWhatIsWrongOnAnOpenCluster(t *testing.T) {
	alice := suite.User(t, bobbintest.Alice)
	c := alice.Cluster
	for name, tc := range map[string]struct {
		user                *bobbintest.User
		args                []string
		check, text, remedy string
	}{
		"a queue that is not there": {alice, []string{"-qu", "nowhere"}, "queue", `"nowhere" does not exist`, "-qu"},
		"a queue that has queues":   {alice, []string{"-qu", "root"}, "queue", "root is not a leaf queue", "choose one of default"},
		"too large a worker": {
			alice, []string{"-D", "taskmanager.memory.process.size=100g"}, "queue", "TaskExecutor asks for 102400 MB", "-tm",
		},
		"the port of web pages": {
			alice, []string{"-D", "flink.yarn.resourcemanager.address=" + c.RMWebAddress()}, "resourcemanager", "HTTP", "server's RPC port",
		},
		"the port of another server": {
			alice, []string{"-D", "flink.yarn.resourcemanager.address=" + c.NameNodeAddress()}, "resourcemanager", "Unknown protocol", "port of another service",
		},
		"a NameNode that is not there": {
			alice, []string{"-D", "flink.hadoop.fs.defaultFS=hdfs://127.0.0.1:1"}, "namenode", "127.0.0.1:1 (fs.defaultFS, ", "correct its address",
		},
		"a host that is not there": {
			alice, []string{"-D", "flink.hadoop.fs.defaultFS=hdfs://nowhere.invalid:8020"}, "names", "no address is known for nowhere.invalid (fs.defaultFS", "/etc/hosts",
		},
		"no home": {
			alice.With("HADOOP_USER_NAME=stranger"), nil, "staging", "/user/stranger does not exist, and user stranger may not create it",
			"hdfs dfs -mkdir -p /user/stranger; hdfs dfs -chown stranger /user/stranger",
		},
		"a home of another's": {
			alice.With("HADOOP_USER_NAME=stranger"),
			[]string{"-D", "yarn.staging-directory=/user/alice"},
			"staging",
			"user stranger may not write to " + "hdfs://" + c.NameNodeAddress() + "/user/alice", "yarn.staging-directory",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			examine(t, tc.user, tc.args...).wants(t, tc.check, doctor.Failed, tc.text, tc.remedy)
		})
	}
}
