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
	"github.com/bobbin-yarn/bobbin/internal/version"
)

// command runs a command line in an environment, and returns its exit code and output. Tests that use it cannot run in
// parallel: the library of the command line keeps the flag for help in a global variable.
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
	temporary := t.TempDir() // no session file is there
	return Process{
		Args: words, Stdin: input, Stdout: out, Stderr: errs, Executable: executable, Version: "1.2.3", Start: time.Now(),
		Build: version.Build{Commit: "0123456789abcdef", Date: "2026-11-21T10:00:00Z"},
		Getenv: func(name string) string {
			if value, set := env[name]; set || name != "TMPDIR" {
				return value
			}
			return temporary
		},
	}
}

// codeOf is the exit code of an error.
func codeOf(text string) int {
	if strings.HasPrefix(text, "usage: ") || strings.HasSuffix(text, "invalid configuration") {
		return ExitUsage
	}
	return ExitFailed
}

// TestBadCommandLinesGetOneLine would catch help texts and Go's own errors instead of one line that names the
// wrong word and the remedy.
func TestBadCommandLinesGetOneLine(t *testing.T) {
	for _, c := range []struct{ name, line, want string }{
		{"a command misspelt", "rnu ./job", `usage: unknown command "rnu": did you mean run?`},
		{"a flag before the command", "-t local run ./job", "usage: -t stands before the command: write bobbin COMMAND -t, see bobbin --help"},
		{"help on a command that is none", "help rnu", `usage: unknown command "rnu": did you mean run?`},
		{"a command of Flink's that there is not yet", "savepoint 00000000000000000000000000000000", "usage: bobbin savepoint: savepoints are not supported yet"},
		{"no program", "run -t yarn-per-job", "usage: bobbin run needs a program: bobbin run -t yarn-per-job ./program [arguments]"},
		{"a flag misspelt", "run --paralelism 4 ./job", "usage: unknown flag --paralelism: did you mean --parallelism? See --help"},
		{
			"a program taken for a value", "run -p ./job --input x",
			`usage: unknown flag --input after "-p ./job": see --help`,
		},
		{"a flag without its value", "run -p", "usage: flag -p needs a value"},
		{"a switch with a value", "run -d=maybe ./job", `usage: invalid boolean value "maybe" for -d: parse error`},
		{"a number that is none", "run -p x ./job", `--parallelism: option parallelism.default: "x" is not a whole number: invalid configuration`},
		{"too small a number", "run -s 0 ./job", "--slots: option taskmanager.numberOfTaskSlots: 0 is out of range, want at least 1: invalid configuration"},
		{
			"a size in no unit", "run -tm 12q ./job",
			`--taskManagerMemory: option taskmanager.memory.process.size: "12q" has an unknown unit, want b, k, m, g or t: invalid configuration`,
		},
		{"a number that is none, beside its flag", "run -p2x ./job", `--parallelism: option parallelism.default: "2x" is not a whole number: invalid configuration`},
		{
			"flags of a cluster, and none is started", "run -t local -d -tm 4g ./job",
			"usage: -d, -tm have no effect with -t local, which runs jobs in the program's own process: leave them out, or name a target such as -t yarn-per-job",
		},
		{
			"the same, where no target is named", "run -s 2 ./job",
			"usage: -s has no effect with -t local (no target is named), which runs jobs in the program's own process: leave it out, or name a target such as -t yarn-per-job",
		},
		{
			"an application, where one is started", "run -t yarn-per-job -id application_1_0001 ./job",
			"usage: -id has no effect with -t yarn-per-job, which starts a cluster of its own: leave it out, or use -t yarn-session",
		},
		{
			"an address, where one is started", "run -t yarn-application -m host:1 ./job",
			"usage: -m has no effect with -t yarn-application, which starts a cluster of its own: leave it out, or use -t yarn-session",
		},
		{
			"flags of a cluster, and one runs", "run -t yarn-session -id application_1_0001 -yjm 1g --queue small ./job",
			"usage: -jm, -qu have no effect with -t yarn-session, which runs jobs in a cluster that runs already: leave them out, or give them to bobbin session start",
		},
		{
			"flags of a session that is not started", "session start -id application_1_0001 -jm 1g -nm nightly",
			"usage: -jm, -nm have no effect with -id, which starts no session: leave them out",
		},
		{"the same of a look at YARN", "session start -q -s 2", "usage: -s has no effect with -q, which starts no session: leave it out"},
		{"a look at YARN that cannot be left", "session start -q -d", "usage: -d has no effect with -q, which starts no session: leave it out"},
		{"a look at YARN, and a session", "session start -q -id application_1_0001", "usage: -id has no effect with -q, which starts no session: leave it out"},
		{"an application named twice", "list -m host:1 -id application_1_0001", "usage: -m host:1 and -id application_1_0001 both name an application: leave one of them out"},
		{"an application named twice, to run there", "run -m host:1 -id application_1_0001 ./job", "usage: -m host:1 and -id application_1_0001 both name an application: leave one of them out"},
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
		{"words behind session start", "session start now", `usage: bobbin session start takes no arguments: leave out "now"`},
		{"an option that is written down and cannot be", "session start -D yarn.tags=a@@b", `usage: option yarn.tags holds "@@", which the session file cannot hold: set it in conf/bobbin.yaml`},
		{"a job of no id", "cancel", "usage: bobbin cancel needs one job id; bobbin list shows them"},
		{"a job's id that is none", "stop 17", `usage: "17" is no job id: a job id has 32 hex digits; bobbin list prints the ids of running jobs`},
		{"a savepoint", "cancel -s 00000000000000000000000000000000", "usage: savepoints are not supported yet: cancel the job without -s"},
		{"an application of nothing", "run-application -d", "usage: bobbin run-application needs a program: bobbin run-application hdfs:///programs/wordcount [arguments]"},
		{
			"an application elsewhere", "run-application -t yarn-session ./job",
			"usage: bobbin run-application always uses -t yarn-application: for -t yarn-session use bobbin run",
		},
		{"an application of nothing, as Flink wants it", "run-application -t yarn-application", "usage: bobbin run-application needs a program: bobbin run-application hdfs:///programs/wordcount [arguments]"},
		{"info of nothing", "info", "usage: bobbin info needs a program: bobbin info ./program [arguments]"},
		{"an application for a job", "cancel application_1_0001", "usage: application_1_0001 is an application, not a job: bobbin list -id application_1_0001 shows its jobs, bobbin kill application_1_0001 ends it with all of them"},
		{"an application behind list", "list application_1_0001", "usage: bobbin list takes no arguments: name the application with -id application_1_0001"},
		{"words behind list", "list all", `usage: bobbin list takes no arguments: leave out "all"`},
		{"words behind applications", "applications all", `usage: bobbin applications takes no arguments: leave out "all"`},
		{"words behind doctor", "doctor me", `usage: bobbin doctor takes no arguments: leave out "me"`},
		{"a job's id in upper case", "cancel 5F0C4A1E6B7D4C3F8A9B0C1D2E3F4A5B", "usage: the digits of a job id are in lower case: write 5f0c4a1e6b7d4c3f8a9b0c1d2e3f4a5b"},
		{"words behind the version", "--version foo", `usage: bobbin version takes no arguments: leave out "foo"`},
		{"words behind version", "version 2", `usage: bobbin version takes no arguments: leave out "2"`},
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
			if code != codeOf(c.want) || stdout != "" {
				t.Errorf("exit code %d, want %d; stdout %q", code, codeOf(c.want), stdout)
			}
		})
	}
}

// TestProgramsThatCannotBeStartedAreNamed would catch an error with Go's "fork/exec", a local run that searches
// PATH for a program, which a run on YARN does not, and a local run of any executable file.
func TestProgramsThatCannotBeStartedAreNamed(t *testing.T) {
	const wanted = "a program is one executable file, which go build makes from a main that calls bobbin.Main"
	dir := t.TempDir()
	t.Chdir(dir)
	for name, file := range map[string]struct {
		content string
		mode    os.FileMode
	}{
		"data": {"\x00", 0o600}, "job": {"\x7fELF of somewhere else", 0o700}, "script": {"#!/bin/sh\nls\n", 0o700},
		"words": {"a text", 0o600}, "job.jar": {"PK\x03\x04\x14\x00", 0o600},
	} {
		if err := os.WriteFile(name, []byte(file.content), file.mode); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		"true":   "program true: no such file or directory in this directory, and bobbin does not search PATH; give the path of the file",
		"./none": "program ./none: no such file or directory: build it, or correct the path",
		dir:      "program " + dir + " is a directory: name the program's executable file",
		"./data": "program ./data is not executable: build it with go build, or run chmod +x",
		"job":    "program job: built for another platform than " + runtime.GOOS + "/" + runtime.GOARCH,
		// The other commands refuse the program in the same words as info.
		"/bin/ls":   "program /bin/ls: not built with the Bobbin SDK: its main must call bobbin.Main",
		"./script":  "program ./script: not a program: it is a text file; " + wanted,
		"./words":   "program ./words: not a program: it is a text file; " + wanted,
		"./job.jar": "program ./job.jar: not a program: it is a jar or another archive, and Bobbin has no JVM; " + wanted,
	} {
		code, _, stderr := command(t, nil, "run", "-t", "local", name)
		if diff := cmp.Diff("bobbin: "+want+"\n", stderr); diff != "" || code != ExitFailed {
			t.Errorf("%s: exit code %d (-want +got):\n%s", name, code, diff)
		}
		if name == "job" {
			continue // info plans for the cluster, and names its platform
		}
		if _, _, stderr := command(t, nil, "info", name); stderr != "bobbin: "+want+"\n" {
			t.Errorf("info %s: %q", name, stderr)
		}
	}
	for _, line := range []string{"run -t local", "info", "run-application"} { // an empty variable of a script
		code, _, stderr := command(t, nil, append(strings.Fields(line), "")...)
		if code != ExitUsage || !strings.Contains(stderr, "needs a program") {
			t.Errorf("%s '': exit code %d, %q", line, code, stderr)
		}
	}
	const want = "bobbin: program /none/job: no such file or directory: build it, or correct the path; for a file on HDFS write hdfs:///none/job\n"
	if code, _, stderr := command(t, nil, "run-application", "/none/job"); code != ExitFailed || stderr != want {
		t.Errorf("a path of the cluster: exit code %d, %q", code, stderr)
	}
}

// TestARunWithoutATargetSaysWhereItRuns would catch a user who looks for a job on the cluster while it runs on
// this machine, and a message each time for a user who has asked for that.
func TestARunWithoutATargetSaysWhereItRuns(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("job", []byte(fmt.Sprintf("#!/bin/sh\n# <bobbin sdk protocol version=%d>\necho mine\n", jobgraph.ProtocolVersion)), 0o700); err != nil {
		t.Fatal(err)
	}
	const told = "No target is named, and no session is known. The program's jobs run here, in its own process (-t local). To run them on the cluster: -t yarn-per-job\n"
	for line, want := range map[string]string{"run ./job": told, "run -t local ./job": "", "run -D execution.target=local ./job": ""} {
		if code, stdout, stderr := command(t, nil, strings.Fields(line)...); code != ExitOK || stdout != "mine\n" || stderr != want {
			t.Errorf("%s: exit code %d, stdout %q, stderr %q", line, code, stdout, stderr)
		}
	}
}

// TestFaultsOfFilesNameThem would catch a fault in a configuration file that is not named.
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

// TestFlinksConfigurationIsRead would catch that a configuration directory of Flink is ignored, or overrides
// ours, and that options without meaning are reported to everyone or to nobody.
func TestFlinksConfigurationIsRead(t *testing.T) {
	dir, own := t.TempDir(), t.TempDir()
	for path, text := range map[string]string{
		filepath.Join(dir, "config.yaml"): "env.java.opts.all: -Xss1m\ntaskmanager:\n  numberOfTaskSlots: 3\n" +
			"high-availability:\n  type: zookeeper\n  cluster-id: one\nexecution.checkpointing.interval: 10s\nstate.backend.type: rocksdb\nsecurity.ssl.rest.keystore: /etc/flink.jks\n",
		filepath.Join(own, "bobbin.yaml"): "taskmanager.numberOfTaskSlots: 5\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	later := filepath.Join(dir, "config.yaml") + ": security.ssl.rest.keystore is not used: " + config.Keystore("security.ssl.rest.keystore") + "\n" +
		filepath.Join(dir, "config.yaml") + ": not supported yet: high-availability.type, execution.checkpointing.interval, state.backend.type\n"
	for _, c := range []struct {
		name  string
		env   map[string]string
		level string
		slots int
		says  string
	}{
		{"Flink's", map[string]string{"FLINK_CONF_DIR": dir}, "info", 3, later},
		{"Flink's, for who wants to know little", map[string]string{"FLINK_CONF_DIR": dir}, "warn", 3, ""},
		{"Flink's, for who looks closer", map[string]string{"FLINK_CONF_DIR": dir}, "debug", 3, later + filepath.Join(dir, "config.yaml") + ": not used by Bobbin: env.java.opts.all, security.ssl.rest.keystore\n"},
		{"both", map[string]string{"FLINK_CONF_DIR": dir, "BOBBIN_CONF_DIR": own}, "debug", 5, ""},
	} {
		var errs bytes.Buffer
		cfg, err := process(t, c.env, nil, io.Discard, &errs).call(nil).options(config.Layer{Values: map[string]string{"logging.level": c.level}})
		says, _, _ := strings.Cut(errs.String(), `level=debug msg="client starts"`)
		if err != nil || cfg.Int(config.TaskSlots) != c.slots || says != c.says {
			t.Errorf("%s: %v, %d slots, stderr %q", c.name, err, cfg.Int(config.TaskSlots), errs.String())
		}
	}
}

// TestJSONIsToldOfFailures would catch a script that gets no JSON if a command fails early.
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
		if code != codeOf(told.Error) || told.Error == "" || "bobbin: "+told.Error+"\n" != stderr {
			t.Errorf("%s: exit code %d, error %q, stderr %q", line, code, told.Error, stderr)
		}
	}
}

// TestHelpNamesEveryCommand would catch a command or flag that no help names.
func TestHelpNamesEveryCommand(t *testing.T) {
	for _, c := range []struct {
		lines []string
		want  []string
	}{
		{[]string{"", "-h", "--help", "help"}, []string{"run ", "info ", "list ", "cancel ", "stop ", "status ", "session ", "applications ", "logs ", "kill ", "doctor ", "version "}},
		{[]string{"run-application --help"}, []string{"PROGRAM", "hdfs:///programs/wordcount", "--detached", "-jm, --jobManagerMemory SIZE"}},
		{[]string{"run --help", "help run", "run -h ./job"}, []string{"PROGRAM", "-t, --target TARGET", "--detached", "130 after Ctrl-C"}},
		{[]string{"session", "session --help", "help session"}, []string{"start", "attach", "stop", "query"}},
		{[]string{"session start --help", "help session start"}, []string{"--detached", "-jm, --jobManagerMemory SIZE", "yarn.properties-file.location", "bobbin session start -d"}},
		{[]string{"session attach --help", "session stop --help", "status --help"}, []string{"-m, --jobmanager HOST:PORT", "--applicationId APPLICATION"}},
		{[]string{"list --help"}, []string{"--running", "--scheduled", "--all", "-m, --jobmanager HOST:PORT"}},
		{[]string{"cancel --help", "stop --help"}, []string{"JOB", "-m, --jobmanager HOST:PORT"}},
		{[]string{"info --help"}, []string{"PROGRAM", "-p, --parallelism N", "-o json"}},
		{[]string{"logs --help"}, []string{"APPLICATION", "--container ID", "--file NAME"}},
		{[]string{"kill --help"}, []string{"APPLICATION", "staged"}},
		{[]string{"applications --help"}, []string{"--all", "--output FORMAT"}},
		{[]string{"doctor --help"}, []string{"--keytab FILE", "--queue QUEUE", "--output FORMAT", "submits nothing", "otherwise 1"}},
		{[]string{"version --help"}, []string{"print the version", "commit"}},
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

// TestVersionIsOneLine would catch a version that scripts cannot extract.
func TestVersionIsOneLine(t *testing.T) {
	for _, line := range []string{"version", "--version", "-v"} {
		code, stdout, _ := command(t, nil, line)
		if code != ExitOK || !strings.HasPrefix(stdout, fmt.Sprintf("bobbin 1.2.3 (protocol %d, go", jobgraph.ProtocolVersion)) || !strings.HasSuffix(stdout, ", commit 0123456789ab of 2026-11-21T10:00:00Z)\n") || strings.Count(stdout, "\n") != 1 {
			t.Errorf("bobbin %s: exit code %d, %q", line, code, stdout)
		}
	}
	_, want, _ := command(t, nil, "version", "-o", "json")
	if code, got, _ := command(t, nil, "--version", "-o", "json"); code != ExitOK || got != want || !strings.HasPrefix(got, "{") {
		t.Errorf("for scripts: exit code %d, %q, want %q", code, got, want)
	}
}
