// Package yarn tests the typed YARN clients and the file access against real
// daemons: submission, an ApplicationMaster's whole life, containers, HDFS.
package yarn

import (
	"fmt"
	"os"
	"os/user"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnclient"
)

const alice = "alice"

// masterVariable makes this test binary the ApplicationMaster of a test: it
// names what to do.
const masterVariable = "BOBBIN_TEST_MASTER"

func TestMain(m *testing.M) {
	if scenario := os.Getenv(masterVariable); scenario != "" {
		os.Exit(runMaster(scenario))
	}
	os.Exit(clusters.Main(m))
}

func confOf(t *testing.T, c *cluster.Cluster) *hadoopconf.Conf {
	t.Helper()
	conf, err := hadoopconf.Load(c.ConfDir(), hadoopconf.Environment{LookupEnv: os.LookupEnv})
	if err != nil {
		t.Fatal(err)
	}
	return conf
}

func me(t *testing.T) string {
	t.Helper()
	u, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	return u.Username
}

func newClient(t *testing.T, c *cluster.Cluster, user string) *yarnclient.Client {
	t.Helper()
	o, err := yarnclient.FromConf(confOf(t, c), user)
	if err != nil {
		t.Fatal(err)
	}
	return bobbintest.Closing(t, yarnclient.New(o))
}

// newFS opens a file system that ends with the test.
func newFS(t *testing.T, o dfs.Options) *dfs.FS {
	t.Helper()
	return bobbintest.Closing(t, dfs.New(o))
}

// java runs one of Hadoop's own commands.
func java(t *testing.T, c *cluster.Cluster, class string, args ...string) {
	t.Helper()
	if out, err := c.CLI(t.Context(), class, args...); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// scratch makes a directory on HDFS. It is left there: what failed can be looked at.
func scratch(t *testing.T, f *dfs.FS) string {
	t.Helper()
	dir, err := f.Qualify(fmt.Sprintf("/tmp/bobbin-test-%d-%d", os.Getpid(), time.Now().UnixNano()))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.MkdirMode(t.Context(), dir, 0o777); err != nil {
		t.Fatal(err)
	}
	return dir
}
