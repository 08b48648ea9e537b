package bobbintest

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/internal/hadoopenv"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
)

// User is a person at a terminal, with bobbin and the configuration of a cluster. Its methods may be called from any
// goroutine of the test.
type User struct {
	Name    string
	Cluster *cluster.Cluster

	bobbin  string
	home    string // on this machine; at first empty
	tickets string // the credential cache; empty on an open cluster, where users name themselves
	env     []string
}

// Newcomer returns a user on the suite's cluster that no other test has, with a home on HDFS. It is for tests that
// check everything a user leaves behind.
func (s *Suite) Newcomer(t testing.TB) *User {
	t.Helper()
	return s.NewcomerOf(t, s.Cluster(t))
}

// NewcomerOf is Newcomer on a cluster that the test has taken.
func (s *Suite) NewcomerOf(t testing.TB, c *cluster.Cluster) *User {
	t.Helper()
	u := s.Stranger(t, c)
	hdfs := rpctest.HDFS(t, c)
	home := "/user/" + u.Name
	if err := hdfs.Mkdir(t.Context(), home, u.Name, "755"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			return
		}
		if err := hdfs.Remove(wait.Context(t), home); err != nil {
			t.Error(err)
		}
	})
	return u
}

// Stranger returns a user that no other test has, without a home on HDFS.
func (s *Suite) Stranger(t testing.TB, c *cluster.Cluster) *User {
	t.Helper()
	name := "guest-" + ids.Random()[:8]
	if c.Secure() {
		if err := c.Kadmin(t.Context(), "addprinc -randkey "+name, "ktadd -q -k "+c.Keytab(name)+" "+name); err != nil {
			t.Fatal(err)
		}
	}
	return s.UserOf(t, c, name)
}

// With returns the same user with changed environment variables: NAME=value sets a variable, NAME alone removes it.
func (u *User) With(entries ...string) *User {
	other := *u
	other.env = append(slices.Clone(u.env), entries...)
	return &other
}

// Kinit gets the user a new ticket, with these arguments of MIT's kinit.
func (u *User) Kinit(t testing.TB, args ...string) {
	t.Helper()
	if err := u.Cluster.Kinit(t.Context(), u.Name, u.tickets, args...); err != nil {
		t.Fatal(err)
	}
}

// KeepTicket gets new tickets for the user until the test ends. It is for clusters whose tickets live for two minutes,
// because on a busy machine a command may run later than that.
func (u *User) KeepTicket(t testing.TB) {
	t.Helper()
	u.Kinit(t)
	var keeping sync.WaitGroup
	t.Cleanup(keeping.Wait) // runs after the end of the test's context
	keeping.Go(func() {
		ticker := time.NewTicker(30 * time.Second)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
			case <-t.Context().Done():
				return
			}
			fresh := u.tickets + ".fresh" // a rename, so that no command reads half a file
			err := u.Cluster.Kinit(t.Context(), u.Name, fresh)
			if err == nil {
				err = os.Rename(fresh, u.tickets)
			}
			if err != nil && t.Context().Err() == nil {
				t.Errorf("keep a ticket of %s: %v", u.Name, err)
				return
			}
		}
	})
}

// WithoutTicket returns the same user of a secure cluster before any kinit.
func (u *User) WithoutTicket() *User {
	other := *u
	other.tickets = filepath.Join(u.home, "no-tickets")
	return &other
}

// Environment returns the environment of the user's commands. Of the tests' own variables it has only those that find
// programs.
func (u *User) Environment() []string {
	values := map[string]string{
		"PATH":            os.Getenv("PATH"),
		"HOME":            u.home,
		"HADOOP_CONF_DIR": u.Cluster.ConfDir(),
		"GORACE":          clusters.RaceOptions(),
	}
	if u.Cluster.Secure() {
		values["KRB5_CONFIG"], values["KRB5CCNAME"] = u.Cluster.Krb5Conf(), "FILE:"+u.tickets
	} else {
		values["HADOOP_USER_NAME"] = u.Name
	}
	for _, entry := range u.env {
		name, value, set := cutEntry(entry)
		if set {
			values[name] = value
		} else {
			delete(values, name)
		}
	}
	env := make([]string, 0, len(values))
	for name, value := range values {
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	return env
}

// getenv reads the user's environment.
func (u *User) getenv(name string) string {
	for _, entry := range u.Environment() {
		if key, value, _ := cutEntry(entry); key == name {
			return value
		}
	}
	return ""
}

// Conf is the user's Hadoop configuration.
func (u *User) Conf(t testing.TB) *hadoopconf.Conf {
	t.Helper()
	env, err := hadoopenv.Read(u.getenv, config.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return env.Conf
}

// Java returns one of Hadoop's own commands, a class of package cluster, run as the user.
func (u *User) Java(t testing.TB, class string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := u.Cluster.Command(t.Context(), class, args...)
	if u.Cluster.Secure() {
		cmd.Env = append(cmd.Env, "KRB5CCNAME="+u.tickets)
	} else {
		cmd.Env = append(cmd.Env, "HADOOP_USER_NAME="+u.Name)
	}
	return cmd
}

// Files connects to HDFS as the user, until the test ends. On secure clusters it uses the keytab, which outlives every
// ticket.
func (u *User) Files(t testing.TB) *dfs.FS {
	t.Helper()
	return rpctest.FS(t, dfs.Options{Conf: u.Conf(t), User: u.Name, Login: rpctest.Login(t, u.Cluster, u.Name)})
}

// Client connects to the cluster as the user with bobbin's own code, until the test ends.
func (u *User) Client(t testing.TB) *client.Cluster {
	t.Helper()
	c, err := client.Open(context.WithoutCancel(t.Context()), u.getenv, config.Config{}, logger(t))
	if err != nil {
		t.Fatal(err)
	}
	return rpctest.Closing(t, c)
}
