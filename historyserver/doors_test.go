package historyserver

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest"
	"github.com/bobbin-yarn/bobbin/internal/sitecert"
	"github.com/bobbin-yarn/bobbin/internal/testing/sitecerttest"
)

// street is a listener without sockets, so that a bubble's clock continues while all goroutines wait.
type street struct {
	knocking chan net.Conn // unbuffered: a client waits until it is accepted
	closed   chan struct{}
	shut     sync.Once
}

func (s *street) Accept() (net.Conn, error) {
	select {
	case conn := <-s.knocking:
		return conn, nil
	case <-s.closed:
		return nil, net.ErrClosed
	}
}

func (s *street) Close() error {
	s.shut.Do(func() { close(s.closed) })
	return nil
}

func (s *street) Addr() net.Addr { return &net.TCPAddr{} }

// serveStreet runs a server of one job until the bubble ends. knock opens a connection to it.
func serveStreet(t *testing.T, change func(*Config)) (knock func() net.Conn, hook *logtest.Hook) {
	t.Helper()
	files := dataflowtest.NewFiles(map[string]string{"/done/" + string(idOf(1)): archiveOf(idOf(1), "FINISHED")})
	s, hook := newTestServer(t, files, func(c *Config) {
		c.TempDir = t.TempDir()
		if change != nil {
			change(c)
		}
	})
	s.logger.(*logrus.Entry).Logger.SetLevel(logrus.DebugLevel)
	l := &street{knocking: make(chan net.Conn), closed: make(chan struct{})}
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx, l) }()
	t.Cleanup(func() {
		end()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return func() net.Conn {
		near, far := net.Pipe()
		t.Cleanup(func() { near.Close() })
		l.knocking <- far
		return near
	}, hook
}

const askForJobs = "GET /jobs/overview HTTP/1.1\r\nHost: history\r\n\r\n"

// readJobs reads the answer to askForJobs.
func readJobs(conn net.Conn) error {
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, answer.Body)
	return err
}

// TestNobodyIsKeptOut would catch clients that take all places by silence, by staying after an answer, or by not taking it.
func TestNobodyIsKeptOut(t *testing.T) {
	t.Parallel()
	for name, attack := range map[string]func(net.Conn) error{
		"say nothing": func(net.Conn) error { return nil },
		"stay after an answer": func(conn net.Conn) error {
			_, err := io.WriteString(conn, askForJobs)
			if err == nil {
				err = readJobs(conn)
			}
			return err
		},
		"do not take their answer": func(conn net.Conn) error {
			_, err := io.WriteString(conn, askForJobs)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				knock, _ := serveStreet(t, nil)
				begin := time.Now()
				for range maxConnections + 10 {
					if err := attack(knock()); err != nil {
						t.Fatal(err)
					}
				}
				friend := knock()
				if _, err := io.WriteString(friend, askForJobs); err != nil {
					t.Fatal(err)
				}
				if err := readJobs(friend); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(begin); took > headerTime/2 {
					t.Errorf("a friend gets an answer after %s", took)
				}
			})
		})
	}
}

// TestConnectionsThatFailAreLoggedAtDebug would catch lines on stderr that any client can write, as many as it likes.
func TestConnectionsThatFailAreLoggedAtDebug(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		own, issuer, key := sitecerttest.NewAuthority(t).Issue(t, sitecerttest.NewSite(t, "history.example"))
		dir := t.TempDir()
		certificate, err := sitecert.Read(sitecerttest.File(t, dir, "own.pem", slices.Concat(own, issuer)), sitecerttest.File(t, dir, "own.key", key), time.Now())
		if err != nil {
			t.Fatal(err)
		}
		knock, hook := serveStreet(t, func(c *Config) {
			c.Certificate, c.Renew = certificate, func() (*sitecert.Certificate, error) { return certificate, nil }
		})
		conn := knock()
		go func() { _, _ = io.WriteString(conn, "not a handshake") }()
		_, _ = io.Copy(io.Discard, conn)
		if !slices.ContainsFunc(hook.AllEntries(), func(e *logrus.Entry) bool {
			text, _ := e.Data["err"].(string)
			return e.Level == logrus.DebugLevel && strings.Contains(text, "TLS handshake error")
		}) {
			t.Error("the log has no line about the handshake")
		}
	})
}
