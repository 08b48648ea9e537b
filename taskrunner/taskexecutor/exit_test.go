package taskexecutor

import (
	"strings"
	"testing"
)

// TestAStackIsToldOnce would catch a failure that shows the stack of a crash twice, in the host's
// last output and as the stack, and a failure that drops the output before the crash.
func TestAStackIsToldOnce(t *testing.T) {
	t.Parallel()
	const crash = "panic: boom\n\ngoroutine 7 [running]:\nmain.f()\n\tmain.go:9"
	for name, c := range map[string]struct{ crash, output, want string }{
		"words, then a crash":             {crash, "panic: not this one\nlast words\n" + crash, "panic: not this one\nlast words"},
		"a crash alone":                   {crash, crash, ""},
		"a stack that has pushed it out":  {crash, "main.g()\n\tmain.go:8", ""},
		"no crash":                        {"", "last words", "last words"},
		"the crash's words within a line": {crash, "he said panic: boom\n" + crash, "he said panic: boom"},
	} {
		e := Exit{Crash: c.crash, Output: c.output}
		if got := e.lastWords(); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	failure := (&core{}).failureOf(&job{}, &host{}, Exit{How: "exit status 2", Crash: crash, Output: "last words\n" + crash})
	if text := failure.Message + "\n" + failure.Stack; strings.Count(text, "goroutine 7") != 1 || strings.Count(text, "last words") != 1 {
		t.Errorf("told %q", text)
	}
}
