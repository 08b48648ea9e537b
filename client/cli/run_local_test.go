package cli

import (
	"fmt"
	"os"
	"testing"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/control"
)

// TestALocalRunThatIsBrokenOffIsTold would catch a run without any message, after the kernel ended it for its
// memory or a task called os.Exit; a pipeline that continues because the task called os.Exit(0); the message
// that a program was broken off, if it printed its help and exited, or its driver ended by os.Exit; a wrong
// message for a crash; and a message of the program that is printed twice.
func TestALocalRunThatIsBrokenOffIsTold(t *testing.T) {
	const (
		program = "bobbin: program ./job: "
		amidJob = program + "exit status 0: a task or the driver called os.Exit before the job ended\n"
		exited  = ", in its driver or in a task, which -t local runs in the same process\n"
	)
	for script, c := range map[string]struct {
		code   int
		stderr string
	}{
		"kill -9 $$":                            {ExitFailed, program + "signal: killed\n"},
		"say d; say j; kill -9 $$":              {ExitFailed, program + "signal: killed\n"},
		"echo mine >&2; exit 3":                 {ExitFailed, "mine\n"},
		"exit 0":                                {ExitOK, ""},
		"say d; say j; exit 0; say d":           {ExitFailed, amidJob},
		"say dj; say dj; exit 0":                {ExitFailed, amidJob},
		"say d; echo mine >&2; exit 0":          {ExitOK, "mine\n"},
		"say dj; say d; exit 0":                 {ExitOK, ""},
		"say djdn; exit 0":                      {ExitOK, ""},
		"say dj; echo mine >&2; exit 3":         {ExitFailed, "mine\n" + program + "exit status 3: it called os.Exit" + exited},
		"say djd; exit 3":                       {ExitFailed, program + "exit status 3: it called os.Exit" + exited},
		"say dj; echo mine >&2; exit 2":         {ExitFailed, "mine\n" + program + "exit status 2: it crashed, or called os.Exit" + exited},
		"say djd; echo mine >&2; say n; exit 1": {ExitFailed, "mine\n"},
	} {
		t.Chdir(t.TempDir())
		text := fmt.Sprintf("#!/bin/sh\n# <bobbin sdk protocol version=%d>\nsay() { printf %%s $1 >&$%s; }\n%s\n", jobgraph.ProtocolVersion, control.ParentVariable, script)
		if err := os.WriteFile("job", []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
		if code, stdout, stderr := command(t, nil, "run", "-t", "local", "./job"); code != c.code || stdout != "" || stderr != c.stderr {
			t.Errorf("%s: exit code %d, stdout %q, stderr %q; want %d, %q", script, code, stdout, stderr, c.code, c.stderr)
		}
	}
	if said := string([]byte{byte(control.AmidDriver), byte(control.AmidJob), byte(control.AmidNothing)}); said != "djn" {
		t.Errorf("programs say other words, %q", said)
	}
}
