// Package rpctest has the shared parts of the protocols' tests: clients of a test's cluster, applications of shell
// commands, and an ApplicationMaster.
//
//	Conf, Client, FS, NameNode, Java   clients of a cluster
//	ClientOptions, NewClient, …        clients with options that a test changes
//	Submit, SubmitUnmanaged, Await     applications, which end with their test
//	Unmanaged, Lead                    a Master in the test's own process
//	Main, InContainer                  a Master in a container: the test binary itself
//
// On secure clusters clients log in with the keytab of their user.
//
// The package starts no goroutines and keeps no state.
package rpctest

import (
	"context"
	"io"
	"os"
	"os/user"
	"path/filepath"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
	"github.com/bobbin-yarn/bobbin/yarnrpc/kerberos"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnclient"
)

// Closing closes its argument at the end of the test, and returns it. An error of Close fails the test.
func Closing[C io.Closer](t testing.TB, c C) C {
	t.Helper()
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// Me returns the short name of the user who runs the tests, who is the superuser of open clusters.
func Me(t testing.TB) string {
	t.Helper()
	u, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	return u.Username
}

// Conf returns the configuration of the cluster's clients.
func Conf(t testing.TB, c *cluster.Cluster) *hadoopconf.Conf {
	t.Helper()
	conf, err := hadoopconf.Load(c.ConfDir(), hadoopconf.Environment{LookupEnv: os.LookupEnv})
	if err != nil {
		t.Fatal(err)
	}
	return conf
}

// FromKeytab returns the login of a principal of a secure cluster: a user, or a server such as rm/localhost.
func FromKeytab(t testing.TB, c *cluster.Cluster, principal string) *kerberos.Login {
	t.Helper()
	login, err := c.Login(principal)
	if err != nil {
		t.Fatal(err)
	}
	return login
}

// Login returns the login of a user with a keytab, or nil on clusters without Kerberos.
func Login(t testing.TB, c *cluster.Cluster, user string) yarnrpc.Login {
	t.Helper()
	if !c.Secure() {
		return nil
	}
	return FromKeytab(t, c, user)
}

// ClientOptions returns the options that a user's program reads from the cluster's configuration, with the user's
// login.
func ClientOptions(t testing.TB, c *cluster.Cluster, user string) yarnclient.Options {
	t.Helper()
	login := Login(t, c, user)
	name := user
	if login != nil {
		name = "" // the ticket has the name
	}
	o, err := yarnclient.FromConf(Conf(t, c), name)
	if err != nil {
		t.Fatal(err)
	}
	o.RPC.Login = login
	return o
}

// NewClient makes a client, and closes it at the end of the test.
func NewClient(t testing.TB, o yarnclient.Options) *yarnclient.Client {
	t.Helper()
	return Closing(t, yarnclient.New(o))
}

// Client returns a user's client of the cluster's ResourceManager, or of both. It closes the client at the end of the
// test.
func Client(t testing.TB, c *cluster.Cluster, user string) *yarnclient.Client {
	t.Helper()
	return NewClient(t, ClientOptions(t, c, user))
}

// ActiveRM waits until one of two ResourceManagers is active, and returns its name.
func ActiveRM(t testing.TB, c *cluster.Cluster) (name string) {
	t.Helper()
	wait.Satisfied(t, "an active ResourceManager", func() (err error) {
		look, end := context.WithTimeout(t.Context(), 5*time.Second) // bounds a try: a stopped one never answers
		defer end()
		name, err = c.ActiveRM(look)
		return err
	})
	return name
}

// Java runs one of Hadoop's own commands and returns its output. variable is NAME=value: an Identity, or the file of
// tokens. It takes some seconds of processor time. Use it only for tests of Java's behaviour, and for calls that our
// clients do not have.
func Java(t testing.TB, c *cluster.Cluster, variable, class string, args ...string) string {
	t.Helper()
	out, err := c.CLIWith(t.Context(), []string{variable}, class, args...)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return out
}

// Identity returns the variable with which Hadoop's own commands run as a user: a name or, on a secure cluster, a new
// ticket.
func Identity(t testing.TB, c *cluster.Cluster, user string) string {
	t.Helper()
	if !c.Secure() {
		return "HADOOP_USER_NAME=" + user
	}
	cache := filepath.Join(t.TempDir(), "cache")
	if err := c.Kinit(t.Context(), user, cache); err != nil {
		t.Fatal(err)
	}
	return "KRB5CCNAME=" + cache
}
