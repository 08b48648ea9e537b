package sessions

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
)

// TestShellsComplete would catch a script that a shell does not accept, or that completes nothing
// when a user presses the key.
func TestShellsComplete(t *testing.T) {
	cluster.Thorough(t)
	t.Parallel()
	bin := t.TempDir()
	if err := os.Symlink(suite.Bobbin(t), filepath.Join(bin, "bobbin")); err != nil {
		t.Fatal(err)
	}
	u := suite.User(t, bobbintest.Alice).With("PATH=" + bin + ":" + os.Getenv("PATH"))
	version := u.Run(t, "version", "-o", "json").Stdout
	for _, shell := range []struct{ name, plain, setUp string }{
		{"bash", "--norc", "source <(bobbin completion bash)"},
		{"zsh", "-f", "autoload -Uz compinit; compinit -u -D; source <(bobbin completion zsh)"},
		{"fish", "--no-config", "bobbin completion fish | source"},
	} {
		t.Run(shell.name, func(t *testing.T) {
			if _, err := exec.LookPath(shell.name); err != nil {
				t.Fatalf("%v: scripts/prepare --all installs it", err)
			}
			const tab = "\t"
			screen := u.TerminalOf(t, 200, shell.name, shell.plain, "-i")
			screen.Types(t, shell.setUp+"; echo set''up\n")
			screen.Says(t, "setup")
			screen.Types(t, "bobbin ver"+tab+"--outp"+tab+"js"+tab+"\n")
			wait.Until(t, "the command that was completed has run", func() bool {
				return slices.Contains(screen.Lines(), strings.TrimSuffix(version, "\n"))
			})
		})
	}
}
