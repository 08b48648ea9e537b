package jobs

import (
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
)

// stage puts a directory on HDFS with Hadoop's own client, in blocks of this size. Small blocks
// give files of many blocks.
func stage(t testing.TB, u *bobbintest.User, dir, uri, blockSize string) {
	t.Helper()
	cmd := u.Java(t, cluster.FsShell, "-D", "dfs.blocksize="+blockSize, "-put", dir, uri)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("put %s to %s: %v\n%s", dir, uri, err, out)
	}
}

// edges is a text with all special cases for readers of lines.
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
