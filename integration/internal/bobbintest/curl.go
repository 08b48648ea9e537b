package bobbintest

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// Answer is a web server's answer to Curl.
type Answer struct {
	Status int
	Type   string // Content-Type; empty from Curl
	Body   string
	Sent   string // the Authorization header of the request, or ""
}

// String returns the answer for messages of failed tests.
func (a Answer) String() string { return fmt.Sprintf("status %d: %.500s", a.Status, a.Body) }

// Curl runs the real curl with these arguments, which contain the address. It sends the user's
// ticket to servers that accept one, and accepts every certificate.
func (u *User) Curl(t testing.TB, args ...string) (a Answer) {
	t.Helper()
	const program = "curl"
	own := []string{"--silent", "--show-error", "--verbose", "--insecure", "--negotiate", "--user", ":", "--write-out", `\n%{http_code}`}
	got := u.StartProgram(t, program, append(own, args...)...).Wait(t)
	end := strings.LastIndexByte(got.Stdout, '\n')
	status, err := strconv.Atoi(got.Stdout[end+1:])
	if got.Code != 0 || err != nil { // a curl without --negotiate ends at once
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
