package control

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Variable is the environment variable that tells a process its role and where
// its end of the control connection is: "taskhost:3". The process takes it out
// of its environment before it starts anything else, as a grandchild would
// inherit the variable without the descriptor.
const Variable = "BOBBIN_CONTROL"

// ErrVariable says that the variable's value is not one that Value wrote.
var ErrVariable = errors.New("malformed " + Variable)

// Role is what a program of the SDK is when another process started it.
type Role string

// The roles of a started program.
const (
	RoleTaskHost Role = "taskhost"
	RoleDriver   Role = "driver"
)

// ChildFD is the descriptor of the first of exec.Cmd's ExtraFiles in the child.
const ChildFD = 3

// Value gives the variable's value for a child that gets its end as descriptor
// fd.
func Value(role Role, fd int) string { return fmt.Sprintf("%s:%d", role, fd) }

// Parse reads the variable's value; ErrVariable where it is none.
func Parse(value string) (Role, int, error) {
	role, number, _ := strings.Cut(value, ":")
	fd, err := strconv.Atoi(number)
	if err != nil || fd < ChildFD || role != string(RoleTaskHost) && role != string(RoleDriver) {
		return "", 0, fmt.Errorf("parse %q, want a role and a descriptor, such as %q: %w",
			value, Value(RoleTaskHost, ChildFD), ErrVariable)
	}
	return Role(role), fd, nil
}
