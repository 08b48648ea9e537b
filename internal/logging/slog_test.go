package logging

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"
)

// It would catch lines that differ between the two loggers: in their level, or in the fields, their
// names, format or order.
func TestLinesOfBothLoggersAreAlike(t *testing.T) {
	t.Parallel()
	cause := errors.New("connection refused")
	for level, log := range map[logrus.Level]func(*slog.Logger, string, ...any){
		logrus.DebugLevel: (*slog.Logger).Debug,
		logrus.InfoLevel:  (*slog.Logger).Info,
		logrus.WarnLevel:  (*slog.Logger).Warn,
		logrus.ErrorLevel: (*slog.Logger).Error,
	} {
		for _, threshold := range []string{"debug", "warn"} {
			var want, got bytes.Buffer
			own, err := newLogger(&want, threshold)
			if err != nil {
				t.Fatal(err)
			}
			bridged, err := newLogger(&got, threshold)
			if err != nil {
				t.Fatal(err)
			}
			own.WithField("component", "c").WithField("address", "rm:8032").WithError(cause).
				WithFields(logrus.Fields{"method": "allocate", "wait": 1500 * time.Millisecond, "calls": 3}).Log(level, "will be tried again")
			log(Slog(bridged.WithField("component", "c")).With("address", "rm:8032"), "will be tried again",
				"method", "allocate", "wait", 1500*time.Millisecond, "calls", 3, "error", cause)
			if want, got := afterTime(want.String()), afterTime(got.String()); got != want || (want == "") != (threshold == "warn" && level > logrus.WarnLevel) {
				t.Errorf("%v at %s: got %q, want %q", level, threshold, got, want)
			}
		}
	}
}

// A hook must get an error value, not its text: the client finds by it which server is not ready.
func TestHooksGetWhatWasLogged(t *testing.T) {
	t.Parallel()
	logger, hook := logtest.NewNullLogger()
	logger.SetOutput(io.Discard)
	cause := errors.New("connection refused")
	Slog(logger).Warn("will be tried again", "address", "rm:8032", "error", cause)
	last := hook.LastEntry()
	if last == nil || last.Level != logrus.WarnLevel || last.Message != "will be tried again" || last.Data["address"] != "rm:8032" {
		t.Fatalf("got %+v", last)
	}
	if got, _ := last.Data[logrus.ErrorKey].(error); !errors.Is(got, cause) {
		t.Errorf("got error %v", got)
	}
}

// afterTime returns a line without its first field.
func afterTime(line string) string {
	_, rest, _ := strings.Cut(line, " ")
	return rest
}
