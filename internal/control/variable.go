package control

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Variable is the environment variable with a process's role and the descriptor of its end of the
// control connection: "taskhost:3". The process removes it from its environment before it starts
// another process. Otherwise a grandchild would inherit the variable without the descriptor.
const Variable = "BOBBIN_CONTROL"

// ErrVariable says that Value did not write the variable's value.
var ErrVariable = errors.New("malformed " + Variable)

// Role is the role of a program of the SDK that another process started.
type Role string

// The roles of a started program.
const (
	RoleTaskHost Role = "taskhost"
	RoleDriver   Role = "driver"
)

// ChildFD is the descriptor of the first of exec.Cmd's ExtraFiles in the child.
const ChildFD = 3

// Value returns the variable's value for a child whose end is descriptor fd.
func Value(role Role, fd int) string { return fmt.Sprintf("%s:%d", role, fd) }

// Parse parses the variable's value. The error wraps ErrVariable.
func Parse(value string) (Role, int, error) {
	role, number, _ := strings.Cut(value, ":")
	fd, err := strconv.Atoi(number)
	if err != nil || fd < ChildFD || role != string(RoleTaskHost) && role != string(RoleDriver) {
		return "", 0, fmt.Errorf("parse %q, want a role and a descriptor, such as %q: %w",
			value, Value(RoleTaskHost, ChildFD), ErrVariable)
	}
	return Role(role), fd, nil
}
