package control_test

import (
	"os"
	"os/exec"
	"testing"

	"github.com/bobbin-yarn/bobbin/internal/control"
)

// ending is a child process that ends, and the state in which it ends.
type ending struct {
	speak func()
	amid  control.Amid
}

// endings returns these children by their mode.
func endings() map[string]ending {
	// speaking is a child that makes these reports.
	speaking := func(words ...func(*control.Speaker)) func() {
		return func() {
			s := control.Speak()
			for _, say := range words {
				say(s)
			}
		}
	}
	begins, ends, ended := (*control.Speaker).JobBegins, (*control.Speaker).JobEnds, (*control.Speaker).Ended
	many := func(s *control.Speaker) {
		for range 100_000 { // two reports each: more than a pipe holds
			s.JobBegins()
			s.JobEnds()
		}
	}
	return map[string]ending{
		"says nothing":             {func() {}, 0},
		"ends as it should":        {speaking(begins, ends, ended), control.AmidNothing},
		"before a job":             {speaking(), control.AmidDriver},
		"amid a job":               {speaking(begins), control.AmidJob},
		"between jobs":             {speaking(begins, ends), control.AmidDriver},
		"amid the other of two":    {speaking(begins, begins, ends), control.AmidJob},
		"amid one of many":         {speaking(many, begins), control.AmidJob},
		"with a job that was left": {speaking(begins, ended, ends), control.AmidNothing},
	}
}

// TestItIsKnownWhatAChildEndsAmid would catch a run that ends silently because a task called
// os.Exit, a normal end that is reported as such a run, a program of many jobs that blocks because
// nothing reads its reports, and a parent that waits for a grandchild which holds the pipe.
func TestItIsKnownWhatAChildEndsAmid(t *testing.T) {
	for mode, want := range endings() {
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
		if got := parent.Amid(); got != want.amid { // the child's end is still open here, as in a grandchild
			t.Errorf("%s: it ends amid %q, want %q", mode, got, want.amid)
		}
		for _, end := range []interface{ Close() error }{parent.Child, parent} {
			if err := end.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestAListenerEndsWithoutItsChild would catch a goroutine that is left after a child could not be
// started.
func TestAListenerEndsWithoutItsChild(t *testing.T) {
	parent, err := control.Listen()
	if err != nil {
		t.Fatal(err)
	}
	defer parent.Child.Close()
	if err := parent.Close(); err != nil { // Close waits for the goroutine, while the child's end is open
		t.Error(err)
	}
}

// TestADescriptorThatIsNoPipeIsLeftAlone would catch a program that writes into a file that is not
// its own.
func TestADescriptorThatIsNoPipeIsLeftAlone(t *testing.T) {
	for _, value := range []string{"", "x", "-1", "0", "2", "9999"} {
		t.Setenv(control.ParentVariable, value)
		if s := control.Speak(); s != nil {
			t.Errorf("%q: it speaks", value)
		}
		if _, set := os.LookupEnv(control.ParentVariable); set {
			t.Errorf("%q: a program that this one starts would speak, too", value)
		}
	}
}

// speakerVariable makes this binary a child that reports its state.
const speakerVariable = "TEST_SPEAKER"

func speak(mode string) { endings()[mode].speak() }
