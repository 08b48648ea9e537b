package security

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
)

// TestAFailedSubmissionGivesItsTokensBack makes HDFS refuse the staged files, after all checks have
// passed and the tokens were obtained. It would catch tokens that give access to carol's files for
// a week although no application ran.
func TestAFailedSubmissionGivesItsTokensBack(t *testing.T) {
	cluster.Thorough(t)
	t.Parallel()
	only := suite.User(t, carol) // the log also has others' tokens
	path := filepath.Join(only.Cluster.LogDir(), "namenode.log")
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	input := t.TempDir()
	got := only.Run(t, bobbintest.Small(append(option("yarn.file-replication", 10000),
		suite.Program(t, "wordcount"), "--input", "file://"+input, "--output", "/tmp/refused")...)...)
	if got.Code != 1 {
		t.Errorf("exit code %d, want 1: %s", got.Code, got)
	}
	log, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	told := func(pattern string) (tokens []string) {
		// Tokens that an ApplicationMaster obtains name carol as their renewer.
		of := regexp.MustCompile(pattern + `.*: \((token for ` + carol + `: .*, renewer=rm, .*sequenceNumber=\d+)`)
		for _, found := range of.FindAllSubmatch(log[before.Size():], -1) {
			tokens = append(tokens, string(found[1]))
		}
		return tokens
	}
	issued, canceled := told("Creating password for identifier"), told("Token cancellation requested for identifier")
	if len(issued) == 0 {
		t.Errorf("no token was issued: %s", got)
	}
	for _, token := range issued {
		if !slices.Contains(canceled, token) {
			t.Errorf("it lives on: %s", token)
		}
	}
}
