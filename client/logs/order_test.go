package logs

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestYARNsOwnFilesComeLast would catch a user who scrolls through launch_container.sh before his program's error, and
// a file of a gigabyte under the name of one of YARN's that is kept in memory.
func TestYARNsOwnFilesComeLast(t *testing.T) {
	huge := strings.Repeat("x", maxHeld)
	value := slices.Concat(logOf("directory.info", "ls -l"), logOf("driver.stderr", "boom"), logOf("launch_container.sh", "exec"),
		logOf("prelaunch.out", huge), logOf("prelaunch.err", ""), logOf("stdout", "hello"))
	got, err := read(fileOf("none", recordOf("container_1", 1000, value), recordOf("container_2", 1000, logOf("syslog", "x"))))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, l := range got {
		names = append(names, l.Name)
		if int(l.Size) != len(l.Content) {
			t.Errorf("%s has %d bytes of %d", l.Name, len(l.Content), l.Size)
		}
	}
	want := []string{"driver.stderr", "prelaunch.out", "stdout", "directory.info", "launch_container.sh", "prelaunch.err", "syslog"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("collected (-want +got):\n%s", diff)
	}
	live := yarnsLast([]fileSize{{"directory.info", 1}, {"taskmanager.log", 2}, {"prelaunch.err", 0}, {"taskmanager.stderr", 3}})
	if diff := cmp.Diff([]fileSize{{"taskmanager.log", 2}, {"taskmanager.stderr", 3}, {"directory.info", 1}, {"prelaunch.err", 0}}, live, cmp.AllowUnexported(fileSize{})); diff != "" {
		t.Errorf("on the node (-want +got):\n%s", diff)
	}
}
