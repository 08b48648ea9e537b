package pages

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/runnable"
)

// TestPrepareInstallsWhatIsNeededAndNoMore would catch a demo that installs the tests' packages, and tests without one
// of them.
func TestPrepareInstallsWhatIsNeededAndNoMore(t *testing.T) {
	t.Parallel()
	hadoop := []string{"default-jdk-headless", "make", "maven"}
	tests := append(slices.Clone(hadoop), "chromium", "curl", "fish", "gcc", "git", "krb5-user", "libc6-dev", "libnss3-tools", "nodejs", "npm", "prometheus", "python3-pip", "zsh")
	for name, tc := range map[string]struct {
		args, has []string
		user      string
		code      int
		installed []string
		then      []string // calls of scripts/cluster and scripts/flink
		says      string
	}{
		"for a Hadoop":             {user: "0", installed: hadoop, then: []string{"fetch"}},
		"for the tests":            {args: []string{"--all"}, user: "0", installed: tests, then: []string{"fetch --all", "archive --all", "flink"}},
		"what is there":            {user: "0", has: []string{"javac", "make"}, installed: []string{"maven"}, then: []string{"fetch"}},
		"nothing at all":           {user: "0", has: []string{"javac", "make", "mvn"}, then: []string{"fetch"}},
		"by somebody else":         {user: "1000", code: 1, says: "sudo apt-get install -y --no-install-recommends make default-jdk-headless maven"},
		"without Go":               {user: "0", has: []string{"no go"}, code: 1, says: "https://go.dev/doc/install"},
		"with a word it knows not": {args: []string{"--al"}, user: "0", code: 2, says: "scripts/prepare --all"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t, tc.user, tc.has)
			out, code := m.prepare(t, tc.args...)
			if code != tc.code || !strings.Contains(out, tc.says) {
				t.Errorf("exit code %d, want %d\n%s\nwant in it %q", code, tc.code, out, tc.says)
			}
			installed := m.installed(t)
			if slices.Contains(tc.args, "--all") {
				// The KDC's programs are in a folder that the script adds to the PATH. This machine may have them
				// there.
				installed = slices.DeleteFunc(installed, func(name string) bool { return name == "krb5-kdc" || name == "krb5-admin-server" })
			}
			if !slices.Equal(installed, slices.Sorted(slices.Values(tc.installed))) {
				t.Errorf("installs %q, want %q", installed, tc.installed)
			}
			if then := m.lines(t, "cluster-calls"); !slices.Equal(then, tc.then) {
				t.Errorf("then calls scripts/cluster with %q, want %q", then, tc.then)
			}
		})
	}
}

// machine has almost no programs, and an apt-get that records the packages to install.
type machine struct{ root string }

func newMachine(t *testing.T, user string, has []string) machine {
	t.Helper()
	m := machine{t.TempDir()}
	scripts, bin := filepath.Join(m.root, "scripts"), filepath.Join(m.root, "bin")
	for _, dir := range []string{scripts, bin} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"dirname", "sed", "sh"} {
		path, err := exec.LookPath(name)
		if err == nil {
			err = os.Symlink(path, filepath.Join(bin, name))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	script, err := os.ReadFile(filepath.Join("..", "..", "..", "scripts", "prepare"))
	if err == nil {
		err = runnable.Write(filepath.Join(scripts, "prepare"), script)
	}
	if err != nil {
		t.Fatal(err)
	}
	m.program(t, "scripts/cluster", `echo "$*" >>'`+m.root+`/cluster-calls'`)
	m.program(t, "scripts/flink", `echo flink >>'`+m.root+`/cluster-calls'`)
	m.program(t, "bin/apt-get", `echo "$*" >>'`+m.root+`/apt-calls'`)
	m.program(t, "bin/id", "echo "+user)
	if !slices.Contains(has, "no go") {
		has = append(slices.Clone(has), "go")
	}
	for _, name := range has {
		m.program(t, "bin/"+strings.ReplaceAll(name, " ", "-"), "exit 0")
	}
	return m
}

func (m machine) program(t *testing.T, path, script string) {
	t.Helper()
	if err := runnable.Write(filepath.Join(m.root, path), []byte("#!/bin/sh\n"+script+"\n")); err != nil {
		t.Fatal(err)
	}
}

func (m machine) prepare(t *testing.T, args ...string) (out string, code int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(m.root, "scripts", "prepare"), args...)
	cmd.Env = []string{"PATH=" + filepath.Join(m.root, "bin")}
	text, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(text), cmd.ProcessState.ExitCode()
}

// installed returns the packages that apt-get got, sorted.
func (m machine) installed(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, call := range m.lines(t, "apt-calls") {
		if call == "update -q" {
			continue
		}
		packages, is := strings.CutPrefix(call, "install -y --no-install-recommends ")
		if !is {
			t.Errorf("apt-get is called with %q", call)
		}
		names = append(names, strings.Fields(packages)...)
	}
	slices.Sort(names)
	return names
}

// lines returns the lines of a file, or none if it does not exist.
func (m machine) lines(t *testing.T, name string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(m.root, name))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return strings.FieldsFunc(string(text), func(r rune) bool { return r == '\n' })
}
