package bobbintest

import "testing"

// StartSession starts a session, detached, with these flags, and returns its application. If it still runs at the end of
// the test, it is killed.
func (u *User) StartSession(t testing.TB, flags ...string) (application string) {
	t.Helper()
	got := u.Run(t, append([]string{"session", "start", "-d"}, flags...)...)
	if got.Code != 0 {
		t.Fatal(got)
	}
	application = got.Application(t)
	t.Cleanup(func() { u.Run(t, "kill", application) })
	return application
}
