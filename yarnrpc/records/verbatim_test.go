package records

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// asNodeManager changes a script as ContainerLaunch.expandEnvironment does.
func asNodeManager(text string) string {
	return strings.NewReplacer("<LOG_DIR>", "/logs", "<CPS>", ":", "{{", "$", "}}", "").Replace(text)
}

// The test runs bash. It would catch a character that is special for bash or for the
// NodeManager and was not escaped.
func TestVerbatimTextComesOutOfTheScriptAsItIs(t *testing.T) {
	for _, text := range []string{
		"", "plain", `$HOME "$HOME" '$HOME' \$HOME \\`, "`id` $(id) $((1+1)) ${X}", `"`, `\`, `\"`, "two\nlines\tand a tab",
		"{{X}} {{{X}}} }} {", "<LOG_DIR> <<LOG_DIR>> <CPS>", "* ? [a] ~ # ! & ; | > <", "für 你好", `a\`,
	} {
		dir := t.TempDir()
		bash := func(script string) {
			t.Helper()
			if out, err := exec.CommandContext(t.Context(), "/bin/bash", "-c", script).CombinedOutput(); err != nil || len(out) > 0 {
				t.Errorf("%q: %v\n%s", text, err, out)
			}
		}
		// As the value of a variable.
		value := filepath.Join(dir, "value")
		bash(fmt.Sprintf("export VALUE=\"%s\"\nprintf %%s \"$VALUE\" > %s", asNodeManager(Verbatim(text)), value))
		// As a command, which reads the text from a here-document without expansions.
		command := filepath.Join(dir, "command")
		bash(fmt.Sprintf("exec /bin/bash -c \"%s\"", asNodeManager(Verbatim(fmt.Sprintf("cat > %s <<'END'\n%s\nEND", command, text)))))
		for file, want := range map[string]string{value: text, command: text + "\n"} {
			if got, err := os.ReadFile(file); err != nil || string(got) != want {
				t.Errorf("%s is %q, %v, want %q", filepath.Base(file), got, err, want)
			}
		}
	}
}

func FuzzVerbatim(f *testing.F) {
	f.Add(`$HOME "x" {{Y}} <LOG_DIR>`)
	f.Fuzz(func(t *testing.T, text string) {
		if strings.ContainsRune(text, 0) {
			t.Skip("no variable can have it")
		}
		out, err := exec.CommandContext(t.Context(), "/bin/bash", "-c", "export VALUE=\""+asNodeManager(Verbatim(text))+"\"\nprintf %s \"$VALUE\"").Output()
		if err != nil || string(out) != text {
			t.Errorf("%q became %q, %v", text, out, err)
		}
	})
}
