package launch_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/internal/launch"
)

// container makes a directory as a NodeManager does, with a bobbin that prints its arguments.
func container(t testing.TB, bobbin []byte) (dir, sum string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, launch.BobbinLink), bobbin, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir, fmt.Sprintf("%x", sha256.Sum256(bobbin))
}

// start runs a command as a NodeManager's script does (ContainerLaunch.UnixShellScriptBuilder).
func start(t testing.TB, dir, command string, environment ...string) (stdout, stderr string, err error) {
	t.Helper()
	script := `exec /bin/bash -c "` + strings.ReplaceAll(command, "<LOG_DIR>", dir) + `"`
	process := exec.CommandContext(t.Context(), "/bin/bash", "-c", script)
	process.Dir, process.Env = dir, append(os.Environ(), environment...)
	err = process.Run()
	read := func(name string) string {
		content, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		return string(content)
	}
	return read("some.stdout"), read("some.stderr"), err
}

// TestOnlyTheBinaryThatWasSubmittedIsStarted plays an attacker that changes the binary on its way
// over HDFS, with its checksums. It would catch a container that runs such a binary, one that runs
// a binary which it cannot check, and one that does not say why it ends.
func TestOnlyTheBinaryThatWasSubmittedIsStarted(t *testing.T) {
	t.Parallel()
	good := []byte("#!/bin/bash\necho runs $*\necho warning >&2\n")
	for name, test := range map[string]struct {
		change      func(dir string) error
		environment []string
		unknown     bool // no hash is known
		starts      bool
		says        string
	}{
		"what was submitted": {starts: true},
		"another file of the same length": {
			change: func(dir string) error {
				return os.WriteFile(filepath.Join(dir, launch.BobbinLink), bytes.Replace(good, []byte("echo"), []byte("evil"), 1), 0o700)
			},
			says: "differs from that of the submitted file",
		},
		"no file":                        {change: func(dir string) error { return os.Remove(filepath.Join(dir, launch.BobbinLink)) }, says: "differs from that of the submitted file"},
		"a node that cannot hash":        {environment: []string{"PATH=/nowhere"}, says: "neither openssl nor sha256sum (coreutils)"},
		"a node without openssl":         {environment: []string{"PATH=" + tools(t, "sha256sum")}, starts: true},
		"a node without coreutils":       {environment: []string{"PATH=" + tools(t, "openssl")}, starts: true},
		"an openssl that does not work":  {environment: []string{"PATH=" + tools(t, "sha256sum", "openssl=false")}, starts: true},
		"an openssl that hashes nothing": {environment: []string{"PATH=" + tools(t, "sha256sum", "openssl=true")}, says: "differs from that of the submitted file"},
		"one whose hash nobody has told": {unknown: true, starts: true},
	} {
		dir, sum := container(t, good)
		if test.change != nil {
			if err := test.change(dir); err != nil {
				t.Fatal(err)
			}
		}
		if test.unknown {
			sum = ""
		}
		stdout, stderr, err := start(t, dir, launch.Command("somerole", sum, "some"), test.environment...)
		if test.starts && (err != nil || stdout != "runs somerole\n" || stderr != "warning\n") {
			t.Errorf("%s: %v, it writes %q and %q", name, err, stdout, stderr)
		}
		if !test.starts && (err == nil || stdout != "" || !strings.Contains(stderr, test.says)) {
			t.Errorf("%s: %v, it writes %q, and says %q, want %q", name, err, stdout, stderr, test.says)
		}
	}
}

// BenchmarkCommand starts a binary of bobbin's size with and without the check. The difference is
// the cost of the check.
func BenchmarkCommand(b *testing.B) {
	dir, sum := container(b, append([]byte("#!/bin/true\n"), make([]byte, 30<<20)...))
	for name, hash := range map[string]string{"checked": sum, "unchecked": ""} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, _, err := start(b, dir, launch.Command("somerole", hash, "some")); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// tools makes a directory for PATH with grep and these tools. "a=b" is b under the name a.
func tools(t testing.TB, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range append(names, "grep") {
		name, tool, other := strings.Cut(name, "=")
		if !other {
			tool = name
		}
		path, err := exec.LookPath(tool)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
