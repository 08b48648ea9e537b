// Package pages tests the documentation like a reader uses it. It runs every block of shell commands in a fresh copy of
// the repository, as a user with an empty home and, if the page needs one, a real cluster. It also runs the demos.
//
// A command that fails ends its page, also in a pipe. After each block the test asks YARN for the applications that the
// page has started, and asks these for their jobs. None may have failed, unless failsMark says so, nor have been
// killed, unless a block kills something. At the page's end none may run.
//
// The package has only goroutines that wait for a command. It is for tests only.
package pages

import (
	"bytes"
	"context"
	"errors"
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

// workplace is a fresh copy of the repository, with its reader's home and temporary files beside it.
type workplace struct {
	root string // contains all the folders below
	repo string
	temp string
	env  []string

	build sync.Once // guards built
	built error
	tool  sync.Once // guards tools
	tools error
}

// Users of secure clusters: one who may impersonate others (cluster.Kerberos), and the one whom this user impersonates.
const trusted, proxied = "alice", "bob"

// newWorkplace copies the work tree without the files that git ignores. It shares downloads and compiled packages with
// the developer, because without them every test would take minutes longer.
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

// emptyWorkplace makes a workplace without a repository and an environment.
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

// fork makes another workplace in which `make build` has run. Both share the files until one replaces
// its own file. No command of a page writes into a file of the repository.
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
	if err := f.writeMake(); err != nil {
		return nil, err
	}
	f.env = append(slices.Clone(w.env), f.places()...) // the last entry with a name counts
	return f, nil
}

// programs is a folder of programs that precede those of this machine.
func (w *workplace) programs() string { return filepath.Join(w.root, "programs") }

// writeMake writes a make that does not build the programs again, because that takes two seconds on each page.
func (w *workplace) writeMake() error {
	path, err := exec.LookPath("make")
	if err != nil {
		return err
	}
	script := fmt.Sprintf("#!/bin/sh\n[ \"$*\" != build ] || exit 0\nexec '%s' \"$@\"\n", path)
	return errors.Join(os.Mkdir(w.programs(), 0o755), runnable.Write(filepath.Join(w.programs(), "make"), []byte(script)))
}

// path is the variable PATH, with these folders first.
func (w *workplace) path(first ...string) string {
	return "PATH=" + strings.Join(append(first, w.programs(), os.Getenv("PATH")), string(filepath.ListSeparator))
}

// places are the variables with the folders of the reader's own files, and of programs.
func (w *workplace) places() []string {
	return []string{"HOME=" + w.home(), "TMPDIR=" + w.temp, w.path()}
}

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

// setEnvironment sets the variables that find programs, and the folders of Go's caches. It compiles with the Makefile's
// flags, so that packages compiled in another folder can be reused.
func (w *workplace) setEnvironment(ctx context.Context) error {
	w.env = append(w.places(), "CGO_ENABLED=0", "GOFLAGS=-trimpath")
	for _, name := range []string{"LANG", "USER", "LOGNAME", "JAVA_HOME", cluster.VersionVariable, cluster.LimitVariable} {
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

// command runs a program in the repository's folder, in a process group of its own. When ctx ends, it ends the group as
// Ctrl-C would.
func (w *workplace) command(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Env = w.repo, w.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	return cmd
}

// ownCluster returns the folder of the cluster that a page starts, at the default place.
func (w *workplace) ownCluster() string {
	return filepath.Join(w.home(), ".cache", "bobbin", "cluster")
}

// clusterTool is the program of scripts/cluster.
func (w *workplace) clusterTool(ctx context.Context) (string, error) {
	path := filepath.Join(w.root, "cluster")
	w.tool.Do(func() {
		_, w.tools = output(w.command(context.WithoutCancel(ctx), "go", "build", "-o", path, "./integration/internal/cluster/cmd/cluster"))
	})
	return path, w.tools
}

// onCluster returns the environment of readers who have a cluster, with a command hdfs for its files. On a secure
// cluster the reader may impersonate others, and has a keytab but no ticket yet. On an open cluster the caller adds a
// name.
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
	return append(env, w.path(bin)), nil
}

// output returns the output of a command without its last newline. The command's standard error is in the error.
func output(cmd *exec.Cmd) (string, error) {
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, stderr.Bytes())
	}
	return strings.TrimSuffix(string(out), "\n"), nil
}
