package pages

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/testing/longtest"
)

// place is the workplace of all tests, because a build takes longer than its use.
var place *workplace

func TestMain(m *testing.M) {
	if os.Getenv(asHDFS) == "1" {
		if err := hdfs(context.Background(), os.Args[1:], os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "hdfs:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(run(m))
}

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

// TestCommandsOfThePages would catch a command in the documentation that does not work in a fresh clone of the
// repository, and a command that succeeds but starts something that fails.
func TestCommandsOfThePages(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Open)
	readPages(t, 10, func(p page) bool { return !p.secure }, func(t *testing.T, w *workplace, p page) *reader {
		switch {
		case p.onCluster:
			return newReader(t, w, c)
		case p.startsCluster() && !longtest.Is():
			return newStarter(t, w, c)
		default:
			w.endCluster(t)
			return &reader{place: w}
		}
	})
}

// newStarter makes a reader of a page that starts a cluster, and gives the tests' cluster to it instead. In long runs
// the page starts its own.
func newStarter(t *testing.T, w *workplace, c *cluster.Cluster) *reader {
	t.Helper()
	w.standIn(t, c)
	name := rpctest.Me(t)
	files := rpctest.HDFS(t, c)
	clean := func() {
		for _, left := range []string{"text", "counts"} {
			if err := files.Remove(wait.Context(t), "/user/"+name+"/"+left); err != nil {
				t.Error(err)
			}
		}
	}
	clean() // from an earlier run
	t.Cleanup(clean)
	return &reader{place: w, hdfs: c, users: []string{name}, named: true}
}

// TestCommandsOfPagesForSecureClusters is the same for pages that need a cluster with Kerberos.
func TestCommandsOfPagesForSecureClusters(t *testing.T) {
	t.Parallel()
	readPages(t, 1, func(p page) bool { return p.secure }, func(t *testing.T, w *workplace, _ page) *reader {
		c := clusters.Use(t, clusters.Secure)
		env, err := w.onCluster(c)
		if err != nil {
			t.Fatal(err)
		}
		files := rpctest.HDFS(t, c)
		for _, left := range []string{"/tmp/words", "/user/" + trusted + "/counts", "/user/" + proxied + "/counts"} { // from an earlier run
			if err := files.Remove(t.Context(), left); err != nil {
				t.Fatal(err)
			}
		}
		return &reader{place: w, env: env, hdfs: c, users: []string{trusted, proxied}, named: true, login: []string{
			"-D", "security.kerberos.login.keytab=" + c.Keytab(trusted), "-D", "security.kerberos.login.principal=" + trusted,
		}}
	})
}

// readPages follows the chosen pages side by side, each in a workplace of its own.
func readPages(t *testing.T, atLeast int, wanted func(page) bool, by func(*testing.T, *workplace, page) *reader) {
	t.Helper()
	run := 0
	for _, name := range pagesOf(t, place) {
		content, err := os.ReadFile(filepath.Join(place.repo, name))
		if err != nil {
			t.Fatal(err)
		}
		p, err := parse(string(content))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if len(p.blocks) == 0 || !wanted(p) {
			continue
		}
		run++
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := fork(t, strings.ReplaceAll(name, "/", "-"))
			if err := by(t, w, p).read(t, p); err != nil {
				t.Error(err)
			}
		})
	}
	if run < atLeast {
		t.Errorf("only %d pages have commands", run)
	}
}

// fork makes a workplace for one page or demo.
func fork(t *testing.T, name string) *workplace {
	t.Helper()
	w, err := place.fork(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// endCluster ends the cluster that a page has started and not ended. It does so at the end of the test or of the
// process.
func (w *workplace) endCluster(t *testing.T) {
	t.Helper()
	end, err := cluster.EndWithThisProcess(filepath.Dir(w.ownCluster()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := end(); err != nil {
			t.Error(err)
		}
	})
}

// newReader makes a user of an open cluster with a new name and an empty home on HDFS.
func newReader(t *testing.T, w *workplace, c *cluster.Cluster) *reader {
	t.Helper()
	env, err := w.onCluster(c)
	if err != nil {
		t.Fatal(err)
	}
	name := "reader-" + ids.Random()
	files, err := c.HDFS()
	if err == nil {
		err = files.Mkdir(t.Context(), "/user/"+name, name, "755")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := files.Remove(wait.Context(t), "/user/"+name); err != nil {
			t.Error(err)
		}
	})
	return &reader{place: w, env: append(env, "HADOOP_USER_NAME="+name), hdfs: c, users: []string{name}}
}

// TestWhatAPageStartsMustNotFail would catch a test of pages that overlooks an application that fails after its command
// has succeeded.
func TestWhatAPageStartsMustNotFail(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Open)
	fails := func(name string) string {
		return "```sh\nbin/bobbin run-application -nm " + name + " bin/examples/wordcount --input nowhere --output counts || true\n" + // it may fail while the command still runs
			"while bin/bobbin applications | grep " + name + "; do sleep 1; done\n```\n"
	}
	read := func(t *testing.T, content string) error {
		t.Parallel()
		p, err := parse(content)
		if err != nil {
			t.Fatal(err)
		}
		return newReader(t, fork(t, strings.ReplaceAll(t.Name(), "/", "-")), c).read(t, p)
	}
	t.Run("by mistake", func(t *testing.T) {
		if err := read(t, fails("broken")); err == nil || !strings.Contains(err.Error(), "(broken) is FINISHED, FAILED") {
			t.Errorf("error %v, want one of the application", err)
		}
	})
	t.Run("on purpose", func(t *testing.T) {
		if err := read(t, failsMark+"\n"+fails("meant")); err != nil {
			t.Error(err)
		}
	})
	t.Run("and is left", func(t *testing.T) {
		if err := read(t, "```sh\nbin/bobbin session start -d -nm left\n```\n"); err == nil || !strings.Contains(err.Error(), "(left) still runs: RUNNING") {
			t.Errorf("error %v, want one of the application", err)
		}
	})
}

// TestACommandThatFailsIsSeen would catch a shell that continues after a failure, or that checks only the last command
// of a pipe.
func TestACommandThatFailsIsSeen(t *testing.T) {
	t.Parallel()
	w, err := emptyWorkplace(t.TempDir())
	if err == nil {
		err = os.Mkdir(w.repo, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"false\ntrue\n", "false | cat\n", "x=$(false)\n", "echo \"$nothing\"\n", "exit 3\n", "if\n"} {
		p := page{blocks: []block{{text: "here=1\n"}, {text: text}, {text: "true\n"}}}
		if err := (&reader{place: w}).read(t, p); err == nil {
			t.Errorf("%q is no error", text)
		}
	}
	other := page{blocks: []block{{text: "echo a\necho b\n", prints: "c\n"}}}
	if err := (&reader{place: w}).read(t, other); err == nil {
		t.Error("another output than the page shows is no error")
	}
	p := page{blocks: []block{{text: "echo a\necho b\n", prints: "b\n"}, {text: "cat >text <<END\na\nEND\nhere() { cat text; }\n"}, {text: "[ \"$(here)\" = a ]\nfalse || true\n"}}}
	if err := (&reader{place: w}).read(t, p); err != nil {
		t.Error(err)
	}
}

// TestTheLedgerJudges would catch an overlooked failure of a job in a session that continues, and marks that allow too
// much.
func TestTheLedgerJudges(t *testing.T) {
	t.Parallel()
	app := func(state, final string, jobs ...string) started {
		a := started{RMApp: cluster.RMApp{ID: "application_1", State: state, FinalStatus: final}}
		for _, status := range jobs {
			a.jobs = append(a.jobs, job{Status: status})
		}
		return a
	}
	plain, marked, kills, cancels := block{text: "bobbin list\n"}, block{fails: true}, block{text: "bobbin kill $app\n"}, block{text: "bobbin cancel $job\n"}
	type step struct {
		block
		started
	}
	for name, tc := range map[string]struct {
		steps []step
		want  string
	}{
		"all is well":              {[]step{{plain, app("RUNNING", "UNDEFINED", "RUNNING")}, {plain, app("FINISHED", "SUCCEEDED")}}, ""},
		"fails later":              {[]step{{plain, app("RUNNING", "UNDEFINED")}, {marked, app("FINISHED", "FAILED")}}, "FAILED"},
		"fails on purpose":         {[]step{{marked, app("RUNNING", "UNDEFINED")}, {plain, app("FINISHED", "FAILED")}}, ""},
		"has no end that is known": {[]step{{plain, app("FINISHED", "UNDEFINED")}}, "UNDEFINED"},
		"job fails":                {[]step{{plain, app("RUNNING", "UNDEFINED", "FINISHED", "FAILED")}, {plain, app("FINISHED", "SUCCEEDED")}}, "FAILED"},
		"job fails on purpose":     {[]step{{marked, app("RUNNING", "UNDEFINED", "FAILED")}, {plain, app("FINISHED", "SUCCEEDED")}}, ""},
		"is killed":                {[]step{{kills, app("KILLED", "KILLED")}}, ""},
		"is killed by nobody":      {[]step{{plain, app("KILLED", "KILLED")}}, "KILLED"},
		"job is canceled":          {[]step{{cancels, app("RUNNING", "UNDEFINED", "CANCELED")}, {plain, app("FINISHED", "SUCCEEDED")}}, ""},
		"is left":                  {[]step{{plain, app("RUNNING", "UNDEFINED")}}, "still runs"},
		"mark without a failure":   {[]step{{marked, app("FINISHED", "SUCCEEDED")}}, "nothing has failed"},
	} {
		t.Run(name, func(t *testing.T) {
			var l ledger
			var errs []error
			for _, s := range tc.steps {
				errs = append(errs, l.look(s.block, []started{s.started}))
			}
			err := errors.Join(append(errs, l.close())...)
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want one with %q", err, tc.want)
			}
		})
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
		if filepath.Base(path) == "node_modules" {
			return filepath.SkipDir // pages of others
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

func TestParse(t *testing.T) {
	if p, err := parse(secureMark + "\n```sh\na\n```\n"); err != nil || !p.secure || p.onCluster {
		t.Errorf("page %+v, %v", p, err)
	}
	p, err := parse("# A\n```sh\na\n  b\n```\nx\n```text\nc\n```\n" + clusterMark + "\n```go\nd\n```\n\n```sh\ne\n```\n")
	if err != nil || !p.onCluster || !slices.Equal(p.blocks, []block{{text: "a\n  b\n"}, {text: "e\n"}}) {
		t.Errorf("page %+v, %v", p, err)
	}
	if p, err := parse(failsMark + "\n```sh\na\n```\n"); err != nil || !slices.Equal(p.blocks, []block{{text: "a\n", fails: true}}) {
		t.Errorf("page %+v, %v", p, err)
	}
	if p, err := parse("```sh\na\n```\n\n" + printsMark + "\n```text\nb\n```\n"); err != nil || !slices.Equal(p.blocks, []block{{text: "a\n", prints: "b\n"}}) {
		t.Errorf("page %+v, %v", p, err)
	}
	for _, content := range []string{
		failsMark + "\n\n```sh\na\n```\n", failsMark + "\n```text\na\n```\n",
		printsMark + "\n```text\na\n```\n", printsMark + "\n```sh\na\n```\n",
	} {
		if p, err := parse(content); err == nil {
			t.Errorf("%q is page %+v, and its mark is of no such block", content, p)
		}
	}
	for _, kind := range []string{"", "bash", "console", "shell"} {
		if _, err := parse("```" + kind + "\na\n```\n"); err == nil {
			t.Errorf("a block of kind %q, which is not run, is no error", kind)
		}
	}
}
