package control_test

import (
	"errors"
	"testing"

	"github.com/bobbin-yarn/bobbin/internal/control"
)

// FuzzParse parses an environment variable. It would catch a program that uses stdin, stdout or
// stderr as its control socket.
func FuzzParse(f *testing.F) {
	f.Add(control.Value(control.RoleTaskHost, control.ChildFD))
	f.Add("driver:1")
	f.Add("driver:+3:")
	f.Fuzz(func(t *testing.T, value string) {
		role, fd, err := control.Parse(value)
		if err != nil {
			if !errors.Is(err, control.ErrVariable) {
				t.Errorf("error %v is not ErrVariable", err)
			}
			return
		}
		if again, number, err := control.Parse(control.Value(role, fd)); fd < control.ChildFD || err != nil || again != role || number != fd {
			t.Errorf("%q is %s at %d, which reads as %s at %d, %v", value, role, fd, again, number, err)
		}
	})
}
