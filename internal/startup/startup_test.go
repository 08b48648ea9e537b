package startup_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/machine"
	"github.com/bobbin-yarn/bobbin/internal/memory"
	"github.com/bobbin-yarn/bobbin/internal/startup"
)

// lines returns what Log writes at a level, to a log of level info.
func lines(t *testing.T, level logrus.Level, options map[string]string) string {
	t.Helper()
	var out bytes.Buffer
	logger := logrus.New()
	logger.SetOutput(&out)
	logger.SetFormatter(&logrus.TextFormatter{DisableColors: true})
	worker, err := memory.WorkerOf(config.Config{})
	if err != nil {
		t.Fatal(err)
	}
	startup.Log(logger, level, startup.Process{
		Role: "TaskExecutor", Identity: startup.Identity{User: "alice", RealUser: "service", Principal: "alice@EXAMPLE.ORG", Credentials: startup.Keytab},
		Application: "application_1_0001", Container: "container_1_0001_01_000002", Node: "node1", Attempt: 2,
		ContainerMB: 1024, VCores: 3, WorkDir: "/work", LogDir: "/logs", LocalDirs: []string{"/disk1", "/disk2"},
		Machine: machine.Machine{Cores: 32, Memory: 64 * config.Gibibyte, GroupCores: 2.5, GroupMemory: 2 * config.Gibibyte},
		Options: options,
		Memory:  []startup.Division{{Of: "TaskExecutor", Total: worker.Process, Parts: worker.Parts()}},
	})
	return out.String()
}

// TestTheFirstLinesSayWhatRuns would catch a question about a log that its first lines do not answer.
func TestTheFirstLinesSayWhatRuns(t *testing.T) {
	t.Parallel()
	text := lines(t, logrus.InfoLevel, map[string]string{"taskmanager.numberOfTaskSlots": "2"})
	for _, want := range []string{
		"TaskExecutor starts", "version=", "go=go1", "platform=", "pid=", "user=alice", "system_user=", `principal=alice@EXAMPLE.ORG`, "real_user=service", "credentials=keytab",
		"app=application_1_0001", "attempt=2", "container=container_1_0001_01_000002", "node=node1", `memory="1024 MB"`, "vcores=3",
		"gomaxprocs=", "machine_cores=32", `machine_memory="65536 MB"`, "cgroup_cores=2.5", `cgroup_memory="2048 MB"`,
		"work=/work", "logs=/logs", `local="/disk1,/disk2"`,
		`of=TaskExecutor`, `framework_heap="32 MB"`, `task_heap="422 MB"`, "task_off-heap=0b", `managed="363 MB"`, `network="90 MB"`, `overhead="115 MB"`, `total="1024 MB"`,
		"name=taskmanager.numberOfTaskSlots", "value=2",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is not in:\n%s", want, text)
		}
	}
	if text := lines(t, logrus.DebugLevel, nil); text != "" {
		t.Errorf("lines of level debug are in a log of level info:\n%s", text)
	}
}

// TestNoSecretIsLogged would catch an option with a secret whose value is in the log, which everybody reads
// who may look at the application.
func TestNoSecretIsLogged(t *testing.T) {
	t.Parallel()
	const secret = "hunter2"
	options := map[string]string{"taskmanager.numberOfTaskSlots": "1"}
	for _, name := range []string{
		"containerized.master.env.S3", "containerized.taskmanager.env.AWS_ACCESS_KEY_ID", "flink.hadoop.fs.s3a.secret.key",
		"flink.hadoop.ssl.server.keystore.password", "flink.hadoop.fs.azure.account.key.x", "my.token", "some.Credentials", "x.api-key",
		"flink.yarn.http-headers",
	} {
		options[name] = secret
	}
	text := lines(t, logrus.InfoLevel, options)
	if strings.Contains(text, secret) {
		t.Errorf("a secret is in:\n%s", text)
	}
	if hidden := strings.Count(text, "value=\""+config.Hidden+"\""); hidden != len(options)-1 {
		t.Errorf("%d values are hidden, want %d:\n%s", hidden, len(options)-1, text)
	}
}
