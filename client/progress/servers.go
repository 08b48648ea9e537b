package progress

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/client/terminal"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/kerberos"
)

// Servers returns a logger for connections to servers. While calls are tried again, it prints once for each
// server that the server does not answer, or is not ready, such as a NameNode in safe mode. Otherwise users
// would not know why a command waits for half a minute. It prints nothing else.
func Servers(out io.Writer) logrus.FieldLogger {
	logger := logrus.New()
	logger.SetOutput(io.Discard)
	logger.SetLevel(logrus.WarnLevel)
	logger.AddHook(&silent{out: terminal.Screen(out), told: make(map[any]bool)})
	return logger
}

// silent is a hook for warnings with two fields, a server and an error.
type silent struct {
	out io.Writer

	mu   sync.Mutex // guards told
	told map[any]bool
}

func (*silent) Levels() []logrus.Level { return []logrus.Level{logrus.WarnLevel} }

func (s *silent) Fire(entry *logrus.Entry) error {
	server, named := entry.Data["address"]
	cause, _ := entry.Data[logrus.ErrorKey].(error)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !named || cause == nil || isWord(cause) || s.told[server] {
		return nil
	}
	s.told[server] = true
	says := "%v does not answer, trying again: %v\n"
	switch {
	case errors.Is(cause, kerberos.ErrKDC): // the KDC failed, before the server was asked
		says = "no login at %v, trying again: %v\n"
	case isStarting(cause):
		says = "%v is not ready, trying again: %v\n"
	}
	_, err := fmt.Fprintf(s.out, says, server, cause)
	return err
}

// isStarting tells whether a server asks the client to wait, which may take minutes.
func isStarting(err error) bool { return yarnrpc.Judge(err).Action == yarnrpc.RetrySame }

// isWord tells whether an error is an answer, such as that of a standby, or a failed login: the client then
// tries once more, with another ticket or at another server.
func isWord(err error) bool {
	if isStarting(err) {
		return false
	}
	if _, answered := errors.AsType[*yarnrpc.RemoteError](err); answered {
		return true
	}
	verdict := yarnrpc.Judge(err)
	return verdict.Action == yarnrpc.Reauth || verdict.Action == yarnrpc.Permanent && verdict.Execution == yarnrpc.NotExecuted
}
