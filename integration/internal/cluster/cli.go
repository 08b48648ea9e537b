package cluster

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Hadoop's own commands, for CLI and Command.
const (
	FsShell        = "org.apache.hadoop.fs.FsShell"                     // hadoop fs
	DFSAdmin       = "org.apache.hadoop.hdfs.tools.DFSAdmin"            // hdfs dfsadmin
	LogsCLI        = "org.apache.hadoop.yarn.client.cli.LogsCLI"        // yarn logs
	ApplicationCLI = "org.apache.hadoop.yarn.client.cli.ApplicationCLI" // yarn application
	NodeCLI        = "org.apache.hadoop.yarn.client.cli.NodeCLI"        // yarn node
)

// CLI runs a Java command with the cluster's client configuration, and returns its standard output. If the command
// fails, the error contains the end of its standard error.
func (c *Cluster) CLI(ctx context.Context, mainClass string, args ...string) (string, error) {
	return c.CLIWith(ctx, nil, mainClass, args...)
}

// CLIWith is CLI with further variables NAME=value, such as the user's name, or the file of tokens.
func (c *Cluster) CLIWith(ctx context.Context, env []string, mainClass string, args ...string) (string, error) {
	var stdout, stderr bytes.Buffer
	cmd := c.Command(ctx, mainClass, args...)
	cmd.Env = append(cmd.Env, env...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(), fmt.Errorf("run %s %v: %w\n%s", mainClass, args, err, lastLines(stderr.Bytes(), 10))
	}
	return stdout.String(), nil
}

// CLIAsSuperuser is CLI as HDFS's superuser. On a secure cluster it gets a new ticket each time.
func (c *Cluster) CLIAsSuperuser(ctx context.Context, mainClass string, args ...string) (string, error) {
	if !c.Secure() {
		return c.CLI(ctx, mainClass, args...)
	}
	dir, err := os.MkdirTemp("", "bobbin-superuser-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	cache := filepath.Join(dir, "ticket")
	if err := c.Kinit(ctx, "nn", cache); err != nil {
		return "", err
	}
	return c.CLIWith(ctx, []string{"KRB5CCNAME=" + cache}, mainClass, args...)
}

// Command returns the command of CLI, for callers that set more fields, such as Stdin.
func (c *Cluster) Command(ctx context.Context, mainClass string, args ...string) *exec.Cmd {
	return c.commandOf(ctx, c.spec.Jars.Classpath(c.ConfDir()), mainClass, args...)
}

// JobHistoryServer returns the command of MapReduce's JobHistoryServer, with these properties. On most clusters it is the log server,
// which has the logs that YARN has aggregated. It is no daemon of the cluster.
func (c *Cluster) JobHistoryServer(ctx context.Context, properties map[string]string) (*exec.Cmd, error) {
	jar, err := c.spec.Jars.JobHistory(ctx)
	if err != nil {
		return nil, err
	}
	var args []string
	for name, value := range properties {
		args = append(args, "-D", name+"="+value)
	}
	return c.commandOf(ctx, c.spec.Jars.Classpath(jar, c.ConfDir()), "org.apache.hadoop.mapreduce.v2.hs.JobHistoryServer", args...), nil
}

func (c *Cluster) commandOf(ctx context.Context, classPath, mainClass string, args ...string) *exec.Cmd {
	flags := append(append(append(openPackages(), c.spec.kerberosFlags()...), c.spec.sharedClasses()...),
		"-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", "-Djava.net.preferIPv4Stack=true",
		"-classpath", classPath, mainClass)
	cmd := exec.CommandContext(ctx, c.spec.Java, append(flags, args...)...)
	cmd.Env = environment("HADOOP_CONF_DIR=" + c.ConfDir())
	return cmd
}
