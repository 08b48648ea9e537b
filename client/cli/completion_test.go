package cli

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestWordsAreCompleted would catch a candidate that bobbin does not accept, and candidates for a program's
// words.
func TestWordsAreCompleted(t *testing.T) {
	for _, c := range []struct {
		name  string
		words []string
		want  string
	}{
		{"a command", []string{"ca"}, "cancel"},
		{"one below another", []string{"session", "st"}, "start stop"},
		{"one below what is none", []string{"sessoin", "st"}, ""},
		{"a flag", []string{"run", "-t", "local", "--sl"}, "--slots"},
		{"a flag below another", []string{"session", "start", "--det"}, "--detached"},
		{"a flag's value", []string{"run", "-t", "yarn-"}, "yarn-per-job yarn-session yarn-application"},
		{"a format", []string{"list", "-o", ""}, "json text"},
		{"an option", []string{"run", "-D", "execution.at"}, "execution.attached="},
		{"an option without a blank", []string{"run", "-Dexecution.at"}, "-Dexecution.attached="},
		{"a prefix of options", []string{"run", "-D", "flink.had"}, "flink.hadoop."},
		{"an option's value", []string{"run", "-D", "logging.level=d"}, "logging.level=debug"},
		{"an option's value without a blank", []string{"run", "-Dlogging.level=d"}, "-Dlogging.level=debug"},
		{"a program", []string{"run", "-d", "./w"}, ""},
		{"a program's flag", []string{"run", "./wordcount", "--sl"}, ""},
		{"a shell", []string{"completion", "z"}, "zsh"},
		{"what only a person knows", []string{"run", "-nm", ""}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, stdout, stderr := command(t, nil, append([]string{"complete", "--"}, c.words...)...)
			if diff := cmp.Diff(strings.Fields(c.want), strings.Fields(stdout)); code != ExitOK || stderr != "" || diff != "" {
				t.Errorf("exit code %d, stderr %q (-want +got):\n%s", code, stderr, diff)
			}
		})
	}
	if _, stdout, _ := command(t, nil, "complete", "--", ""); strings.Contains(stdout, "complete\n") || !strings.Contains(stdout, "completion\n") {
		t.Errorf("commands are %q", stdout)
	}
}

// TestBashCompletes would catch a script that is not valid in bash, or that splits an option at its "=".
func TestBashCompletes(t *testing.T) {
	_, script, _ := command(t, nil, "completion", "bash")
	for _, c := range []struct{ line, candidates, want string }{
		{"bobbin ses", "session", "session"},
		{"bobbin run -t ", "local\nyarn-session", "local yarn-session"},
		{"bobbin run -D logging.level=d", "logging.level=debug", "debug"},
		{"bobbin run -D execution.at", "execution.attached=", "execution.attached="},
	} {
		program := script + `
bobbin() { printf '%s\n' "$CANDIDATES"; }
COMP_LINE=$LINE COMP_POINT=${#LINE}
_bobbin
printf '%s ' "${COMPREPLY[@]}"`
		cmd := exec.CommandContext(t.Context(), "bash", "-uc", program)
		cmd.Env = []string{"LINE=" + c.line, "CANDIDATES=" + c.candidates, "PATH=/nowhere"}
		out, err := cmd.CombinedOutput()
		if diff := cmp.Diff(strings.Fields(c.want), strings.Fields(string(out))); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", c.line, err, diff)
		}
	}
	for _, line := range []string{"completion", "completion tcsh", "completion bash zsh"} {
		if _, _, stderr := command(t, nil, strings.Fields(line)...); stderr != "bobbin: usage: bobbin completion needs the name of a shell: bash, fish, zsh\n" {
			t.Errorf("%s: stderr %q", line, stderr)
		}
	}
}
