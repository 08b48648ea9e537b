package bobbintest

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// Answer is what a web server answered to a User's Curl.
type Answer struct {
	Status int
	Type   string // Content-Type; empty from Curl
	Body   string
	Sent   string // the Authorization of the request; empty: none
}

// String is the answer for messages of failed tests.
func (a Answer) String() string { return fmt.Sprintf("status %d: %.500s", a.Status, a.Body) }

// Curl runs the real curl with these arguments, the address among them, and the user's ticket for
// servers that take one. It believes every certificate.
func (u *User) Curl(t testing.TB, args ...string) (a Answer) {
	t.Helper()
	const program = "curl"
	own := []string{"--silent", "--show-error", "--verbose", "--insecure", "--negotiate", "--user", ":", "--write-out", `\n%{http_code}`}
	got := u.StartProgram(t, program, append(own, args...)...).Wait(t)
	end := strings.LastIndexByte(got.Stdout, '\n')
	status, err := strconv.Atoi(got.Stdout[end+1:])
	if got.Code != 0 || err != nil { // one that knows no --negotiate ends at once
		t.Fatalf("curl with GSSAPI, such as Debian's (scripts/prepare --all), with %v: %v: %s", args, err, got)
	}
	a.Status, a.Body = status, got.Stdout[:end]
	for line := range strings.Lines(got.Stderr) {
		if value, is := strings.CutPrefix(line, "> Authorization: "); is {
			a.Sent = strings.TrimSpace(value)
		}
	}
	return a
}
