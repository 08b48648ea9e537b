package launch_test

import (
	"errors"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/memory"
)

// TestLaunchSurvivesTheLaunchScript would catch a value that bash expands.
func TestLaunchSurvivesTheLaunchScript(t *testing.T) {
	want := launch.TaskExecutor{
		Application: "application_1_0001", AMAddress: "127.0.0.2:4711", Memory: memory.Worker{Process: 1 << 30, Slots: 2, By: "taskmanager.memory.process.size"},
		HadoopConf: []byte(strings.Repeat(`<a b="$PWD">`, 1000)), Config: map[string]string{"k": "a,b=$x`"},
	}
	value, err := launch.Encode(want)
	if err != nil {
		t.Fatal(err)
	}
	if i := strings.IndexAny(value, "$`\\\"'{}<> \n"); i >= 0 {
		t.Errorf("value has %q at %d", value[i], i)
	}
	got, err := launch.Decode[launch.TaskExecutor](value)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("decoded differs (-want +got):\n%s", diff)
	}
}

// TestMalformedLaunchIsNamed would catch a process that starts with half a configuration.
func TestMalformedLaunchIsNamed(t *testing.T) {
	for _, value := range []string{"", "%", "QUJD", "H4sIAAAAAAAA/w=="} {
		if _, err := launch.Decode[launch.AppMaster](value); !errors.Is(err, launch.ErrMalformed) {
			t.Errorf("Decode(%q) = %v, want ErrMalformed", value, err)
		}
	}
}

// TestNothingIsLaunchedThatTheKernelRefuses would catch containers that all end with "argument list
// too long", which the user cannot relate to the configuration.
func TestNothingIsLaunchedThatTheKernelRefuses(t *testing.T) {
	random := rand.NewChaCha8([32]byte{})
	for size, fits := range map[int]bool{60 << 10: true, 120 << 10: false} {
		noise := make([]byte, size)
		random.Read(noise)
		value, err := launch.Encode(launch.AppMaster{HadoopConf: noise})
		if fits != (err == nil) || !fits && !errors.Is(err, launch.ErrTooLarge) {
			t.Errorf("%d bytes: %v", size, err)
			continue
		}
		if !fits {
			continue
		}
		command := exec.CommandContext(t.Context(), "true")
		command.Env = []string{launch.Variable + "=" + value}
		if err := command.Run(); err != nil {
			t.Errorf("start a process with %d bytes: %v", len(value), err)
		}
	}
}

// TestChildrenDoNotInheritWhoTheirParentIs would catch a task host or a driver that inherits the
// limits, the launch context or the credentials' path of its parent.
func TestChildrenDoNotInheritWhoTheirParentIs(t *testing.T) {
	kept := launch.ChildEnvironment([]string{
		"PATH=/bin", launch.Variable + "=x", launch.TokenFileVariable + "=/t", "GOMEMLIMIT=32MiB", "GOMAXPROCS=2", "TZ=",
	})
	if diff := cmp.Diff([]string{"PATH=/bin", "TZ="}, kept); diff != "" {
		t.Errorf("environment of children (-want +got):\n%s", diff)
	}
}
