package bobbintest

import (
	"os/exec"
	"testing"
	"time"
)

// A container taken for another application's would have tests kill what is not
// theirs, or find nothing left where something is.
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

// A process that was killed and not waited for is no sign that a job lives.
func TestProcessesThatHaveEndedAreNotAlive(t *testing.T) {
	t.Parallel()
	const application = "application_1_0001"
	cmd := exec.CommandContext(t.Context(), "sleep", "1000")
	cmd.Env = []string{"CONTAINER_ID=container_1_0001_01_000002"}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	within(t, time.Minute, "the process is found", func() (bool, error) {
		found := Processes(t, application)
		return len(found) == 1 && found[0].PID == cmd.Process.Pid && found[0].Role == Other, nil
	})
	Processes(t, application)[0].Kill(t)
	WaitNoProcesses(t, application) // it is a zombie until Wait
	if err := cmd.Wait(); err == nil {
		t.Error("the process has ended by itself")
	}
}
