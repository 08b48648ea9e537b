package bobbintest

import (
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
	"github.com/bobbin-yarn/bobbin/internal/control"
)

// If a container were taken for another application's, tests would kill processes of others, or
// overlook processes that remain.
func TestContainersAreFoundByTheirApplication(t *testing.T) {
	t.Parallel()
	const application = "application_1700000000000_0012"
	for text, want := range map[string]string{
		"A=1\x00CONTAINER_ID=container_1700000000000_0012_01_000003\x00B=2":      "container_1700000000000_0012_01_000003",
		"CONTAINER_ID=container_e17_1700000000000_0012_01_000003":                "container_e17_1700000000000_0012_01_000003",
		"bash\x00/nm/container_1700000000000_0012_01_000001/launch_container.sh": "container_1700000000000_0012_01_000001",
		"CONTAINER_ID=container_1700000000000_00121_01_000003":                   "",
		"CONTAINER_ID=container_1700000000001_0012_01_000003":                    "",
		"bobbin\x00logs\x00application_1700000000000_0012":                       "",
		"": "",
	} {
		if got := containerOf([]byte(text), application); got != want {
			t.Errorf("%q: container %q, want %q", text, got, want)
		}
	}
}

// A killed process that its parent has not waited for must not count as a live job.
func TestProcessesThatHaveEndedAreNotAlive(t *testing.T) {
	t.Parallel()
	id := fmt.Sprintf("_1_%08d", os.Getpid()) // unique for each run of this test
	application := "application" + id
	cmd := exec.CommandContext(t.Context(), "sleep", "1000")
	cmd.Env = []string{"CONTAINER_ID=container" + id + "_01_000002"}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	wait.For(t, "the process is found", func() (bool, error) {
		found := Processes(t, application)
		return len(found) == 1 && found[0].PID == cmd.Process.Pid && found[0].Role == Other, nil
	})
	Processes(t, application)[0].Kill(t)
	WaitNoProcesses(t, application) // it is a zombie until Wait
	if err := cmd.Wait(); err == nil {
		t.Error("the process has ended by itself")
	}
}

// If a program were not recognized, tests would kill the wrong process or none. In a session the
// program's file has another name than elsewhere.
func TestProcessesAreKnownByTheirRoles(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		command, environ string
		want             Role
	}{
		"a master":                  {"./bobbin\x00appmaster", "A=1", ApplicationMaster},
		"a worker":                  {"/x/bobbin\x00taskexecutor", "", TaskExecutor},
		"a program of a session":    {"/x/5a-tally\x00", "A=1\x00" + control.Variable + "=" + control.Value(control.RoleTaskHost, control.ChildFD), TaskHost},
		"a program beside a master": {"/x/program\x00a", control.Variable + "=" + control.Value(control.RoleDriver, control.ChildFD), Driver},
		"YARN's shell":              {"bash\x00-c\x00./bobbin", "A=1", Other},
	} {
		if got := roleOf([]byte(c.command), []byte(c.environ)); got != c.want {
			t.Errorf("%s is %s, want %s", name, got, c.want)
		}
	}
}
