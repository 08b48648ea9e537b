package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/config"
)

// command runs a command line in an environment and gives its exit code and
// what it printed.
func command(t *testing.T, env map[string]string, words ...string) (code int, stdout, stderr string) {
	t.Helper()
	return commandWith(t, env, strings.NewReader(""), words...)
}

// commandWith is command with an input.
func commandWith(t *testing.T, env map[string]string, input io.Reader, words ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = Run(t.Context(), process(t, env, input, &out, &errs, words...))
	return code, out.String(), errs.String()
}

// process is what a command needs.
func process(t *testing.T, env map[string]string, input io.Reader, out, errs io.Writer, words ...string) Process {
	t.Helper()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	temporary := t.TempDir() // nobody's session is written down there
	return Process{
		Args: words, Stdin: input, Stdout: out, Stderr: errs, Executable: executable, Version: "1.2.3", Start: time.Now(),
		Getenv: func(name string) string {
			if value, set := env[name]; set || name != "TMPDIR" {
				return value
			}
			return temporary
		},
	}
}

// TestBadCommandLinesGetOneLine would catch help texts and Go's own errors in
// place of one line that names the word and the way out.
func TestBadCommandLinesGetOneLine(t *testing.T) {
	for _, c := range []struct{ name, line, want string }{
		{"a command misspelt", "rnu ./job", `usage: unknown command "rnu": did you mean run?`},
		{"a flag before the command", "-t local run ./job", "usage: -t stands before the command: write bobbin COMMAND -t, see bobbin --help"},
		{"help on a command that is none", "help rnu", `usage: unknown command "rnu": did you mean run?`},
		{"a command of Flink's that there is not yet", "savepoint 00000000000000000000000000000000", "usage: bobbin savepoint: there are no savepoints yet"},
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
			`--target: option execution.target: "yarn" is none of local, remote, yarn-per-job, yarn-session, yarn-application: invalid configuration`,
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
		{"a command below another misspelt", "session stat", `usage: unknown command "session stat": did you mean session start?`},
		{"a command below another that is none", "session xyzzy", `usage: unknown command "session xyzzy": see bobbin session --help`},
		{"a flag below another misspelt", "session start --detachd", "usage: unknown flag --detachd: did you mean --detached? See --help"},
		{"words behind session start", "session start now", `usage: bobbin session start takes no arguments, "now" is one`},
		{"an option that is written down and cannot be", "session start -D yarn.tags=a@@b", `option yarn.tags holds "@@", which the file of properties cannot hold: give it in conf/bobbin.yaml`},
		{"a job of no id", "cancel", "usage: bobbin cancel needs one job id; bobbin list shows them"},
		{"a job's id that is none", "stop 17", `usage: "17" is no job id: it has 32 hex digits; bobbin list shows them`},
		{"a savepoint", "cancel -s 00000000000000000000000000000000", "there are no savepoints yet: cancel the job without -s"},
		{"an application of nothing", "run-application -d", "usage: bobbin run-application needs a program: bobbin run-application hdfs:///programs/wordcount [arguments]"},
		{
			"an application elsewhere", "run-application -t yarn-session ./job",
			"usage: bobbin run-application is -t yarn-application; bobbin run -t yarn-session has the other targets",
		},
		{"an application of nothing, as Flink wants it", "run-application -t yarn-application", "usage: bobbin run-application needs a program: bobbin run-application hdfs:///programs/wordcount [arguments]"},
		{"info of nothing", "info", "usage: bobbin info needs a program: bobbin info ./program [arguments]"},
		{"words behind list", "list all", `usage: bobbin list takes no arguments, "all" is one`},
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
	const want = "bobbin: program /none/job: no such file or directory: build it, or correct the path; one that is on the cluster is hdfs:///none/job\n"
	if code, _, stderr := command(t, nil, "run-application", "/none/job"); code != ExitFailed || stderr != want {
		t.Errorf("a path of the cluster: exit code %d, %q", code, stderr)
	}
}

// TestALocalProgramThatASignalEndsIsTold would catch a run that the kernel ends for its
// memory and whose user reads nothing at all, and what a program said, told twice.
func TestALocalProgramThatASignalEndsIsTold(t *testing.T) {
	for script, want := range map[string]string{
		"kill -9 $$":            "bobbin: program ./job: signal: killed\n",
		"echo mine >&2; exit 3": "mine\n",
	} {
		t.Chdir(t.TempDir())
		if err := os.WriteFile("job", []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		if code, _, stderr := command(t, nil, "run", "-t", "local", "./job"); code != ExitFailed || stderr != want {
			t.Errorf("%s: exit code %d, %q; want %q", script, code, stderr, want)
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

// TestFlinksConfigurationIsRead would catch a directory of Flink's that counts for nothing, or
// more than our own; and names that mean nothing here, told to everybody or to nobody.
func TestFlinksConfigurationIsRead(t *testing.T) {
	dir, own := t.TempDir(), t.TempDir()
	for path, text := range map[string]string{
		filepath.Join(dir, "config.yaml"): "env.java.opts.all: -Xss1m\ntaskmanager:\n  numberOfTaskSlots: 3\n" +
			"high-availability:\n  type: zookeeper\n  cluster-id: one\nexecution.checkpointing.interval: 10s\nstate.backend.type: rocksdb\n",
		filepath.Join(own, "bobbin.yaml"): "taskmanager.numberOfTaskSlots: 5\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	later := filepath.Join(dir, "config.yaml") + ": not yet: high-availability.type, execution.checkpointing.interval, state.backend.type\n"
	for _, c := range []struct {
		name  string
		env   map[string]string
		level string
		slots int
		says  string
	}{
		{"Flink's", map[string]string{"FLINK_CONF_DIR": dir}, "info", 3, later},
		{"Flink's, for who wants to know little", map[string]string{"FLINK_CONF_DIR": dir}, "warn", 3, ""},
		{"Flink's, for who looks closer", map[string]string{"FLINK_CONF_DIR": dir}, "debug", 3, later + filepath.Join(dir, "config.yaml") + ": not used here: env.java.opts.all\n"},
		{"both", map[string]string{"FLINK_CONF_DIR": dir, "BOBBIN_CONF_DIR": own}, "debug", 5, ""},
	} {
		var errs bytes.Buffer
		cfg, err := options(process(t, c.env, nil, io.Discard, &errs), config.Layer{Values: map[string]string{"logging.level": c.level}})
		if err != nil || cfg.Int(config.TaskSlots) != c.slots || errs.String() != c.says {
			t.Errorf("%s: %v, %d slots, stderr %q", c.name, err, cfg.Int(config.TaskSlots), errs.String())
		}
	}
}

// TestJSONIsToldOfFailures would catch a script that reads nothing where a
// command fails early.
func TestJSONIsToldOfFailures(t *testing.T) {
	for _, line := range []string{
		"run -o json", "run -o json -p x ./job", "run -o json -t yarn-per-job ./job", "run -o json -t local /nowhere/job",
		"run-application -o json", "run -o json --paralelism 3", "list -o json all", "status --output=json", "cancel -o json 17", "stop -o json 17", "kill -o json 17",
		"info -o json", "session stop -o json", "session access -o json", "session query -o json now", "session start -o json now", "session attach -o json now", "applications -o json", "gc -o json", "version -o json now",
	} {
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
		{[]string{"", "-h", "--help", "help"}, []string{"run ", "info ", "list ", "cancel ", "stop ", "status ", "session ", "applications ", "logs ", "kill ", "doctor ", "version "}},
		{[]string{"run-application --help"}, []string{"PROGRAM", "hdfs:///programs/wordcount", "--detached", "-jm SIZE"}},
		{[]string{"run --help", "help run", "run -h ./job"}, []string{"PROGRAM", "-t TARGET", "--detached", "130 after Ctrl-C"}},
		{[]string{"session", "session --help", "help session"}, []string{"start", "attach", "stop", "query"}},
		{[]string{"session start --help", "help session start"}, []string{"--detached", "-jm SIZE", "yarn.properties-file.location", "bobbin session start -d"}},
		{[]string{"session attach --help", "session stop --help", "status --help"}, []string{"-m HOST:PORT", "--applicationId APPLICATION"}},
		{[]string{"list --help"}, []string{"--running", "--scheduled", "--all", "-m HOST:PORT"}},
		{[]string{"cancel --help", "stop --help"}, []string{"JOB", "-m HOST:PORT"}},
		{[]string{"info --help"}, []string{"PROGRAM", "-p N", "-o json"}},
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
	for _, line := range []string{"version", "--version", "-v"} {
		code, stdout, _ := command(t, nil, line)
		if code != ExitOK || !strings.HasPrefix(stdout, fmt.Sprintf("bobbin 1.2.3 (protocol %d, go", jobgraph.ProtocolVersion)) || strings.Count(stdout, "\n") != 1 {
			t.Errorf("bobbin %s: exit code %d, %q", line, code, stdout)
		}
	}
}
