package jobs

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/cluster"
)

// countWords counts the words of files without any code of ours: letters lowered,
// split at every byte outside [a-z0-9_].
const countWords = `for file; do cat "$file"; echo; done | tr A-Z a-z | tr -cs a-z0-9_ '\n' | awk 'NF { n[$0]++ } END { for (w in n) print w "\t" n[w] }' | sort`

// countFirstWords counts lines by the word before their first blank.
const countFirstWords = `awk '{ sub(/ .*/, ""); n[$0]++ } END { for (w in n) print w "\t" n[w] }' "$@" | sort`

// independently counts by one of the scripts above.
func independently(t testing.TB, script, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "sh", append([]string{"-euc", script, "sh"}, files...)...)
	cmd.Env = append(cmd.Environ(), "LC_ALL=C")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("count words of %s: %v", dir, err)
	}
	return bobbintest.SortedLines(string(out))
}

// generate makes a text of files in a new directory.
func generate(t testing.TB, args ...string) string {
	t.Helper()
	dir := t.TempDir()
	out, err := exec.CommandContext(t.Context(), suite.Program(t, "gentext"), append(args, dir)...).CombinedOutput()
	if err != nil {
		t.Fatalf("generate text: %v\n%s", err, out)
	}
	return dir
}

// stage puts a directory on HDFS with Hadoop's own client, in blocks of that
// size: small ones give files of many.
func stage(t testing.TB, u *bobbintest.User, dir, uri, blockSize string) {
	t.Helper()
	cmd := u.Cluster.Command(t.Context(), cluster.FsShell, "-D", "dfs.blocksize="+blockSize, "-put", dir, uri)
	cmd.Env = append(cmd.Env, "HADOOP_USER_NAME="+u.Name)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("put %s to %s: %v\n%s", dir, uri, err, out)
	}
}

// edges is a text of everything that readers of lines get wrong.
func edges() map[string]string {
	return map[string]string{
		"edges-crlf.txt":       "one two\r\nTwo three\r\n\r\nthree\r\n",
		"edges-no-newline.txt": "no newline at the End",
		"edges-long-line.txt":  strings.Repeat("long line ", 30_000) + "\nshort line\n",
		"edges-bytes.txt":      "caf\xc3\xa9 \xff\xfe\x00nul snake_case x1 1x _ __ a-b a.b,c\n",
		"edges-blank.txt":      "\n\n \n\t\n",
		"edges-empty.txt":      "",
	}
}
