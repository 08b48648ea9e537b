package cli

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestProgramArgumentsAreLeftAlone would catch that bobbin takes a flag of the program as its own, or cuts the
// value of an option at a comma.
func TestProgramArgumentsAreLeftAlone(t *testing.T) {
	for _, c := range []struct {
		name, line    string
		options, rest []string
	}{
		{
			"flags behind the program are its own",
			"-t local ./wordcount -p 4 --help -Da=b",
			[]string{"-t", "local"},
			[]string{"./wordcount", "-p", "4", "--help", "-Da=b"},
		},
		{
			"-D with and without a blank",
			"-Da=b -D c=d,e=f -p 4 prog",
			[]string{"-D", "a=b", "-D", "c=d,e=f", "-p", "4"},
			[]string{"prog"},
		},
		{
			"a flag with = takes no further word",
			"--target=yarn-per-job -d prog x",
			[]string{"--target=yarn-per-job", "-d"},
			[]string{"prog", "x"},
		},
		{
			"two dashes end the flags",
			"-d -- -odd-name -d",
			[]string{"-d"},
			[]string{"-odd-name", "-d"},
		},
		{
			"Flink's flags for YARN",
			"-yjm 1g --yarntaskManagerMemory=2g -ys 2 -yt lib -yD a=b -yDc=d -yd -yid application_1_0001 prog -yjm",
			[]string{
				"--jobManagerMemory", "1g", "--taskManagerMemory=2g", "--slots", "2", "--ship", "lib", "-D", "a=b", "-D", "c=d", "--detached",
				"--applicationId", "application_1_0001",
			},
			[]string{"prog", "-yjm"},
		},
		{
			"a number may stand right behind its flag",
			"-p2 -ys3 -tm4g prog -p2",
			[]string{"-p=2", "--slots=3", "-tm=4g"},
			[]string{"prog", "-p2"},
		},
		{
			"a flag's value may begin with a dash",
			"-nm -name- prog",
			[]string{"-nm", "-name-"},
			[]string{"prog"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			options, rest, err := splitArguments(runFlags(), strings.Fields(c.line))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.options, options); diff != "" {
				t.Errorf("options (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.rest, rest); diff != "" {
				t.Errorf("rest (-want +got):\n%s", diff)
			}
		})
	}
}

// TestUnknownFlagOffersTheNearest would catch a mistyped flag that goes to the program, or is reported without
// a remedy.
func TestUnknownFlagOffersTheNearest(t *testing.T) {
	for line, offer := range map[string]string{
		"--detachd prog":         "--detached",
		"-paralelism 4 prog":     "--parallelism",
		"--taskManagerMemory":    "needs a value",
		"-q root prog":           "-qu",
		"--para 4 prog":          "--parallelism",
		"--zzzzzzzzzzzzzzz prog": "--help",
	} {
		_, _, err := splitArguments(runFlags(), strings.Fields(line))
		if !errors.Is(err, ErrUsage) || !strings.Contains(err.Error(), offer) {
			t.Errorf("%q: %v, want an offer of %s", line, err, offer)
		}
	}
}
