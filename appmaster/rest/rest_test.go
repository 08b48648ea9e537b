package rest

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	"go.uber.org/goleak"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/pki"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve runs a Server on a port of its own until the test ends, and returns its address and a client that
// trusts its certificate.
func serve(t *testing.T, g Gateway, proxies ...netip.Addr) (address string, client *http.Client, stop func() error) {
	t.Helper()
	return serveConfigured(t, g, func(c *Config) { c.Proxy.Addresses = proxies })
}

// restTLS makes both ends of TLS.
func restTLS(t *testing.T) (server, client *tls.Config) {
	t.Helper()
	authority, err := pki.NewAuthority("application_1_0001", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	credentials, err := authority.IssueREST([]string{"127.0.0.1"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	clientTLS, err := pki.RESTClientTLS(credentials.Authority())
	if err != nil {
		t.Fatal(err)
	}
	return credentials.RESTServerTLS(), clientTLS
}

// serveConfigured is serve with a configuration that a test changes.
func serveConfigured(t *testing.T, g Gateway, change func(*Config)) (address string, client *http.Client, stop func() error) {
	t.Helper()
	serverTLS, clientTLS := restTLS(t)
	logger := logrus.New()
	logger.SetOutput(io.Discard)
	config := Config{TLS: serverTLS, Token: pki.TokenOf(token)}
	change(&config)
	s := New(config, g, logger)
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	transport := &http.Transport{TLSClientConfig: clientTLS}
	stopped := false
	stop = func() error {
		if stopped {
			return nil
		}
		stopped = true
		cancel()
		return <-done
	}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		if err := stop(); err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return l.Addr().String(), &http.Client{Transport: transport}, stop
}

func get(t *testing.T, client *http.Client, url string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	response, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

func TestOnePortHasTwoDoors(t *testing.T) {
	t.Parallel()
	address, client, _ := serve(t, &fakeGateway{}, netip.MustParseAddr("127.0.0.1"))
	if status, body := get(t, client, "https://"+address+"/jobs"); status != http.StatusOK || !strings.Contains(body, string(runningID)) {
		t.Errorf("TLS: status %d: %s", status, body)
	}
	if status, body := get(t, client, "http://"+address+"/jobs"); status != http.StatusOK || !strings.Contains(body, string(runningID)) {
		t.Errorf("plain: status %d: %s", status, body)
	}
	if status, body := get(t, client, "http://"+address+"/jobs/"+string(runningID)+"/result"); status != http.StatusForbidden {
		t.Errorf("plain, owner's path: status %d: %s", status, body)
	}
}

func TestPlainDoorIsClosedToOthers(t *testing.T) {
	t.Parallel()
	address, client, _ := serve(t, &fakeGateway{}, netip.MustParseAddr("10.0.0.1"))
	if status, body := get(t, client, "http://"+address+"/jobs"); status != http.StatusForbidden || !strings.Contains(body, "tracking URL") {
		t.Errorf("status %d: %s", status, body)
	}
}

// slowGateway keeps a client waiting for its result.
type slowGateway struct {
	fakeGateway
	asked, answer chan struct{}
}

func (g *slowGateway) JobResult(ctx context.Context, job ids.JobID, wait time.Duration) (msg.JobEnded, error) {
	close(g.asked)
	<-g.answer
	return g.fakeGateway.JobResult(ctx, job, wait)
}

// An attached cluster ends after the answer with its job's result, and this answer must still arrive.
func TestAnswersAreFinishedWhenTheServerStops(t *testing.T) {
	t.Parallel()
	g := &slowGateway{asked: make(chan struct{}), answer: make(chan struct{})}
	address, client, stop := serve(t, g)
	type answer struct {
		status int
		body   string
	}
	answers := make(chan answer, 1)
	go func() {
		status, body := get(t, client, "https://"+address+"/jobs/"+string(failedID)+"/result?wait=10s")
		answers <- answer{status, body}
	}()
	<-g.asked
	stopped := make(chan error, 1)
	go func() { stopped <- stop() }()
	// Serve closes the port before it waits for answers.
	for {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
		if err != nil {
			break
		}
		_ = conn.Close()
	}
	close(g.answer)
	if a := <-answers; a.status != http.StatusOK || !strings.Contains(a.body, "boom") {
		t.Errorf("status %d: %s", a.status, a.body)
	}
	if err := <-stopped; err != nil {
		t.Errorf("serve: %v", err)
	}
}

// Connections that say nothing, garbage, or half a request must not keep the
// server from answering others nor from stopping.
func TestHostileConnections(t *testing.T) {
	t.Parallel()
	address, client, stop := serve(t, &fakeGateway{}, netip.MustParseAddr("127.0.0.1"))
	var conns []net.Conn
	for _, begin := range []string{"", "\x16", "\x16\x03\x01\xff\xff garbage", "G", "\x00\x00\x00\x00", "GET / HTTP/1.1\r\nHost: x\r\n", "GET /" + strings.Repeat("x", 64<<10)} {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, conn)
		if _, err := fmt.Fprint(conn, begin); err != nil {
			t.Fatal(err)
		}
	}
	for _, scheme := range []string{"http", "https"} {
		if status, body := get(t, client, scheme+"://"+address+"/overview"); status != http.StatusOK {
			t.Errorf("%s: status %d: %s", scheme, status, body)
		}
	}
	if err := stop(); err != nil {
		t.Errorf("serve: %v", err)
	}
	for i, conn := range conns {
		if _, err := io.Copy(io.Discard, conn); err != nil && errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("connection %d is open after the end", i)
		}
		_ = conn.Close()
	}
}

func TestServeTellsOfALostPort(t *testing.T) {
	t.Parallel()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := newServer(&fakeGateway{}).Serve(t.Context(), l); !errors.Is(err, net.ErrClosed) {
		t.Errorf("got error %v", err)
	}
}

// shortListener is a port of a node that has no file descriptors left for a while.
type shortListener struct {
	net.Listener
	failures int
}

func (l *shortListener) Accept() (net.Conn, error) {
	if l.failures > 0 {
		l.failures--
		return nil, &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", syscall.EMFILE)}
	}
	return l.Listener.Accept()
}

// TestAServerThatIsStoppedHasNotFailed would catch an error of Serve because Accept ended with the context
// before the server saw the end of the context: an application that has ended normally would fail.
func TestAServerThatIsStoppedHasNotFailed(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds of a processor")
	}
	t.Parallel()
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	for range 200 { // the order differs
		var lc net.ListenConfig
		l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		if err := newServer(&fakeGateway{}).Serve(stopped, l); err != nil {
			t.Fatal(err)
		}
	}
}

// Otherwise a node that is short of file descriptors would end every application on it.
func TestServeOutlastsAShortageOfDescriptors(t *testing.T) {
	t.Parallel()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := newServer(&fakeGateway{})
	s.config.Proxy.Addresses = []netip.Addr{netip.MustParseAddr("127.0.0.1")}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, &shortListener{Listener: l, failures: 2}) }()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	if status, body := get(t, &http.Client{Transport: transport}, "http://"+l.Addr().String()+"/overview"); status != http.StatusOK {
		t.Errorf("status %d: %s", status, body)
	}
	cancel()
	if err := <-done; err != nil {
		t.Errorf("serve: %v", err)
	}
}

// TestAServerThatIsEndedAtOnceEndsWell would catch an ApplicationMaster that returns an error because it
// was stopped while it accepted connections.
func TestAServerThatIsEndedAtOnceEndsWell(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 50 { // the server may notice either end first
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		if err := newServer(&fakeGateway{}).Serve(ctx, l); err != nil {
			t.Fatal(err)
		}
	}
}
