package orphans_test

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/bobbin-yarn/bobbin/internal/orphans"
)

// TestOnlyMarkedProcessesEnd would catch a child that outlives the process which started it, and the
// end of a process that has no mark, or one that only begins alike. It would also catch a grandchild
// that has a mark of its own, as a task host has below its TaskExecutor, and is not found.
func TestOnlyMarkedProcessesEnd(t *testing.T) {
	t.Parallel()
	mark := func(id string) []string { return orphans.Mark(os.Environ(), id) }
	marked := []family{leave(t, mark("orphans-test-1")), leave(t, orphans.Mark(mark("orphans-test-1"), "orphans-test-2"))}
	others := []family{
		leave(t, mark("orphans-test-11")), leave(t, mark("orphans-test-2")),
		leave(t, append(os.Environ(), "X="+mark("orphans-test-1")[len(os.Environ())])),
	}
	if n := orphans.End("orphans-test-1"); n != len(marked) {
		t.Errorf("%d processes were killed, want %d", n, len(marked))
	}
	for i, family := range marked {
		if _, err := family.out.Read(make([]byte, 1)); !errors.Is(err, io.EOF) { // for as long as it lives
			t.Errorf("child %d goes on: %v", i, err)
		}
	}
	for _, other := range others {
		if err := other.answers(); err != nil {
			t.Errorf("another's child: %v", err)
		}
	}
	if n := orphans.End("orphans-test-1"); n != 0 {
		t.Errorf("%d processes were killed that have ended", n)
	}
}

// family is a child that has outlived its parent: it repeats what it is told, until it is told no more.
type family struct{ in, out *os.File }

func (f family) answers() error {
	if _, err := f.in.WriteString("x"); err != nil {
		return err
	}
	_, err := io.ReadFull(f.out, make([]byte, 1))
	return err
}

// leave starts a process with this environment, which leaves a child behind.
func leave(t *testing.T, environment []string) family {
	t.Helper()
	childIn, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, childOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = errors.Join(in.Close(), out.Close()) })
	parent := exec.CommandContext(t.Context(), "sh", "-c", "cat <&3 &") // without <, what runs in the background reads nothing
	parent.Env = environment
	parent.Stdout, parent.ExtraFiles = childOut, []*os.File{childIn}
	err = parent.Run()
	if err = errors.Join(err, childIn.Close(), childOut.Close()); err != nil {
		t.Fatal(err)
	}
	f := family{in, out}
	if err := f.answers(); err != nil {
		t.Fatal(err)
	}
	return f
}
