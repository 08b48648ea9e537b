package logs

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// TestYARNsOwnFilesComeLast would catch launch_container.sh before the error of the user's program, and a file
// of a gigabyte that is kept in memory because it has the name of a file of YARN.
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

// TestWhatWasHeldBackIsNotLost would catch files of YARN that are not printed because the aggregated file
// breaks off after them, and logs for a reader that wants no more, or has gone.
func TestWhatWasHeldBackIsNotLost(t *testing.T) {
	broken, enough := errors.New("DataNodes are gone"), errors.New("enough")
	whole := slices.Concat(logOf("launch_container.sh", "exec"), logOf("stdout", "hello"), logOf("syslog", "started"))
	cut := whole[:len(whole)-4]
	before, _, _ := bytes.Cut(whole, []byte("llo"))
	for name, c := range map[string]struct {
		value io.Reader
		until string // the log after which the reader wants no more
		names []string
		err   error
	}{
		"it ends":                         {bytes.NewReader(whole), "", []string{"stdout", "syslog", "launch_container.sh"}, nil},
		"it ends too soon":                {bytes.NewReader(cut), "", []string{"stdout", "syslog", "launch_container.sh"}, errFormat},
		"it breaks off":                   {io.MultiReader(bytes.NewReader(cut), iotest.ErrReader(broken)), "", []string{"stdout", "syslog", "launch_container.sh"}, broken},
		"it breaks off before":            {io.MultiReader(bytes.NewReader(before), iotest.ErrReader(broken)), "", []string{"stdout", "launch_container.sh"}, broken},
		"the reader has enough":           {bytes.NewReader(whole), "stdout", []string{"stdout"}, enough},
		"the reader has enough of YARN's": {bytes.NewReader(whole), "launch_container.sh", []string{"stdout", "syslog", "launch_container.sh"}, enough},
	} {
		t.Run(name, func(t *testing.T) {
			var names []string
			err := container("container_1", "node", c.value, func(l Log, content io.Reader) error {
				names = append(names, l.Name)
				if l.Container != "container_1" || l.Node != "node" {
					t.Errorf("visited is %+v", l)
				}
				if l.Name == c.until {
					return enough
				}
				_, err := io.Copy(io.Discard, content)
				return err
			})
			if diff := cmp.Diff(c.names, names); diff != "" || !errors.Is(err, c.err) {
				t.Errorf("error %v, want %v; visited (-want +got):\n%s", err, c.err, diff)
			}
		})
	}
}
