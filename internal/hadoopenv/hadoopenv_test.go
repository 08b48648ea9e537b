package hadoopenv_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/hadoopenv"
)

const site = `<configuration>
<property><name>dfs.replication</name><value>2</value><final>true</final></property>
<property><name>yarn.resourcemanager.address</name><value>file:1</value></property>
<property><name>hadoop.tmp.dir</name><value>/x/${user.name}/${env.SET}</value></property>
</configuration>`

func environment(t *testing.T, variables map[string]string) func(string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "core-site.xml"), []byte(site), 0o600); err != nil {
		t.Fatal(err)
	}
	return func(name string) string {
		if name == "HADOOP_CONF_DIR" {
			return dir
		}
		return variables[name]
	}
}

// A property with the wrong name has no effect.
func TestOptionsGoBeforeTheFiles(t *testing.T) {
	options, err := config.New(config.Layer{Source: "-D", Values: map[string]string{
		"flink.hadoop.dfs.replication":       "1",
		"flink.yarn.resourcemanager.address": "rm:1",
		"yarn.application.queue":             "a",
	}})
	if err != nil {
		t.Fatal(err)
	}
	env, err := hadoopenv.Read(environment(t, map[string]string{"HADOOP_USER_NAME": "alice", "SET": "s"}), options)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"dfs.replication":              "1",
		"yarn.resourcemanager.address": "rm:1",
		"hadoop.tmp.dir":               "/x/alice/s",
		"yarn.application.queue":       "",
	} {
		if got := env.Conf.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if env.User != "alice" {
		t.Errorf("the user is %s", env.User)
	}
	if source := env.Conf.SourceOf("dfs.replication").String(); !strings.Contains(source, "flink.hadoop") {
		t.Errorf("dfs.replication is said to come from %s", source)
	}
}

func TestWithoutAConfigurationTheRemedyIsNamed(t *testing.T) {
	nothing := func(string) string { return "" }
	if _, err := hadoopenv.Read(nothing, config.Config{}); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "HADOOP_CONF_DIR") {
		t.Errorf("got %v", err)
	}
	if hadoopenv.Named(nothing) || !hadoopenv.Named(environment(t, nil)) {
		t.Error("Named does not tell whether the environment names a configuration")
	}
}

// TestOptionsAloneLeadToHDFS would catch a client without configuration files that ignores the
// cluster in its options.
func TestOptionsAloneLeadToHDFS(t *testing.T) {
	options, err := config.New(config.Layer{Values: map[string]string{"flink.hadoop.fs.defaultFS": "hdfs://here:8020"}})
	if err != nil {
		t.Fatal(err)
	}
	env := hadoopenv.Without(func(name string) string { return map[string]string{"HADOOP_USER_NAME": "alice"}[name] }, options)
	if env.User != "alice" || env.Conf.Get("fs.defaultFS") != "hdfs://here:8020" {
		t.Errorf("user %q, file system %q", env.User, env.Conf.Get("fs.defaultFS"))
	}
}
