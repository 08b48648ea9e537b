// Package kerberos tests the login with Kerberos, and the protection of calls, against real
// daemons and a real KDC.
package kerberos

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/kerberos"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnclient"
)

const alice, bob = clusters.Alice, clusters.Bob

// suite has the programs of examples/.
var suite = bobbintest.NewSuite(clusters.Secure)

func TestMain(m *testing.M) { os.Exit(suite.Run(m)) }

// realm returns a copy of the cluster's configuration that the test may change.
func realm(t *testing.T, c *cluster.Cluster) *kerberos.Config {
	t.Helper()
	conf, err := c.KerberosConfig()
	if err != nil {
		t.Fatal(err)
	}
	return conf
}

// newUser makes a principal for one test, with these settings of kadmin, and returns its name and its keytab.
func newUser(t *testing.T, c *cluster.Cluster, addprinc, ktadd string) (name, keytab string) {
	t.Helper()
	name = strings.ToLower(rand.Text())
	keytab = filepath.Join(t.TempDir(), name+".keytab")
	if err := c.Kadmin(t.Context(), "addprinc -randkey "+addprinc+" "+name, "ktadd -q -k "+keytab+" "+ktadd+" "+name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Kadmin(wait.Context(t), "delprinc -force "+name); err != nil {
			t.Log(err) // the test may have deleted it
		}
	})
	return name, keytab
}

// clientWith returns a client with this login.
func clientWith(t *testing.T, c *cluster.Cluster, login yarnrpc.Login) *yarnclient.Client {
	t.Helper()
	o := rpctest.ClientOptions(t, c, alice)
	o.RPC.Login = login
	return rpctest.NewClient(t, o)
}
