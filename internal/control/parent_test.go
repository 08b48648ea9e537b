package control_test

import (
	"os"
	"os/exec"
	"testing"

	"github.com/bobbin-yarn/bobbin/internal/control"
)

// TestAChildThatIsBrokenOffIsKnown would catch a run that ends in silence because a task called os.Exit, one that ends
// as it should and is told as that, and a parent that waits for a grandchild which holds the pipe.
func TestAChildThatIsBrokenOffIsKnown(t *testing.T) {
	for mode, want := range map[string]bool{"whole": false, "broken": true, "silent": false} {
		parent, err := control.Listen()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), parent.Environment(), speakerVariable+"="+mode)
		cmd.ExtraFiles = []*os.File{parent.Child}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if got := parent.Broken(); got != want { // its end is still open here, as in a grandchild
			t.Errorf("%s: broken off %v, want %v", mode, got, want)
		}
		for _, end := range []interface{ Close() error }{parent.Child, parent} {
			if err := end.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestADescriptorThatIsNoPipeIsLeftAlone would catch a program that writes into the file of somebody else.
func TestADescriptorThatIsNoPipeIsLeftAlone(t *testing.T) {
	for _, value := range []string{"", "x", "-1", "0", "2", "9999"} {
		t.Setenv(control.ParentVariable, value)
		if s := control.Speak(); s != (control.Speaker{}) {
			t.Errorf("%q: it speaks", value)
		}
		if _, set := os.LookupEnv(control.ParentVariable); set {
			t.Errorf("%q: a program that this one starts would speak, too", value)
		}
	}
}

// speakerVariable makes this binary a child that speaks.
const speakerVariable = "TEST_SPEAKER"

func speak(mode string) {
	if mode == "silent" {
		return
	}
	s := control.Speak()
	if mode == "whole" {
		s.Ended()
	}
}
