package security

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/pki"
	"github.com/bobbin-yarn/bobbin/taskrunner/exchange"
)

// tryReplays records the bytes that a worker sends to the master, and a task host to another one, and sends them a
// second time. It would catch a server that accepts the data of an earlier connection.
func tryReplays(t *testing.T, d *bobbintest.Dawdler) {
	worker := d.First(t, bobbintest.TaskExecutor)
	told, err := launch.Decode[launch.TaskExecutor](worker.Variable(t, launch.Variable))
	if err != nil {
		t.Fatal(err)
	}
	master, data := told.AMAddress, dataAddress(t, d.First(t, bobbintest.TaskHost))

	toMaster, relay := overhear(t, master)
	conn := dialAs(t, worker, relay)
	claim := msg.RegisterTaskExecutor{ProtocolVersion: jobgraph.ProtocolVersion, Resource: "another", Host: "localhost"}
	if _, is := answerTo(t, conn, "resourcemanager", claim, claim).(msg.RegistrationRejected); !is {
		t.Fatal("the master does not answer a worker")
	}
	replay(t, master, toMaster)

	toHost, relay := overhear(t, data)
	hosts := issue(t, parse(t, worker.Credentials(t).Secrets[launch.SecretCredentials]), ids.JobID(d.Job))
	if refused := greetHost(t, hosts, relay); !strings.Contains(refused.Error(), "not nobody") {
		t.Fatalf("a host's greeting is answered by %v", refused)
	}
	replay(t, data, toHost)
}

// greetHost greets a task host as another one of the job, with a wrong name for the receiver, and returns the answer.
func greetHost(t *testing.T, credentials *pki.Credentials, address string) error {
	t.Helper()
	logger := logrus.New()
	logger.SetOutput(t.Output())
	job := credentials.Identity().Job
	hosts := pki.OnlyJob(job)
	e, err := exchange.New(t.Context(), exchange.Config{
		Job: job, Host: "a thief", ListenHost: "127.0.0.1",
		ServerTLS: credentials.ServerTLS(hosts), ClientTLS: credentials.ClientTLS(hosts), Logger: logger,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	gate := e.Gate(t.Context(), []exchange.Producer{{Host: "nobody", Address: address}})
	defer gate.Close()
	_, err = gate.Next(t.Context())
	return err
}

// conversation is the data between a client and a server, recorded between them.
type conversation struct {
	mu        sync.Mutex // guards all below
	sent, got []byte     // from the client
	handshake int        // the length of got before the client's second message: the server's part of the handshake
}

// heard is one direction of a conversation.
type heard func([]byte)

func (h heard) Write(b []byte) (int, error) {
	h(b)
	return len(b), nil
}

func (c *conversation) says(b []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.sent) > 0 && c.handshake == 0 {
		c.handshake = len(c.got)
	}
	c.sent = append(c.sent, b...)
}

func (c *conversation) hears(b []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.got = append(c.got, b...)
}

// overhear records one client's connection to a server. The client connects to the returned address. overhear ends with
// the client's connection.
func overhear(t *testing.T, door string) (*conversation, string) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server, err := new(net.Dialer).DialContext(t.Context(), "tcp", door)
	if err != nil {
		t.Fatal(err)
	}
	c := new(conversation)
	var tasks sync.WaitGroup
	pass := func(to, from net.Conn, hear heard) {
		defer to.Close()
		io.Copy(io.MultiWriter(hear, to), from) // until either end closes
	}
	tasks.Go(func() {
		client, err := listener.Accept()
		if err != nil {
			return
		}
		tasks.Go(func() { pass(server, client, c.says) })
		pass(client, server, c.hears)
	})
	t.Cleanup(func() {
		listener.Close()
		server.Close()
		tasks.Wait()
	})
	return c, listener.Addr().String()
}

// replay sends a client's recorded data to a server. The server must send its part of the handshake, then an alert, and
// nothing else. An alert in an encrypted record is recognized by its length.
func replay(t *testing.T, door string, c *conversation) {
	t.Helper()
	c.mu.Lock()
	sent, handshake, answered := c.sent, recordLengths(c.got[:c.handshake]), recordLengths(c.got)
	c.mu.Unlock()
	if len(handshake) == 0 || len(answered) <= len(handshake) {
		t.Fatalf("%s answered %d records, %d of them in the handshake", door, len(answered), len(handshake))
	}
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", door)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetReadDeadline(time.Now().Add(tooLong)); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write(sent); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(conn)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a connection to %s that is replayed stays open", door)
	}
	const alert = 2 + 1 + 16 // level and reason, content type, tag; RFC 8446 §5.2
	got := recordLengths(answer)
	if len(got) != len(handshake)+1 || got[len(got)-1] != alert {
		t.Errorf("%s answers a replay by records of %v bytes, want a handshake of %d records and an alert", door, got, len(handshake))
	}
}

// recordLengths returns the lengths of the TLS records that begin in b, RFC 8446 §5.1.
func recordLengths(b []byte) (lengths []int) {
	const header = 5 // type, version, length
	for len(b) >= header {
		length := int(binary.BigEndian.Uint16(b[3:]))
		lengths = append(lengths, length)
		b = b[min(len(b), header+length):]
	}
	return lengths
}
