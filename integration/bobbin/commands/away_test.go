package commands

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
)

// TestAServerThatDoesNotAnswerIsGivenUp would catch a command that waits silently for ever, an error that does not name
// the server, and staged files of a job that no server has accepted.
func TestAServerThatDoesNotAnswerIsGivenUp(t *testing.T) {
	t.Parallel()
	c := clusters.Change(t, suite.Kind(clusters.Victim), "pauses and kills the ResourceManager and the NameNode")
	u := suite.NewcomerOf(t, c)
	dir := u.Scratch(t)
	u.Write(t, dir+"/text", "to be\n")
	before := leftOf(t, u)
	local := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(local, []byte("to be\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	// In each case the unavailable server is the first one that the command calls. The other servers need not answer in
	// this time.
	const patience = "client.timeout=1s"
	ofHDFS := bobbintest.Small("-D", patience, suite.Program(t, "wordcount"), "--input", dir+"/text", "--output", dir+"/out")
	ofYARN := bobbintest.Small("-D", patience, suite.Program(t, "wordcount"), "--input", "file://"+local, "--output", "file://"+local+".out")

	namenode := "NameNode " + c.NameNodeAddress() + " did not answer"
	t.Run("a NameNode that hangs", func(t *testing.T) {
		if err := c.Pause(t.Context(), "namenode"); err != nil {
			t.Fatal(err)
		}
		silent(t, u, namenode, ofHDFS...)
		if err := c.Resume("namenode"); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("a NameNode that is away", func(t *testing.T) {
		if err := c.Kill(t.Context(), "namenode"); err != nil {
			t.Fatal(err)
		}
		silent(t, u, namenode, ofHDFS...)
		if err := c.Restart(t.Context(), "namenode"); err != nil {
			t.Fatal(err)
		}
	})
	const resourcemanager = "ResourceManager does not answer"
	t.Run("a ResourceManager that hangs", func(t *testing.T) {
		if err := c.Pause(t.Context(), "resourcemanager"); err != nil {
			t.Fatal(err)
		}
		silent(t, u, resourcemanager, ofYARN...)
		if err := c.Resume("resourcemanager"); err != nil {
			t.Fatal(err)
		}
	})
	unchanged(t, u, before)
	t.Run("a ResourceManager that is away", func(t *testing.T) {
		if err := c.Kill(t.Context(), "resourcemanager"); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{
			ofYARN,
			{"applications", "-D", patience},
			{"kill", "-D", patience, "application_1_0001"},
			{"logs", "-D", patience, "application_1_0001"},
		} {
			silent(t, u, resourcemanager, args...)
		}
	})
	if staged := u.Staging(t); len(staged.Applications) != 0 || len(staged.Cache) != 0 {
		t.Errorf("left behind in the staging area: %+v", staged)
	}
}

// silent runs a command. Its error must name the server that does not answer, its address, and the time of the tries.
func silent(t *testing.T, u *bobbintest.User, server string, args ...string) {
	t.Helper()
	got := u.Run(t, args...)
	lines := withoutWaits(got.Stderr)
	if got.Code != 1 || got.Stdout != "" || len(lines) != 1 || !strings.HasPrefix(lines[0], "bobbin: ") || !strings.Contains(lines[0], server) {
		t.Fatalf("%v: want %q, got %s", args, server, got)
	}
	// No answer, or no connection if the connection begins with a login.
	if !strings.Contains(lines[0], "localhost:") || !strings.Contains(lines[0], "tried for ") && !strings.Contains(lines[0], " tries in ") && !strings.Contains(lines[0], " in time") {
		t.Errorf("%v: %q names neither the server nor the time", args, lines[0])
	}
}
