package cli

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"
)

// TestASessionIsAttendedWithoutYARN would catch an attached command that waits for a ResourceManager before it
// prints anything, although the session answers.
func TestASessionIsAttendedWithoutYARN(t *testing.T) {
	s := startFakeSession(t)
	s.yarn.Delay("getApplicationReport", time.Nanosecond) // where the session is
	s.yarn.Delay("getApplicationReport", time.Hour)       // how it is
	code, stdout, stderr := command(t, s.env, "session", "attach", "-d", "-o", "json", "-D", "client.timeout=2s", "-id", s.id.String())
	want := "session " + s.id.String() + " answers, YARN does not\nsession " + s.id.String() + " goes on."
	if code != ExitOK || !strings.HasPrefix(stderr, want) || !strings.Contains(stdout, `"application":"`+s.id.String()+`"`) {
		t.Errorf("exit code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
}

// TestASessionIsToldToEndWithoutYARN would catch a stopped session for which the command reports a failure, or
// leaves the session file.
func TestASessionIsToldToEndWithoutYARN(t *testing.T) {
	for line, input := range map[string]string{"session stop": "", "session attach": "stop\n"} {
		t.Run(line, func(t *testing.T) {
			s := startFakeSession(t)
			s.write(t, nil)
			s.alone = true
			words := append(strings.Fields(line), "-o", "json", "-D", "client.timeout=1s", "-id", s.id.String())
			code, stdout, stderr := commandWith(t, s.env, strings.NewReader(input), words...)
			if code != ExitOK || !strings.Contains(stdout, `"state":"ENDING"`) || !strings.HasSuffix(stderr, "session "+s.id.String()+" accepted the stop; YARN does not answer\n") {
				t.Errorf("exit code %d, stdout %q, stderr %q", code, stdout, stderr)
			}
			if _, err := os.Stat(s.path); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the file is there: %v", err)
			}
		})
	}
}
