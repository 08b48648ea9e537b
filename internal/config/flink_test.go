package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFlinksFilesAreTakenAsTheyAre would catch a lost option of Flink's, an option only for a JVM
// that prevents bobbin from starting, and the use of the older file instead of the newer one.
func TestFlinksFilesAreTakenAsTheyAre(t *testing.T) {
	const yaml = `env:
  java:
    opts:
      all: --add-opens=java.base/java.lang=ALL-UNNAMED
jobmanager:
  bind-host: localhost
  memory:
    process:
      size: 1600m
taskmanager.numberOfTaskSlots: 4
yarn.tags: [nightly, batch]
containerized.master.env.A: b
execution.buffer-timeout.interval: 5 ms
external-resources: [gpu, fpga]
external-resource:
  gpu:
    amount: 2
    yarn:
      config-key: yarn.io/gpu
`
	const lines = `# comment
env.java.opts.all: --add-exports=a/b=ALL-UNNAMED
jobmanager.memory.process.size: 1600m # and more
taskmanager.numberOfTaskSlots:   4
containerized.master.env.A: http://host:1/
a line that is none
parallelism.default:
yarn.tags: nightly;batch
restart-strategy: fixeddelay
`
	for _, c := range []struct {
		name   string
		files  map[string]string
		values map[string]string
		others []string
		line   int // of the slots
	}{
		{
			"Flink 1.20",
			map[string]string{flinkFile: yaml, flinkLegacyFile: "parallelism.default: 7\n"},
			map[string]string{
				"jobmanager.memory.process.size": "1600m", "taskmanager.numberOfTaskSlots": "4", "yarn.tags": "nightly;batch", "containerized.master.env.A": "b",
				"execution.buffer-timeout": "5 ms",
				"external-resources":       "gpu;fpga", "external-resource.gpu.amount": "2", "external-resource.gpu.yarn.config-key": "yarn.io/gpu",
			},
			[]string{"env.java.opts.all", "jobmanager.bind-host"},
			10,
		},
		{
			"Flink 1.18",
			map[string]string{flinkLegacyFile: lines},
			map[string]string{
				"jobmanager.memory.process.size": "1600m", "taskmanager.numberOfTaskSlots": "4", "yarn.tags": "nightly;batch", "containerized.master.env.A": "http://host:1/",
				"restart-strategy.type": "fixeddelay",
			},
			[]string{"env.java.opts.all"},
			4,
		},
		{
			"Flink with ZooKeeper",
			map[string]string{flinkLegacyFile: "high-availability: ZooKeeper\nhigh-availability.storageDir: hdfs:///flink/ha\nhigh-availability.zookeeper.quorum: zk:2181\n"},
			map[string]string{}, // the directory is Flink's, and may be on S3
			[]string{"high-availability.type", "high-availability.zookeeper.quorum", "high-availability.storageDir"},
			0,
		},
		{
			"Flink with another directory for what outlives a JobManager",
			map[string]string{flinkFile: "high-availability.storageDir: hdfs:///flink/ha\n"},
			map[string]string{"high-availability.storageDir": "hdfs:///flink/ha"},
			nil,
			0,
		},
		{
			"Flink without high availability",
			map[string]string{flinkFile: "high-availability:\n  type: NONE\n"},
			map[string]string{"high-availability.type": "NONE"},
			nil,
			0,
		},
		{"an empty file", map[string]string{flinkFile: "# nothing\n"}, map[string]string{}, nil, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, content := range c.files {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			layer, others, err := ReadFlink(dir)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.values, layer.Values); diff != "" {
				t.Errorf("values (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.others, others); diff != "" {
				t.Errorf("others (-want +got):\n%s", diff)
			}
			if layer.Lines["taskmanager.numberOfTaskSlots"] != c.line {
				t.Errorf("slots stand in line %d, want %d", layer.Lines["taskmanager.numberOfTaskSlots"], c.line)
			}
			if _, err := New(layer); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestWhatIsToComeIsKnown would catch a user who relies on a part that is not supported yet, and a
// warning about each option of a JVM.
func TestWhatIsToComeIsKnown(t *testing.T) {
	for name, want := range map[string]bool{
		"high-availability.type": true, "high-availability.zookeeper.quorum": true, "execution.checkpointing.interval": true, "state.checkpoints.dir": true,
		"env.java.opts.all": false, "state-of-the-art": false, "taskmanager.memory.managed.size": false, "execution.runtime-mode": false,
	} {
		if got := Expected(name); got != want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestFaultsOfFlinksFilesNameThem would catch a job that silently runs with other options than its
// user has written.
func TestFaultsOfFlinksFilesNameThem(t *testing.T) {
	dir := t.TempDir()
	if _, _, err := ReadFlink(dir); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), flinkLegacyFile) {
		t.Errorf("a directory without either: %v", err)
	}
	for _, content := range []string{"a: [b", "a: [[b]]\n", "- a\n", strings.Repeat("#", maxFile+1)} {
		if err := os.WriteFile(filepath.Join(dir, flinkFile), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, err := ReadFlink(dir); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), filepath.Join(dir, flinkFile)) {
			t.Errorf("%.20q: %v", content, err)
		}
	}
}

// TestFlinksSpellingsAreTaken would catch a file that Flink accepts and bobbin refuses.
func TestFlinksSpellingsAreTaken(t *testing.T) {
	for name, spellings := range map[string][]string{
		"restart-strategy.type":          {"off=none", "Disable=none", "fixeddelay=fixed-delay", "failureRate=failure-rate", "exponentialdelay=exponential-delay"},
		"jobmanager.memory.process.size": {"1600 mebibytes=1600m", "1gb=1024m"},
		"heartbeat.timeout":              {"50000=50s", "1 min=60s"},
	} {
		for _, spelling := range spellings {
			text, same, _ := strings.Cut(spelling, "=")
			got, err := parse(name, text)
			want, second := parse(name, same)
			if diff := cmp.Diff(want, got); err != nil || second != nil || diff != "" {
				t.Errorf("%s: %s: %v, %v (-want +got):\n%s", name, text, err, second, diff)
			}
		}
	}
}
