package appmaster

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/testing/processtest"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
)

// asMaster makes this test binary an ApplicationMaster.
const asMaster = "BOBBIN_TEST_MASTER"

// TestSignalsEndAMaster starts an ApplicationMaster as a process. It would catch a signal that is not obeyed or not
// logged, another exit code than that of an unknown end, first lines that are missing, and a secret in them.
func TestSignalsEndAMaster(t *testing.T) {
	t.Parallel()
	for name, signal := range map[string]syscall.Signal{"SIGTERM": syscall.SIGTERM, "SIGINT": syscall.SIGINT, "SIGHUP": syscall.SIGHUP} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			tokens := filepath.Join(dir, "container_tokens")
			held := creds.New()
			held.Tokens[""] = &creds.Token{Kind: creds.KindAMRM, Identifier: []byte{1}, Password: []byte("hunter2")}
			staged := filepath.Join(dir, launch.StagedFile)
			if err := errors.Join(os.WriteFile(tokens, held.Marshal(), 0o600), os.WriteFile(staged, []byte("{}"), 0o600)); err != nil {
				t.Fatal(err)
			}
			encoded, err := launch.Encode(launch.AppMaster{
				Mode: launch.Session, StagingDir: "file://" + dir, User: "alice", Bobbin: launch.Resource{URI: "file://" + dir + "/bobbin"},
				HadoopConf: []byte("<configuration><property><name>yarn.resourcemanager.scheduler.address</name><value>127.0.0.1:1</value></property></configuration>"),
				Config:     map[string]string{"taskmanager.numberOfTaskSlots": "3", "containerized.master.env.KEY": "hunter2"},
			})
			if err != nil {
				t.Fatal(err)
			}
			master := exec.CommandContext(t.Context(), os.Args[0])
			master.Dir = dir
			master.Env = []string{
				asMaster + "=1", "CONTAINER_ID=" + testContainer, "NM_HOST=127.0.0.1", "LOG_DIRS=" + dir, "LOCAL_DIRS=/disk1,/disk2", "GOMEMLIMIT=256MiB",
				"KEY=hunter2", launch.TokenFileVariable + "=" + tokens, launch.Variable + "=" + encoded,
			}
			processtest.Start(t, master)
			log := filepath.Join(dir, "jobmanager.log")
			processtest.AwaitLog(t, log, "of=TaskExecutor")
			processtest.EndBySignal(t, master, signal, exitUnknown)
			content, err := os.ReadFile(log)
			if err != nil {
				t.Fatal(err)
			}
			text := string(content)
			processtest.CheckLog(t, text,
				"ApplicationMaster starts", "user=alice", "container="+testContainer, "attempt=1", `gomemlimit="256 MB"`, `local="/disk1,/disk2"`,
				"of=ApplicationMaster", "of=TaskExecutor", "name=taskmanager.numberOfTaskSlots", "signal="+name, "application master is stopped")
			if strings.Contains(text, "hunter2") {
				t.Errorf("the log has a secret:\n%s", text)
			}
		})
	}
}
