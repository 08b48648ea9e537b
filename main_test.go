package bobbin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/bobbin-yarn/bobbin/dataflow"
	"github.com/bobbin-yarn/bobbin/internal/control"
)

// startsAnother makes this test binary a program that starts itself once more.
const startsAnother = "BOBBIN_TEST_STARTS_ANOTHER"

func TestMain(m *testing.M) {
	if outer := os.Getenv(startsAnother); outer != "" {
		Main(func(ctx context.Context, env *dataflow.Env) error {
			fmt.Printf("%s has %q\n", outer, env.Option("taskmanager.numberOfTaskSlots"))
			if outer == "inner" {
				return nil
			}
			inner := exec.CommandContext(ctx, os.Args[0])
			inner.Env = append(os.Environ(), startsAnother+"=inner")
			inner.Stdout, inner.Stderr = os.Stdout, os.Stderr
			return inner.Run()
		})
	}
	if where := os.Getenv(exitsIn); where != "" {
		Main(exiting(where))
	}
	if os.Getenv(asTaskHost) != "" {
		Main(hostsOnly)
	}
	goleak.VerifyTestMain(m)
}

// TestAProgramsOptionsAreItsOwn would catch a program that runs with the options, or in the role, of the
// program that has started it.
func TestAProgramsOptionsAreItsOwn(t *testing.T) {
	t.Parallel()
	program := exec.CommandContext(t.Context(), os.Args[0])
	program.Env = []string{
		"HOME=" + t.TempDir(), "HADOOP_USER_NAME=alice", startsAnother + "=outer",
		control.OptionsVariable + `={"taskmanager.numberOfTaskSlots":"7"}`,
	}
	out, err := program.CombinedOutput()
	if want := "outer has \"7\"\ninner has \"\"\n"; err != nil || string(out) != want {
		t.Errorf("got %v:\n%s\nwant\n%s", err, out, want)
	}
}

// TestADriversOptionsEndWithIt would catch a driver under the client that passes on the options of a local
// program around it.
func TestADriversOptionsEndWithIt(t *testing.T) {
	t.Setenv(control.Variable, "nonsense")
	t.Setenv(control.OptionsVariable, "{}")
	if code := run(func(context.Context, *dataflow.Env) error { return errors.New("not reached") }, nil); code != exitFailed {
		t.Errorf("exit code %d", code)
	}
	for _, entry := range os.Environ() {
		if strings.HasPrefix(entry, control.Variable+"=") || strings.HasPrefix(entry, control.OptionsVariable+"=") {
			t.Errorf("the environment still has %s", entry)
		}
	}
}
