package hadoopconf

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// testdata/java records how Hadoop 3.4.3 reads a file that uses each rule of the format
// (Values.java says how). With a deviation, Bobbin would read a client configuration
// differently from the cluster's servers.
func TestLoadAgreesWithHadoopsOwnReader(t *testing.T) {
	t.Parallel()
	c, err := Load("testdata/java", Environment{
		LookupEnv: func(name string) (string, bool) {
			value, ok := map[string]string{"BOBBIN_SET": "set", "BOBBIN_EMPTY": ""}[name]
			return value, ok
		},
		Properties: map[string]string{"bobbin.property": "property"},
	})
	if err != nil {
		t.Fatal(err)
	}
	recorded, err := os.ReadFile("testdata/java/expected.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(recorded)) {
		question, want, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " = ")
		kind, name, _ := strings.Cut(question, " ")
		if diff := cmp.Diff(want, answer(t, c, kind, name)); diff != "" {
			t.Errorf("%s (-Java +ours):\n%s", question, diff)
		}
	}
}

// answer reads a property in the notation of Values.java.
func answer(t *testing.T, c *Conf, kind, name string) string {
	t.Helper()
	var value any
	var err error
	switch kind {
	case "string":
		text, ok, err := c.Lookup(name)
		switch {
		case err != nil:
			return "error"
		case !ok:
			return "unset"
		}
		return `"` + strings.ReplaceAll(text, "\n", `\n`) + `"`
	case "bool":
		value, err = c.Bool(name)
	case "int":
		value, err = c.Int(name)
	case "duration":
		var d time.Duration
		d, err = c.Duration(name, time.Millisecond)
		value = d.Milliseconds()
	case "size":
		value, err = c.Size(name)
	case "strings":
		var parts []string
		parts, err = c.Strings(name)
		value = strings.Join(parts, "|")
	default:
		t.Fatalf("unknown kind %q", kind)
	}
	if err != nil {
		t.Errorf("%s %s: %v", kind, name, err)
	}
	return fmt.Sprint(value)
}
