package progress

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/yarnrpc"
)

// Servers gives a logger for connections to servers that says once of each one
// that it does not answer, while it is tried on: people wonder otherwise what a
// command does for half a minute. Nothing else is printed.
func Servers(out io.Writer) logrus.FieldLogger {
	logger := logrus.New()
	logger.SetOutput(io.Discard)
	logger.SetLevel(logrus.WarnLevel)
	logger.AddHook(&silent{out: out, told: make(map[any]bool)})
	return logger
}

// silent is a hook for warnings with a field that names a server and an error.
type silent struct {
	out io.Writer

	mu   sync.Mutex // guards told
	told map[any]bool
}

func (*silent) Levels() []logrus.Level { return []logrus.Level{logrus.WarnLevel} }

func (s *silent) Fire(entry *logrus.Entry) error {
	server, named := entry.Data["address"]
	cause, _ := entry.Data[logrus.ErrorKey].(error)
	_, answered := errors.AsType[*yarnrpc.RemoteError](cause) // a standby, say
	s.mu.Lock()
	defer s.mu.Unlock()
	if !named || cause == nil || answered || s.told[server] {
		return nil
	}
	s.told[server] = true
	_, err := fmt.Fprintf(s.out, "%v does not answer, trying on: %v\n", server, cause)
	return err
}
