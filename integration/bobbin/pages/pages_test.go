package pages

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
)

// place is the workplace of all tests: to build everything takes longer than to use it.
var place *workplace

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "bobbin-docs-")
	if err == nil {
		defer os.RemoveAll(dir)
		place, err = newWorkplace(context.Background(), dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "make workplace:", err)
		return 1
	}
	return clusters.Main(m)
}

// pageLimit bounds a page; on two idle cores none needs half a minute alone.
const pageLimit = 5 * time.Minute

// TestCommandsOfThePages would catch a command in the documentation that does not work any more, or never did, for somebody who has
// just cloned the repository.
func TestCommandsOfThePages(t *testing.T) {
	t.Parallel()
	w := place
	c := clusters.Use(t, clusters.Open)
	env, err := w.onCluster(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	readers := 0
	w.runPages(t, 7, func(p page) ([]string, bool) {
		if !p.onCluster {
			return nil, !p.secure
		}
		readers++
		return append(slices.Clip(env), "HADOOP_USER_NAME="+newReader(t, c, readers)), true
	})
}

// newReader makes somebody who has a home on HDFS with nothing in it. What other pages left, or an earlier run, is not in the way then.
func newReader(t *testing.T, c *cluster.Cluster, number int) string {
	t.Helper()
	name := fmt.Sprintf("reader%d-%d", os.Getpid(), number)
	files, err := c.HDFS()
	if err == nil {
		err = files.Mkdir(t.Context(), "/user/"+name, name, "755")
	}
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// TestCommandsOfPagesForSecureClusters is that for those who have a cluster with Kerberos. scripts/test runs it beside the others.
func TestCommandsOfPagesForSecureClusters(t *testing.T) {
	t.Parallel()
	w := place
	c := clusters.Use(t, clusters.Secure)
	env, err := w.onCluster(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	files, err := c.HDFS()
	if err != nil {
		t.Fatal(err)
	}
	for _, left := range []string{"/tmp/words", "/user/" + trusted + "/counts", "/user/" + proxied + "/counts"} { // by an earlier run
		if err := files.Remove(t.Context(), left); err != nil {
			t.Fatal(err)
		}
	}
	w.runPages(t, 1, func(p page) ([]string, bool) { return env, p.secure })
}

// runPages runs the pages that reads wants, side by side: each in a workplace of its own, with what reads adds to the environment.
func (w *workplace) runPages(t *testing.T, atLeast int, reads func(page) (env []string, wanted bool)) {
	t.Helper()
	run := 0
	for _, name := range pagesOf(t, w) {
		content, err := os.ReadFile(filepath.Join(w.repo, name))
		if err != nil {
			t.Fatal(err)
		}
		p, err := parse(string(content))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		env, wanted := reads(p)
		if len(p.blocks) == 0 || !wanted {
			continue
		}
		run++
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), pageLimit)
			defer cancel()
			own, err := w.fork(ctx, strings.ReplaceAll(name, "/", "-"))
			if err != nil {
				t.Fatal(err)
			}
			defer own.endCluster(t)
			sh := own.command(ctx, "sh")
			sh.Stdin, sh.Env = strings.NewReader(p.script()), append(sh.Env, env...)
			if out, err := sh.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
	if run < atLeast {
		t.Errorf("only %d pages have commands", run)
	}
}

// pagesOf lists the pages of the repository by their paths.
func pagesOf(t *testing.T, w *workplace) []string {
	t.Helper()
	var pages []string
	err := filepath.WalkDir(w.repo, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name, err := filepath.Rel(w.repo, path); err == nil && filepath.Ext(name) == ".md" && !strings.Contains(name, "testdata") {
			pages = append(pages, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return pages
}

// endCluster ends the cluster that a page started where developers have theirs, if that page did not.
func (w *workplace) endCluster(t *testing.T) {
	dir := filepath.Join(w.home(), ".cache", "bobbin", "cluster")
	if _, err := os.Stat(dir); err != nil {
		return
	}
	if err := cluster.Down(dir); err != nil {
		t.Log(err) // mostly that it does not run
	}
}

func TestParse(t *testing.T) {
	if p, err := parse(secureMark + "\n```sh\na\n```\n"); err != nil || !p.secure || p.onCluster {
		t.Errorf("page %+v, %v", p, err)
	}
	p, err := parse("# A\n```sh\na\n  b\n```\nx\n```text\nc\n```\n" + clusterMark + "\n```go\nd\n```\n\n```sh\ne\n```\n")
	if err != nil || !p.onCluster || p.script() != "set -eu\na\n  b\n\ne\n" {
		t.Errorf("page %+v, %v", p, err)
	}
	for _, kind := range []string{"", "bash", "console", "shell"} {
		if _, err := parse("```" + kind + "\na\n```\n"); err == nil {
			t.Errorf("a block of kind %q, which is not run, is no error", kind)
		}
	}
}
