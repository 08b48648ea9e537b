package cli

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/urfave/cli/v2"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// parsed is what the flags of a command say, without running the command.
func parsed(t *testing.T, line string) (c *cli.Context) {
	t.Helper()
	unbound := Process{}.bind
	app := &cli.App{Commands: []*cli.Command{runCommand(unbound), runApplicationCommand(unbound), sessionCommand(unbound)}, DisableSliceFlagSeparator: true}
	take := func(at *cli.Context) error {
		c = at
		return nil
	}
	for _, command := range app.Commands {
		command.Action = take
		for _, below := range command.Subcommands {
			below.Action = take
		}
	}
	words, err := arrange(app.Commands, strings.Fields(line))
	if err == nil {
		err = app.Run(append([]string{"bobbin"}, words...))
	}
	if err != nil || c == nil {
		t.Fatalf("%s: %v", line, err)
	}
	return c
}

// TestFlagsGiveTheirOptions would catch a flag of Flink that has no effect, or sets the wrong option.
func TestFlagsGiveTheirOptions(t *testing.T) {
	const values = "SHORTjm 1g SHORTtm 700 SHORTs 3 SHORTnm nightly SHORTqu small SHORTat batch SHORTnl gpu SHORTt lib SHORTt conf/a,b SHORTj other SHORTz one"
	long := strings.NewReplacer(
		"SHORTjm", "LONGjobManagerMemory", "SHORTtm", "LONGtaskManagerMemory", "SHORTs", "LONGslots", "SHORTnm", "LONGname", "SHORTqu", "LONGqueue",
		"SHORTat", "LONGapplicationType", "SHORTnl", "LONGnodeLabel", "SHORTt", "LONGship", "SHORTj", "LONGjar", "SHORTz", "LONGzookeeperNamespace",
	).Replace(values)
	want := map[string]string{
		"jobmanager.memory.process.size": "1g", "taskmanager.memory.process.size": "700m", "taskmanager.numberOfTaskSlots": "3",
		"yarn.application.name": "nightly", "yarn.application.queue": "small", "yarn.application.type": "batch",
		"yarn.application.node-label": "gpu", "yarn.ship-files": "lib;conf/a,b", "yarn.flink-dist-jar": "other", "high-availability.cluster-id": "one",
	}
	for name, line := range map[string]string{
		"yarn-session.sh, short":    "session start " + strings.ReplaceAll(values, "SHORT", "-"),
		"yarn-session.sh, long":     "session start " + strings.ReplaceAll(long, "LONG", "--"),
		"flink run, short":          "run " + strings.ReplaceAll(values, "SHORT", "-y") + " ./job",
		"flink run, long":           "run " + strings.ReplaceAll(long, "LONG", "--yarn") + " ./job",
		"run, long":                 "run " + strings.ReplaceAll(long, "LONG", "--") + " ./job",
		"run-application, prefixed": "run-application " + strings.ReplaceAll(values, "SHORT", "-y") + " ./job",
	} {
		c := parsed(t, line)
		got := make(map[string]string)
		for _, layer := range flagLayers(c, deploymentFlags()...) {
			maps.Copy(got, layer.Values)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if len(want) != len(deploymentFlags()) {
			t.Error("a flag is not tested")
		}
	}
}

// TestRunTakesFlinksFlags would catch a flag of run that has another meaning than in Flink.
func TestRunTakesFlinksFlags(t *testing.T) {
	for _, c := range []struct {
		line string
		key  config.Key
		want string
	}{
		{"run -t yarn-session ./job", config.ExecutionTarget, "yarn-session"},
		{"run --target=yarn-application ./job", config.ExecutionTarget, "yarn-application"},
		{"run -m yarn-cluster ./job", config.ExecutionTarget, "yarn-per-job"},
		{"run -m yarn-cluster -t yarn-application ./job", config.ExecutionTarget, "yarn-application"},
		{"run -m yarn-cluster -yid application_1_0001 ./job", config.ExecutionTarget, "yarn-session"},
		{"run -m yarn-cluster -D yarn.application.id=application_1_0001 ./job", config.ExecutionTarget, "yarn-session"},
		{"run -m yarn-cluster -t yarn-per-job -yid application_1_0001 ./job", config.ExecutionTarget, "yarn-per-job"},
		{"run -m host:1 ./job", config.ExecutionTarget, "yarn-session"},
		{"run -t remote -m host:1 ./job", config.ExecutionTarget, "yarn-session"},
		{"run -t remote -m host:1 -D rest.access-file=some ./job", config.ExecutionTarget, "remote"},
		{"run -t remote -m yarn-cluster ./job", config.ExecutionTarget, "remote"},
		{"run -p 7 ./job", config.ParallelismDefault, "7"},
		{"run -d ./job", config.ExecutionAttached, "false"},
		{"run -yd ./job", config.ExecutionAttached, "false"},
		{"run -sae ./job", config.ShutdownOnAttachedExit, "true"},
		{"run -yid application_1_0001 ./job", config.YarnApplicationID, "application_1_0001"},
		{"run -yDparallelism.default=3 ./job", config.ParallelismDefault, "3"},
		{"run -s 2 ./job", config.TaskSlots, "2"},
	} {
		cfg, err := process(t, nil, nil, nil, nil).call(parsed(t, c.line)).runOptions()
		if got := cfg.Set()[c.key.Name()]; err != nil || got != c.want {
			t.Errorf("%s: %s is %q: %v", c.line, c.key.Name(), got, err)
		}
	}
}

// TestAnApplicationGoesOnWithoutItsClient would catch that -sae of a Flink script is refused, or accepted
// without saying that it has no effect.
func TestAnApplicationGoesOnWithoutItsClient(t *testing.T) {
	const told = "execution.shutdown-on-attached-exit has no effect: this command returns before the first job starts\n"
	for _, line := range []string{"run-application -sae ./none", "run -t yarn-application -sae ./none"} {
		if _, _, stderr := command(t, nil, strings.Fields(line)...); stderr != told+"bobbin: program ./none: no such file or directory: build it, or correct the path\n" {
			t.Errorf("%s: stderr %q", line, stderr)
		}
	}
	const detached = "execution.shutdown-on-attached-exit has no effect with -d: this command does not follow the job\n"
	for line, want := range map[string]bool{
		"run -t yarn-per-job -d -sae ./job": true, "run -t yarn-session -d -sae -id application_1_0001 ./job": true,
		"run -t yarn-per-job -sae ./job": false, "run -t yarn-per-job -d ./job": false,
	} {
		if _, _, stderr := command(t, nil, strings.Fields(line)...); strings.HasPrefix(stderr, detached) != want {
			t.Errorf("%s: stderr %q", line, stderr)
		}
	}
	if _, _, stderr := command(t, nil, "run-application", "./none"); strings.Contains(stderr, told) {
		t.Errorf("without the flag: stderr %q", stderr)
	}
}

// TestFlinksOtherFlagsAreExplained would catch that bobbin suggests another flag, instead of saying why it does
// not have this one.
func TestFlinksOtherFlagsAreExplained(t *testing.T) {
	for line, want := range map[string]string{
		"run -c org.example.Main ./job":                          "flag -c of Flink is for JVM programs, and a Bobbin program is one executable file: leave the flag out",
		"run -j job.jar":                                         "flag -j of Flink is for JVM programs, and a Bobbin program is one executable file: leave the flag out",
		"run -py job.py":                                         "flag -py of Flink is for Python programs, and a Bobbin program is one executable file: leave the flag out",
		"run --fromSavepoint hdfs:///saved ./job":                "flag --fromSavepoint of Flink is about savepoints, which are not supported yet: leave the flag out",
		"run -s hdfs:///saved ./job":                             "-s hdfs:///saved: savepoints are not supported yet; here -s is the number of slots",
		"run-application -s /saved ./job":                        "-s /saved: savepoints are not supported yet; here -s is the number of slots",
		"run-application -cm claim hdfs:///job":                  "flag -cm of Flink is about savepoints, which are not supported yet: leave the flag out",
		"run -e yarn-per-job ./job":                              "flag -e of Flink is an old name for -t: use -t",
		"run -t yarn-session -a input ./wordcount":               "flag -a of Flink is not needed: write the program's arguments after the program",
		"run -C file:///lib.jar ./job":                           "flag -C of Flink is for JVM programs, and a Bobbin program is one executable file: leave the flag out",
		"run -n ./job":                                           "flag -n of Flink is about savepoints, which are not supported yet: leave the flag out",
		"run -rm claim ./job":                                    "flag -rm of Flink is about savepoints, which are not supported yet: leave the flag out",
		"run -v ./job":                                           "flag -v of Flink is not supported: -D logging.level=debug logs more, and bobbin --version prints the version",
		"run -yq":                                                "flag -yq of Flink prints the nodes and queues of YARN: use bobbin session query",
		"run --yarnquery":                                        "flag --yarnquery of Flink prints the nodes and queues of YARN: use bobbin session query",
		"cancel -type native " + string(runningJob):              "flag -type of Flink is about savepoints, which are not supported yet: leave the flag out",
		"savepoint -type native -detached " + string(runningJob): "bobbin savepoint: savepoints are not supported yet",
		"savepoint -d hdfs:///saved -j job.jar":                  "bobbin savepoint: savepoints are not supported yet",
		"checkpoint -full " + string(runningJob):                 "bobbin checkpoint: checkpoints are not supported yet",
	} {
		if code, _, stderr := command(t, nil, strings.Fields(line)...); code != ExitUsage || stderr != "bobbin: usage: "+want+"\n" {
			t.Errorf("%s: exit code %d, stderr %q", line, code, stderr)
		}
	}
}
