// Package pages tests the documentation as its readers use it: every block of
// shell commands is run, in a fresh copy of the repository, by somebody whose
// home is empty and who, where the page wants one, has a real cluster; and the
// demos are run.
//
// A command that fails ends its page, also in a pipe. After each block YARN is asked
// for the applications that the page has started, and they for their jobs: none may
// have failed, unless failsMark says so, nor have been killed where nothing on the
// page kills, and at the page's end none may run.
//
// The package has no goroutines but those that wait for a command. It is for
// tests only.
package pages

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/runnable"
)

// workplace is a fresh copy of the repository, and its reader's home and temporary files beside it.
type workplace struct {
	root string // holds all that follows
	repo string
	temp string
	env  []string

	build sync.Once // guards built
	built error
	tool  sync.Once // guards tools
	tools error
}

// Users of secure clusters: one whom the servers let act for others (cluster.Kerberos), and for whom.
const trusted, proxied = "alice", "bob"

// newWorkplace copies the work tree, but for what git ignores. Downloads and compiled packages are shared with the
// developer: without them every test would begin with minutes of both.
func newWorkplace(ctx context.Context, root string) (*workplace, error) {
	w, err := emptyWorkplace(root)
	if err != nil {
		return nil, err
	}
	if err := os.Mkdir(w.repo, 0o755); err != nil {
		return nil, err
	}
	if err := w.copyRepository(ctx); err != nil {
		return nil, err
	}
	return w, w.setEnvironment(ctx)
}

// emptyWorkplace has no repository and no environment yet.
func emptyWorkplace(root string) (*workplace, error) {
	w := &workplace{root: root, repo: filepath.Join(root, "bobbin"), temp: filepath.Join(root, "tmp")}
	cache := filepath.Join(w.home(), ".cache", "bobbin")
	for _, dir := range []string{w.temp, cache} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
	}
	own, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	jars, err := filepath.Glob(filepath.Join(own, "bobbin", "hadoop-*"))
	if err != nil {
		return nil, err
	}
	for _, path := range jars {
		if err := os.Symlink(path, filepath.Join(cache, filepath.Base(path))); err != nil {
			return nil, err
		}
	}
	return w, nil
}

func (w *workplace) home() string { return filepath.Join(w.root, "home") }

// fork is another workplace, in which `make build` finds all built: once is enough. Both have the same files, until one
// replaces its own: nobody who reads a page writes into those of the repository.
func (w *workplace) fork(ctx context.Context, name string) (*workplace, error) {
	w.build.Do(func() { _, w.built = output(w.command(context.WithoutCancel(ctx), "make", "build")) })
	if w.built != nil {
		return nil, w.built
	}
	f, err := emptyWorkplace(filepath.Join(w.root, name))
	if err != nil {
		return nil, err
	}
	if _, err := output(exec.CommandContext(ctx, "cp", "-a", "--link", w.repo, f.repo)); err != nil {
		return nil, err
	}
	f.env = append(slices.Clone(w.env), f.places()...) // the last entry of a name counts
	return f, nil
}

// places are where the reader's own files go.
func (w *workplace) places() []string { return []string{"HOME=" + w.home(), "TMPDIR=" + w.temp} }

func (w *workplace) copyRepository(ctx context.Context) error {
	top, err := output(exec.CommandContext(ctx, "git", "rev-parse", "--show-toplevel"))
	if err != nil {
		return err
	}
	list := exec.CommandContext(ctx, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = top
	names, err := output(list)
	if err != nil {
		return err
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(names, "\x00"), "\x00") {
		if err := copyFile(filepath.Join(top, name), filepath.Join(w.repo, name)); err != nil {
			return err
		}
	}
	return nil
}

func copyFile(from, to string) error {
	info, err := os.Stat(from)
	if os.IsNotExist(err) {
		return nil // removed, not committed yet
	}
	if err != nil {
		return err
	}
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, content, info.Mode().Perm())
}

// setEnvironment gives the reader what is needed to find programs, and where Go keeps its things. All is compiled as the Makefile
// does it: what that compiled is of use here then, though it lay in another folder.
func (w *workplace) setEnvironment(ctx context.Context) error {
	w.env = append(w.places(), "CGO_ENABLED=0", "GOFLAGS=-trimpath")
	for _, name := range []string{"PATH", "LANG", "USER", "LOGNAME", "JAVA_HOME", cluster.VersionVariable, cluster.LimitVariable} {
		if value, ok := os.LookupEnv(name); ok {
			w.env = append(w.env, name+"="+value)
		}
	}
	names := []string{"GOCACHE", "GOENV", "GOMODCACHE", "GOPATH", "GOTOOLCHAIN"}
	values, err := output(exec.CommandContext(ctx, "go", append([]string{"env"}, names...)...))
	if err != nil {
		return err
	}
	for i, value := range strings.Split(values, "\n") {
		w.env = append(w.env, names[i]+"="+value)
	}
	return nil
}

// command runs a program in the repository's folder, in a process group of its own; when ctx ends, as Ctrl-C would end it.
func (w *workplace) command(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Env = w.repo, w.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	return cmd
}

// ownCluster is the folder of the cluster that a page starts where developers have theirs.
func (w *workplace) ownCluster() string {
	return filepath.Join(w.home(), ".cache", "bobbin", "cluster")
}

// clusterTool is the program behind scripts/cluster.
func (w *workplace) clusterTool(ctx context.Context) (string, error) {
	path := filepath.Join(w.root, "cluster")
	w.tool.Do(func() {
		_, w.tools = output(w.command(context.WithoutCancel(ctx), "go", "build", "-o", path, "./integration/internal/cluster/cmd/cluster"))
	})
	return path, w.tools
}

// onCluster gives what readers have in their environments who have a cluster, with a command hdfs for its files. On a
// secure one the reader is trusted, with a keytab and no ticket yet; on an open one the caller adds a name.
func (w *workplace) onCluster(c *cluster.Cluster) ([]string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	bin, err := os.MkdirTemp(w.root, "hadoop-")
	if err != nil {
		return nil, err
	}
	script := fmt.Sprintf("#!/bin/sh\n"+asHDFS+"=1 exec '%s' \"$@\"\n", self)
	if err := runnable.Write(filepath.Join(bin, "hdfs"), []byte(script)); err != nil {
		return nil, err
	}
	env := []string{"HADOOP_CONF_DIR=" + c.ConfDir()}
	if c.Secure() {
		env = append(env, "KRB5_CONFIG="+c.Krb5Conf(), "KRB5CCNAME=FILE:"+filepath.Join(bin, "tickets"),
			"KEYTAB="+c.Keytab(trusted), "PRINCIPAL="+trusted, "OTHER="+proxied)
	}
	return append(env, "PATH="+bin+string(filepath.ListSeparator)+os.Getenv("PATH")), nil
}

// output gives what a command prints, without the last line's end; what it says on standard error is in its error.
func output(cmd *exec.Cmd) (string, error) {
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, stderr.Bytes())
	}
	return strings.TrimSuffix(string(out), "\n"), nil
}
