package bobbintest

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/integration/cluster"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/internal/hadoopenv"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
)

// User is somebody at a terminal, with bobbin and the configuration of a cluster.
// Its methods may be called from any goroutine of the test.
type User struct {
	Name    string
	Cluster *cluster.Cluster

	bobbin   string
	home     string // on this machine, empty
	env      []string
	patience time.Duration
}

// With gives the same user with other variables in the environment: NAME=value
// sets one, NAME alone removes it.
func (u *User) With(entries ...string) *User {
	other := *u
	other.env = append(slices.Clone(u.env), entries...)
	return &other
}

// environment is that of the user's commands: nothing of the tests' own but what
// finds programs.
func (u *User) environment() []string {
	values := map[string]string{
		"PATH":             os.Getenv("PATH"),
		"HOME":             u.home,
		"HADOOP_CONF_DIR":  u.Cluster.ConfDir(),
		"HADOOP_USER_NAME": u.Name,
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
	for _, entry := range u.environment() {
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

// Files reaches HDFS as the user, until the test ends.
func (u *User) Files(t testing.TB) *dfs.FS {
	t.Helper()
	files := dfs.New(dfs.Options{Conf: u.Conf(t), User: u.Name})
	t.Cleanup(func() {
		if err := files.Close(); err != nil {
			t.Error(err)
		}
	})
	return files
}

// Client is bobbin's own way to the cluster, as the user, until the test ends.
func (u *User) Client(t testing.TB) *client.Cluster {
	t.Helper()
	c, err := client.Open(u.getenv, config.Config{}, logger(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}
