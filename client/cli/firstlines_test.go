package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// openSite returns the environment of a site without Kerberos, whose ResourceManager does not answer.
func openSite(t *testing.T) map[string]string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{
		"core-site.xml": "<configuration><property><name>fs.defaultFS</name><value>hdfs://127.0.0.1:1</value></property></configuration>",
		"yarn-site.xml": "<configuration><property><name>yarn.resourcemanager.address</name><value>127.0.0.1:1</value></property></configuration>",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return map[string]string{"HADOOP_CONF_DIR": dir, "HADOOP_USER_NAME": "alice", "TMPDIR": t.TempDir()}
}

// TestEachCommandSaysWhatRuns would catch a command whose debug log lacks the first lines, has them twice, lacks the
// options, or shows a secret among them. It would also catch a command that starts a cluster and does not say how the
// cluster's memory is divided, and one that does not say who the user is on the cluster.
func TestEachCommandSaysWhatRuns(t *testing.T) {
	const id = "application_1700000000000_0001"
	for words, want := range map[string]struct{ divides, reaches bool }{
		"run -t yarn-per-job missing-program":                  {divides: true},
		"run -t yarn-application missing-program":              {divides: true},
		"run -m yarn-cluster missing-program":                  {divides: true},
		"run missing-program":                                  {},
		"run-application missing-program":                      {divides: true},
		"info -t yarn-per-job missing-program":                 {divides: true},
		"info missing-program":                                 {},
		"info -id " + id + " 5f0c4a1e6b7d4c3f8a9b0c1d2e3f4a5b": {reaches: true},
		"list -id " + id:                                       {reaches: true},
		"kill " + id:                                           {reaches: true},
		"logs " + id:                                           {reaches: true},
		"applications":                                         {reaches: true},
		"gc":                                                   {reaches: true},
		"session start -d":                                     {divides: true, reaches: true},
		"session stop -id " + id:                               {reaches: true},
		"session query":                                        {reaches: true},
		"doctor":                                               {divides: true},
	} {
		t.Run(words, func(t *testing.T) {
			args := strings.Fields(words)
			at := 1
			if args[0] == "session" {
				at = 2
			}
			args = append(args[:at:at], append([]string{
				"-D", "logging.level=debug", "-D", "containerized.master.env.KEY=hunter2", "-D", "client.timeout=1ms",
			}, args[at:]...)...)
			_, _, stderr := command(t, openSite(t), args...)
			texts := map[string]bool{
				"client starts": true, "version=": true, "system_user=": true, "machine_cores=": true,
				"name=logging.level value=debug": true, "name=containerized.master.env.KEY": true, "hunter2": false,
				"of=ApplicationMaster": want.divides, "of=TaskExecutor": want.divides,
			}
			if want.reaches {
				texts[`msg="identity on the cluster" credentials=none user=alice`] = true
			}
			for text, there := range texts {
				most := 0
				if there {
					most = 1
				}
				if n := strings.Count(stderr, text); n != most {
					t.Errorf("%q is there %d times, want %d:\n%s", text, n, most, stderr)
				}
			}
		})
	}
	if _, _, stderr := command(t, nil, "info", "missing-program"); strings.Contains(stderr, "client starts") {
		t.Errorf("without debug:\n%s", stderr)
	}
}
