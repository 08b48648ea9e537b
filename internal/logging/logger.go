package logging

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"

	"github.com/sirupsen/logrus"
	bridge "github.com/sirupsen/logrus/hooks/slog"
)

// fieldOrder is the order of fields in a line. Other fields follow, sorted by name.
var fieldOrder = []string{ //nolint:gochecknoglobals // a constant table
	logrus.FieldKeyTime, logrus.FieldKeyLevel, logrus.FieldKeyMsg,
	"app", "attempt", "role", "container", "node", "job", "vertex", "execution", "host", "slot", "allocation", "method", "call",
}

// lastField is the last field of a line, because it is the longest.
const lastField = "err"

// newLogger makes a logger that writes one line for each event of this level ("debug", "info",
// "warn", "error") or above:
//
//	time=2026-01-02T15:04:05.000Z level=info msg="slot granted" job=… slot=0 err=…
func newLogger(out io.Writer, level string) (*logrus.Logger, error) {
	parsed, err := logrus.ParseLevel(level)
	if err != nil {
		return nil, fmt.Errorf("make logger: %w", err)
	}
	l := logrus.New()
	l.SetOutput(out)
	l.SetLevel(parsed)
	l.SetFormatter(&logrus.TextFormatter{
		DisableColors:   true,
		TimestampFormat: "2006-01-02T15:04:05.000Z07:00",
		SortingFunc:     sortFields,
	})
	return l, nil
}

func sortFields(fields []string) {
	slices.SortFunc(fields, func(a, b string) int {
		if rank := rankOf(a) - rankOf(b); rank != 0 {
			return rank
		}
		if a < b {
			return -1
		}
		return 1
	})
}

func rankOf(field string) int {
	if field == lastField {
		return len(fieldOrder) + 1
	}
	if i := slices.Index(fieldOrder, field); i >= 0 {
		return i
	}
	return len(fieldOrder)
}

// Open makes a logger that writes to the file "<name>.log" in a directory. The closer closes the
// file. Later events are lost.
func Open(dir, name, level string) (*logrus.Logger, io.Closer, error) {
	file, err := OpenFile(dir, name+".log")
	if err != nil {
		return nil, nil, err
	}
	logger, err := newLogger(file, level)
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	return logger, file, nil
}

// Slog returns a logger of the standard library, as yarnrpc takes it, that writes to log with log's
// fields. For nil it returns nil; yarnrpc then logs nothing.
func Slog(log logrus.FieldLogger) *slog.Logger {
	if log == nil {
		return nil
	}
	entry := log.WithFields(nil)
	logger := slog.New(bridge.NewHandler(entry.Logger, nil))
	for name, value := range entry.Data {
		logger = logger.With(name, value)
	}
	return logger
}
