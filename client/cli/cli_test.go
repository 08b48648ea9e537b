package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// command runs a command line in an environment and gives its exit code and
// what it printed.
func command(t *testing.T, env map[string]string, words ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	code = Run(t.Context(), Process{
		Args: words, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs,
		Getenv: func(name string) string { return env[name] }, Executable: executable, Version: "1.2.3", Start: time.Now(),
	})
	return code, out.String(), errs.String()
}

// TestBadCommandLinesGetOneLine would catch help texts and Go's own errors in
// place of one line that names the word and the way out.
func TestBadCommandLinesGetOneLine(t *testing.T) {
	for _, c := range []struct{ name, line, want string }{
		{"a command misspelt", "rnu ./job", `usage: unknown command "rnu": did you mean run?`},
		{"a flag before the command", "-t local run ./job", "usage: -t stands before the command: write bobbin COMMAND -t, see bobbin --help"},
		{"help on a command that is none", "help rnu", `usage: unknown command "rnu": did you mean run?`},
		{"no program", "run -t yarn-per-job", "usage: bobbin run needs a program: bobbin run -t yarn-per-job ./program [arguments]"},
		{"a flag misspelt", "run --paralelism 4 ./job", "usage: unknown flag --paralelism: did you mean --parallelism? See --help"},
		{
			"a program taken for a value", "run -p ./job --input x",
			`usage: unknown flag --input behind "-p ./job": see --help`,
		},
		{"a flag without its value", "run -p", "usage: flag -p needs a value"},
		{"a switch with a value", "run -d=maybe ./job", `usage: invalid boolean value "maybe" for -d: parse error`},
		{"a number that is none", "run -p x ./job", `--parallelism: option parallelism.default: "x" is not a whole number: invalid configuration`},
		{"too small a number", "run -s 0 ./job", "--slots: option taskmanager.numberOfTaskSlots: 0 is less than 1: invalid configuration"},
		{
			"a size in no unit", "run -tm 12q ./job",
			`--taskManagerMemory: option taskmanager.memory.process.size: "12q" has an unknown unit, want b, k, m, g or t: invalid configuration`,
		},
		{"a format that is none", "run -o xml ./job", `usage: output format "xml": choose text or json`},
		{
			"a target that is none", "run -t yarn ./job",
			`--target: option execution.target: "yarn" is none of local, yarn-per-job: invalid configuration`,
		},
		{
			"an option misspelt", "run -D taskmanager.numberOfTaskSlot=3 ./job",
			"-D: unknown option taskmanager.numberOfTaskSlot, did you mean taskmanager.numberOfTaskSlots?: invalid configuration",
		},
		{"an option without a value", "run -D taskmanager.numberOfTaskSlots ./job", "-D taskmanager.numberOfTaskSlots: want key=value: invalid configuration"},
		{
			"no Hadoop configuration", "run -t yarn-per-job ./job",
			"find Hadoop configuration: neither HADOOP_CONF_DIR nor YARN_CONF_DIR is set; set HADOOP_CONF_DIR to the directory that holds core-site.xml and yarn-site.xml",
		},
		{"words behind applications", "applications all", `usage: bobbin applications takes no arguments, "all" is one`},
		{"words behind doctor", "doctor me", `usage: bobbin doctor takes no arguments, "me" is one`},
		{"words behind version", "version 2", `usage: bobbin version takes no arguments, "2" is one`},
		{
			"logs of nothing", "logs",
			"usage: bobbin logs needs one application id, such as application_1700000000000_0001; bobbin applications lists them",
		},
		{
			"an id that is none", "kill 17",
			`usage: "17" is no application id, such as application_1700000000000_0001; bobbin applications lists them`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, stdout, stderr := command(t, nil, strings.Fields(c.line)...)
			if diff := cmp.Diff("bobbin: "+c.want+"\n", stderr); diff != "" {
				t.Errorf("stderr (-want +got):\n%s", diff)
			}
			if code != ExitFailed || stdout != "" {
				t.Errorf("exit code %d, stdout %q", code, stdout)
			}
		})
	}
}

// TestProgramsThatCannotBeStartedAreNamed would catch Go's "fork/exec" in front of
// people, and a local run that takes a program from the path that a run on YARN
// does not.
func TestProgramsThatCannotBeStartedAreNamed(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for name, file := range map[string]struct {
		content string
		mode    os.FileMode
	}{"data": {"x", 0o600}, "job": {"\x7fELF of somewhere else", 0o700}} {
		if err := os.WriteFile(name, []byte(file.content), file.mode); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		"true":   "program true: no such file or directory in this directory: name its file with the path",
		"./none": "program ./none: no such file or directory: build it, or correct the path",
		dir:      "program " + dir + " is a directory: name the program's executable file",
		"./data": "program ./data is not executable: build it with go build, or chmod +x",
		"job":    "program job: built for another platform than " + runtime.GOOS + "/" + runtime.GOARCH,
	} {
		code, _, stderr := command(t, nil, "run", "-t", "local", name)
		if diff := cmp.Diff("bobbin: "+want+"\n", stderr); diff != "" || code != ExitFailed {
			t.Errorf("%s: exit code %d (-want +got):\n%s", name, code, diff)
		}
	}
}

// TestFaultsOfFilesNameThem would catch a fault in somebody's configuration that
// nobody can find.
func TestFaultsOfFilesNameThem(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"bobbin.yaml":   "parallelism.default: 2\ntaskmanager:\n  numberOfTaskSlots: many\n",
		"core-site.xml": "<configuration>\n<property>\n<name>a</name>\n</configuration>\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, _, stderr := command(t, map[string]string{"BOBBIN_CONF_DIR": dir}, "run", "./job")
	want := "bobbin: " + filepath.Join(dir, "bobbin.yaml") + `:3: option taskmanager.numberOfTaskSlots: "many" is not a whole number: invalid configuration` + "\n"
	if diff := cmp.Diff(want, stderr); diff != "" {
		t.Errorf("bobbin.yaml (-want +got):\n%s", diff)
	}
	_, _, stderr = command(t, map[string]string{"HADOOP_CONF_DIR": dir}, "applications")
	want = "bobbin: read Hadoop configuration: " + filepath.Join(dir, "core-site.xml") + ":4: element <property> closed by </configuration>\n"
	if diff := cmp.Diff(want, stderr); diff != "" {
		t.Errorf("core-site.xml (-want +got):\n%s", diff)
	}
	_, _, stderr = command(t, map[string]string{"BOBBIN_CONF_DIR": filepath.Join(dir, "none")}, "run", "./job")
	if !strings.Contains(stderr, filepath.Join(dir, "none", "bobbin.yaml")) || strings.Count(stderr, "\n") != 1 {
		t.Errorf("a directory that is named and not there gives %q", stderr)
	}
}

// TestJSONIsToldOfFailures would catch a script that reads nothing where a
// command fails early.
func TestJSONIsToldOfFailures(t *testing.T) {
	for _, line := range []string{"run -o json", "run -o json -p x ./job", "run -o json -t yarn-per-job ./job", "run -o json -t local /nowhere/job"} {
		code, stdout, stderr := command(t, nil, strings.Fields(line)...)
		var told struct {
			Error string
			Steps []any
		}
		decoder := json.NewDecoder(strings.NewReader(stdout))
		if err := decoder.Decode(&told); err != nil || decoder.More() {
			t.Errorf("%s: stdout is not one JSON object: %q", line, stdout)
		}
		if code != ExitFailed || told.Error == "" || "bobbin: "+told.Error+"\n" != stderr {
			t.Errorf("%s: exit code %d, error %q, stderr %q", line, code, told.Error, stderr)
		}
	}
}

// TestHelpNamesEveryCommand would catch a command or flag that nobody can find.
func TestHelpNamesEveryCommand(t *testing.T) {
	for _, c := range []struct {
		lines []string
		want  []string
	}{
		{[]string{"", "-h", "--help", "help"}, []string{"run ", "applications ", "logs ", "kill ", "doctor ", "version "}},
		{[]string{"run --help", "help run", "run -h ./job"}, []string{"PROGRAM", "-t TARGET", "--detached", "130 after Ctrl-C"}},
		{[]string{"logs --help"}, []string{"APPLICATION", "--container ID", "--file NAME"}},
		{[]string{"kill --help"}, []string{"APPLICATION", "staged"}},
		{[]string{"applications --help"}, []string{"--all", "--output FORMAT"}},
		{[]string{"doctor --help"}, []string{"--keytab FILE", "--queue QUEUE", "--output FORMAT", "Nothing is submitted", "otherwise 1"}},
		{[]string{"version --help"}, []string{"print the version"}},
	} {
		for _, line := range c.lines {
			code, stdout, stderr := command(t, nil, strings.Fields(line)...)
			if code != ExitOK || stderr != "" {
				t.Errorf("bobbin %s: exit code %d, stderr %q", line, code, stderr)
			}
			for _, want := range c.want {
				if !strings.Contains(stdout, want) {
					t.Errorf("bobbin %s does not name %q:\n%s", line, want, stdout)
				}
			}
		}
	}
}

// TestVersionIsOneLine would catch a version that scripts cannot cut out.
func TestVersionIsOneLine(t *testing.T) {
	for _, line := range []string{"version", "--version"} {
		code, stdout, _ := command(t, nil, line)
		if code != ExitOK || !strings.HasPrefix(stdout, "bobbin 1.2.3 (protocol 1, go") || strings.Count(stdout, "\n") != 1 {
			t.Errorf("bobbin %s: exit code %d, %q", line, code, stdout)
		}
	}
}
