package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// TestThePageOfFlinksFlagsHasEach would catch a flag or an option of Flink's that people look
// up in vain.
func TestThePageOfFlinksFlagsHasEach(t *testing.T) {
	content, err := os.ReadFile("../../docs/flink-options.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(content)
	ours := []string{"output", "o", "proxy-user", "help"}
	var p Process
	commands := []*cli.Command{runCommand(p), runApplicationCommand(p), infoCommand(p), listCommand(p), cancelCommand(p), stopCommand(p)}
	for _, command := range append(commands, sessionCommand(p).Subcommands...) {
		for _, flag := range command.Flags {
			names := flag.Names()
			if slices.Contains(ours, names[0]) {
				continue
			}
			for _, name := range names {
				if !strings.Contains(page, "`-"+name+"`") && !strings.Contains(page, "`--"+name+"`") {
					t.Errorf("%s of %s is not on the page", dashed(name), command.Name)
				}
			}
		}
	}
	for _, option := range config.Names() {
		for _, prefix := range []string{"yarn.", "external-resource", "containerized.", "flink.", "execution.", "client.", "high-availability.", "parallelism."} {
			if strings.HasPrefix(option, prefix) && !strings.Contains(page, "`"+option+"`") {
				t.Errorf("%s is not on the page", option)
			}
		}
	}
}

// TestWhereTheLastSessionIsWrittenDown would catch an option that is taken while the file goes
// to another place, where other commands do not look.
func TestWhereTheLastSessionIsWrittenDown(t *testing.T) {
	for _, c := range []struct{ option, temporary, want string }{
		{"", "", "/tmp"},
		{"", "/var/tmp", "/var/tmp"},
		{"/srv/sessions", "/var/tmp", "/srv/sessions"},
	} {
		p := Process{Executable: "/nowhere/bin/bobbin", Getenv: func(name string) string {
			return map[string]string{"TMPDIR": c.temporary}[name]
		}}
		cfg, err := options(p, config.Layer{Source: "-D", Values: map[string]string{config.YarnPropertiesFileLocation.Name(): c.option}})
		if err != nil {
			t.Fatal(err)
		}
		if got := sessionPath(p, cfg); filepath.Dir(got) != c.want {
			t.Errorf("option %q, TMPDIR %q: %s, want it in %s", c.option, c.temporary, got, c.want)
		}
	}
}
