package bobbintest

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// countWords counts the words of files without any code of Bobbin. It makes letters lower-case, and
// splits at every byte outside [a-z0-9_].
const countWords = `for file; do cat "$file"; echo; done | tr A-Z a-z | tr -cs a-z0-9_ '\n' | awk 'NF { n[$0]++ } END { for (w in n) print w "\t" n[w] }' | sort`

// countFirstWords counts lines by the word before their first space.
const countFirstWords = `awk '{ sub(/ .*/, ""); n[$0]++ } END { for (w in n) print w "\t" n[w] }' "$@" | sort`

// CountWords counts the words of the files in a local directory, with the same rules as the example
// wordcount but without its code.
func CountWords(t testing.TB, dir string) []string {
	t.Helper()
	return independently(t, countWords, dir)
}

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
	return SortedLines(string(out))
}

// Generate makes text files in a new directory, with these arguments of the example gentext.
func (s *Suite) Generate(t testing.TB, args ...string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	out, err := exec.CommandContext(t.Context(), s.Plain().Program(t, "gentext"), append(args, dir)...).CombinedOutput()
	if err != nil {
		t.Fatalf("generate text: %v\n%s", err, out)
	}
	return dir
}
