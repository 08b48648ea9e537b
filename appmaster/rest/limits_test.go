package rest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/doorstep"
	"github.com/bobbin-yarn/bobbin/internal/testing/heaptest"
)

// pipes is a listener without sockets, so that a bubble's clock advances while everything waits.
type pipes struct {
	connections chan net.Conn
	closed      chan struct{}

	mu         sync.Mutex // guards what follows
	open, most int        // connections that the server holds, and the most that it held
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.connections:
		p.mu.Lock()
		defer p.mu.Unlock()
		p.open++
		p.most = max(p.most, p.open)
		return &proxyEnd{Conn: conn, pipes: p}, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	close(p.closed)
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// dial returns the client's end of a new connection, which is closed at the end of the test. It waits until
// the server accepts the connection.
func (p *pipes) dial(t *testing.T) net.Conn {
	t.Helper()
	near, far := net.Pipe()
	p.connections <- far
	t.Cleanup(func() { near.Close() })
	return near
}

// proxyEnd is the server's end of a connection that comes from YARN's proxy.
type proxyEnd struct {
	net.Conn
	pipes *pipes
	once  sync.Once
}

func (e *proxyEnd) Close() error {
	e.once.Do(func() {
		e.pipes.mu.Lock()
		defer e.pipes.mu.Unlock()
		e.pipes.open--
	})
	return e.Conn.Close()
}

func (*proxyEnd) RemoteAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.MustParseAddrPort("10.0.0.1:1"))
}

// inBubble runs a test against a Server in a bubble with a clock of its own.
func inBubble(t *testing.T, test func(t *testing.T, p *pipes)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := &pipes{connections: make(chan net.Conn), closed: make(chan struct{})}
		ctx, cancel := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() { served <- newServer(&fakeGateway{}).Serve(ctx, p) }()
		test(t, p)
		cancel()
		if err := <-served; err != nil {
			t.Errorf("serve: %v", err)
		}
		time.Sleep(time.Second) // net/http waits half a second after it has refused a client
	})
}

// answers sends a request on a new connection, and returns the status.
func answers(t *testing.T, p *pipes) (int, error) {
	t.Helper()
	conn := p.dial(t)
	defer conn.Close()
	if _, err := fmt.Fprint(conn, "GET /jobs HTTP/1.1\r\nHost: am\r\n\r\n"); err != nil {
		return 0, err
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0, err
	}
	return response.StatusCode, response.Body.Close()
}

// drip writes a text byte by byte with a pause before each, and returns what it could write before the
// server ended the connection.
func drip(conn net.Conn, text string, pause time.Duration) int {
	for i := range len(text) {
		time.Sleep(pause)
		if _, err := io.WriteString(conn, text[i:i+1]); err != nil {
			return i
		}
	}
	return len(text)
}

// TestSlowClientsAreSentAway would catch a client that keeps a connection for ever by sending a little now
// and then, or nothing.
func TestSlowClientsAreSentAway(t *testing.T) {
	t.Parallel()
	const enough = 1000 // seconds
	filler := strings.Repeat("x", enough)
	for name, test := range map[string]struct {
		begin, slow string
		most        time.Duration
	}{
		"that send headers slowly":        {"GET /jobs HTTP/1.1\r\n", "X: " + filler, headerTime},
		"that send the first line slowly": {"G", "ET /" + filler, headerTime},
		"that send a body slowly":         {"GET /jobs HTTP/1.1\r\nHost: am\r\nContent-Length: 5000\r\n\r\n", filler, readTime},
		"that begin TLS and go on slowly": {"\x16", "\x03\x01\x40\x00" + filler, headerTime},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T, p *pipes) {
				conn := p.dial(t)
				go func() { _, _ = io.Copy(io.Discard, conn) }() // what it is told ends with the connection
				if _, err := io.WriteString(conn, test.begin); err != nil {
					t.Fatal(err)
				}
				const pause = time.Second
				if got := drip(conn, test.slow, pause); time.Duration(got)*pause > test.most+pause {
					t.Errorf("the server has taken %d bytes, one a second", got)
				}
			})
		})
	}
	t.Run("that say nothing", func(t *testing.T) {
		t.Parallel()
		inBubble(t, func(t *testing.T, p *pipes) {
			conn := p.dial(t)
			time.Sleep(enough * time.Second)
			if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
				t.Errorf("got %v, want the connection's end", err)
			}
		})
	})
	t.Run("that do not read their answer", func(t *testing.T) {
		t.Parallel()
		inBubble(t, func(t *testing.T, p *pipes) {
			conn := p.dial(t)
			if _, err := io.WriteString(conn, "GET /jobs HTTP/1.1\r\nHost: am\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			time.Sleep(enough * time.Second)
			if left, err := io.ReadAll(conn); len(left) > 0 || err != nil {
				t.Errorf("got %d bytes and %v, want the connection's end", len(left), err)
			}
		})
	})
}

// TestHugeRequestsAreCut would catch a client that fills the ApplicationMaster's memory with headers, or
// keeps it busy with a body that no handler reads.
func TestHugeRequestsAreCut(t *testing.T) {
	t.Parallel()
	const most = 1 << 20 // net/http reads 256 KiB of a body twice, to end an answer in order
	for name, test := range map[string]struct {
		begin string
		want  int
	}{
		"with a header":    {"GET /jobs HTTP/1.1\r\nHost: am\r\nX: ", http.StatusRequestHeaderFieldsTooLarge},
		"with a path":      {"GET /", http.StatusRequestHeaderFieldsTooLarge},
		"with a body":      {"GET /jobs HTTP/1.1\r\nHost: am\r\nContent-Length: 1000000000\r\n\r\n", http.StatusOK},
		"with body chunks": {"GET /jobs HTTP/1.1\r\nHost: am\r\nTransfer-Encoding: chunked\r\n\r\n10000000\r\n", http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T, p *pipes) {
				conn := p.dial(t)
				taken := make(chan int, 1)
				go func() { // ends with the connection
					_, _ = io.WriteString(conn, test.begin)
					n := 0
					for block := strings.Repeat("x", 1<<10); n < most; {
						m, err := io.WriteString(conn, block)
						if n += m; err != nil {
							break
						}
					}
					taken <- n
				}()
				response, err := http.ReadResponse(bufio.NewReader(conn), nil)
				if err != nil {
					t.Fatal(err)
				}
				defer response.Body.Close()
				if response.StatusCode != test.want {
					t.Errorf("got status %d, want %d", response.StatusCode, test.want)
				}
				go func() { _, _ = io.Copy(io.Discard, conn) }() // what is left ends with the connection
				if n := <-taken; n >= most {
					t.Errorf("the server has taken %d bytes", n)
				}
			})
		})
	}
}

// TestManyConnectionsLeaveRoom would catch a client that takes all file descriptors of the process or its
// memory, or keeps other clients out for good.
func TestManyConnectionsLeaveRoom(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds of a processor")
	}
	t.Parallel()
	const request = "GET /jobs HTTP/1.1\r\nHost: am\r\n\r\n"
	for name, test := range map[string]struct {
		begin string
		deaf  bool // to what they are told
		many  int
		most  int
	}{
		"that say nothing":                {"", false, 2000, doorstep.Places},
		"that begin a request":            {"G", false, 2000, doorstep.Places},
		"that do not end their headers":   {"GET /jobs HTTP/1.1\r\nHost: am\r\nX: " + strings.Repeat("x", 4<<10), false, 2000, doorstep.Places},
		"that begin with TLS":             {"\x16\x03\x01", false, 2000, doorstep.Places},
		"that do not read what they want": {request, true, 300, maxLesser + doorstep.Places},
		"whose bodies do not come":        {"GET /jobs HTTP/1.1\r\nHost: am\r\nContent-Length: 9\r\n\r\n", false, 300, maxLesser + doorstep.Places},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T, p *pipes) {
				for range test.many {
					conn := p.dial(t)
					go func() { // ends with the connection
						if _, err := io.WriteString(conn, test.begin); err == nil && !test.deaf {
							_, _ = io.Copy(io.Discard, conn)
						}
					}()
				}
				synctest.Wait()
				status, err := answers(t, p)
				if err != nil || status != http.StatusOK {
					t.Errorf("who comes next: status %d, %v", status, err)
				}
				p.mu.Lock()
				defer p.mu.Unlock()
				if p.most > test.most {
					t.Errorf("%d connections were open at a time, %d at most should be", p.most, test.most)
				}
			})
		})
	}
}

// manyFields is a request with as many header fields as it may have.
func manyFields() []byte {
	const (
		letters = "abcdefghijklmnopqrstuvwxyz0123456789!#$%&'*+-.^_`|~"
		slop    = 4 << 10 // what net/http takes beyond MaxHeaderBytes
	)
	request := []byte("GET /jobs HTTP/1.1\r\nHost: am\r\n")
	for i := 1; len(request) < maxHeader+slop-len("abc:\n\r\n"); i++ {
		for n := i; n > 0; n /= len(letters) + 1 { // the format drops zeros, so that some names come twice
			if n%(len(letters)+1) > 0 {
				request = append(request, letters[n%(len(letters)+1)-1])
			}
		}
		request = append(request, ":\n"...)
	}
	return append(request, "\r\n"...)
}

// TestHeadersOfViewersLeaveRoom is the attack of users who may view, and of unknown users: on as many
// connections as they get, they send as many header fields as they can, with short names and no values. It
// would catch requests that fill an ApplicationMaster of 512 MB when they are parsed.
func TestHeadersOfViewersLeaveRoom(t *testing.T) { // not parallel: it measures the process' memory
	const (
		many = 8
		most = (256*30/100 - 15) << 20 // the rest of such an ApplicationMaster's heap beside jobs, bodies, answers and the program
	)
	request := manyFields()
	held := make([]*http.Request, 0, many)
	before := heaptest.InUse()
	for range many {
		r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(request)))
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, r)
	}
	each := (heaptest.InUse() - before) / many
	t.Logf("%d header fields take %d KiB", len(held[0].Header), each>>10)
	if all := each * (maxLesser + doorstep.Places); all > most {
		t.Errorf("%d requests of %d bytes take %d KiB each, %d MiB in all; want %d MiB at most", maxLesser+doorstep.Places, len(request), each>>10, all>>20, most>>20)
	}
}

// TestRefusalsEndAConnection would catch an unknown user who holds his place at the door with one refused
// request after another, and a user with a right whose connection is cut after refusals, or because he
// learned from a refusal how to authenticate.
func TestRefusalsEndAConnection(t *testing.T) {
	t.Parallel()
	const (
		request = " HTTP/1.1\r\nHost: am\r\n"
		nothing = "GET /jobs" + request + "\r\n"
		proof   = "GET /jobs" + request + "Authorization: Bearer " + token + "\r\n\r\n"
		ticket  = "GET /jobs" + request + "Authorization: Negotiate dGlja2V0\r\n\r\n"
		many    = 10
	)
	for name, test := range map[string]struct {
		requests []string
		rights   Rights
		want     int // answers
		last     int // status
	}{
		"without a proof":             {[]string{nothing}, Rights{}, maxRefused, http.StatusUnauthorized},
		"that no door looks at":       {[]string{"OPTIONS *" + request + "\r\n"}, Rights{}, maxRefused, http.StatusUnauthorized},
		"with a ticket of no use":     {[]string{ticket}, Rights{Owner: "alice"}, maxRefused, http.StatusForbidden},
		"with a ticket that is":       {[]string{ticket}, Rights{View: ParseACL("bob")}, many, http.StatusOK},
		"with one that lets change":   {[]string{ticket}, Rights{Modify: ParseACL("bob")}, many, http.StatusForbidden},
		"with a proof at last":        {append([]string{nothing}, slices.Repeat([]string{proof}, many-1)...), Rights{}, many, http.StatusOK},
		"with a proof once":           {append([]string{proof}, slices.Repeat([]string{nothing}, many-1)...), Rights{}, many, http.StatusUnauthorized},
		"with a proof that is late":   {append(slices.Repeat([]string{nothing}, maxRefused), proof), Rights{}, maxRefused, http.StatusUnauthorized},
		"without a proof, of no path": {[]string{"POST /nowhere" + request + "\r\n"}, Rights{}, maxRefused, http.StatusUnauthorized},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newServer(&fakeGateway{})
				s.config.Negotiator, s.config.ShortName, s.config.Rights = oneTicket{"ticket", "bob@EXAMPLE.ORG"}, shortName, test.rights
				server := s.httpServer(s.secure())
				p := &pipes{connections: make(chan net.Conn), closed: make(chan struct{})}
				served := make(chan error, 1)
				go func() { served <- server.Serve(p) }()
				conn := p.dial(t)
				go func() { // ends with the connection
					for i := range many {
						if _, err := io.WriteString(conn, test.requests[min(i, len(test.requests)-1)]); err != nil {
							return
						}
					}
				}()
				answers, last, closes := 0, 0, false
				for r := bufio.NewReader(conn); answers < many; answers++ {
					response, err := http.ReadResponse(r, nil)
					if err != nil {
						break
					}
					_, _ = io.Copy(io.Discard, response.Body)
					response.Body.Close()
					last, closes = response.StatusCode, response.Close
				}
				if answers != test.want || last != test.last || closes != (test.want < many) {
					t.Errorf("%d answers, the last with status %d; want %d and %d. It ends the connection: %t", answers, last, test.want, test.last, closes)
				}
				conn.Close()
				if err := server.Close(); err != nil {
					t.Error(err)
				}
				if err := <-served; !errors.Is(err, http.ErrServerClosed) {
					t.Error(err)
				}
				time.Sleep(time.Second) // net/http waits half a second after it has refused a client
			})
		})
	}
}
