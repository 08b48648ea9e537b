package rest

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/internal/spnego"
	"github.com/bobbin-yarn/bobbin/internal/doorstep"
)

// slowTicket accepts one ticket, slowly.
type slowTicket struct{ oneTicket }

func (s slowTicket) Accept(token []byte) (spnego.Ticket, error) {
	time.Sleep(time.Second)
	return s.oneTicket.Accept(token)
}

// siege is a Server in a bubble under the load of many clients, with all layers of a connection.
type siege struct {
	*pipes
	server *Server
	users  *tls.Config

	clients struct {
		sync.Mutex // guards what follows
		all        []net.Conn
		left       bool
	}
}

// besieged serves alice, who is the owner, and bob, who has a slow ticket and may view, until the bubble
// ends.
func besieged(t *testing.T, g Gateway, change func(*Server)) *siege {
	t.Helper()
	s := newServer(g)
	serverTLS, clientTLS := restTLS(t)
	s.config.TLS = serverTLS
	s.config.Negotiator, s.config.ShortName = slowTicket{oneTicket{"ticket", "bob@EXAMPLE.ORG"}}, shortName
	s.config.Rights = Rights{Owner: "alice", View: ParseACL("bob"), Enforced: true}
	change(s)
	p := &pipes{connections: make(chan net.Conn), closed: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, p) }()
	all := &siege{pipes: p, server: s, users: clientTLS}
	t.Cleanup(func() {
		all.leave() // nothing would read TLS' last message
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
		time.Sleep(time.Second) // net/http waits half a second after it has refused a client
	})
	return all
}

// client opens a connection, which lasts until leave.
func (s *siege) client() (near, far net.Conn) {
	near, far = net.Pipe()
	s.clients.Lock()
	defer s.clients.Unlock()
	if s.clients.left {
		near.Close()
	}
	s.clients.all = append(s.clients.all, near)
	return near, far
}

// leave closes all connections.
func (s *siege) leave() {
	s.clients.Lock()
	s.clients.left = true
	for _, conn := range s.clients.all {
		conn.Close()
	}
	s.clients.Unlock()
	synctest.Wait()
}

// ask sends a request on a connection of its own, when that is accepted.
func (s *siege) ask(request string) (*http.Response, error) {
	near, far := s.client()
	select {
	case s.connections <- far:
	case <-s.closed:
		return nil, net.ErrClosed
	}
	conn, err := s.say(near, request)
	if err != nil {
		return nil, err
	}
	return http.ReadResponse(bufio.NewReader(conn), nil)
}

// say establishes TLS, and sends a text while it reads what arrives.
func (s *siege) say(conn net.Conn, text string) (net.Conn, error) {
	secured := tls.Client(conn, s.users)
	if err := secured.Handshake(); err != nil {
		return nil, err
	}
	go func() { _, _ = io.WriteString(secured, text) }() // ends with the connection
	return secured, nil
}

// status returns the status of a request's answer.
func (s *siege) status(t *testing.T, request string) int {
	t.Helper()
	response, err := s.ask(request)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	return response.StatusCode
}

// soon returns the status of a request's answer, which must arrive within seconds.
func (s *siege) soon(t *testing.T, request string) int {
	t.Helper()
	began := time.Now()
	status := s.status(t, request)
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("an answer takes %s", took)
	}
	return status
}

// press makes the given number of clients open a connection and send a text; "": nothing, not even TLS.
func (s *siege) press(clients int, say string) {
	s.pressBy(clients, func(conn net.Conn) (net.Conn, error) {
		if say == "" {
			return conn, nil
		}
		return s.say(conn, say)
	})
}

// pressByProxy makes the given number of clients send a text in plain HTTP from the node of YARN's proxy.
func (s *siege) pressByProxy(clients int, say string) {
	s.pressBy(clients, func(conn net.Conn) (net.Conn, error) {
		go func() { _, _ = io.WriteString(conn, say) }() // ends with the connection
		return conn, nil
	})
}

func (s *siege) pressBy(clients int, say func(net.Conn) (net.Conn, error)) {
	for range clients {
		near, far := s.client()
		go func() { // ends with the connection
			select {
			case s.connections <- far:
			case <-s.closed:
				return
			}
			if conn, err := say(near); err == nil {
				_, _ = io.Copy(io.Discard, conn)
			}
		}()
	}
}

// Requests of bob's, and of the owner's.
const (
	withTicket = "GET /jobs HTTP/1.1\r\nHost: am\r\nAuthorization: Negotiate dGlja2V0\r\n\r\n"
	withToken  = "GET /jobs HTTP/1.1\r\nHost: am\r\nAuthorization: Bearer " + token + "\r\n\r\n"
)

// TestNobodyIsSentAwayWhileHisProofIsLookedAt would catch a client that is cut as too slow while a slow
// machine verifies its ticket: net/http reads on meanwhile, and other clients wait for its place.
func TestNobodyIsSentAwayWhileHisProofIsLookedAt(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		view string
		want int
	}{
		"and lets him in": {"bob", http.StatusOK},
		"and does not":    {"carol", http.StatusForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := besieged(t, &fakeGateway{}, func(s *Server) { s.config.Rights.View = ParseACL(test.view) })
				went := make(chan struct{})
				go func() { // ends with the ticket's answer
					defer close(went)
					time.Sleep(time.Second / 2) // while the ticket is verified
					s.press(10*doorstep.Places, "")
				}()
				if status := s.status(t, withTicket); status != test.want {
					t.Errorf("status %d, want %d", status, test.want)
				}
				<-went
			})
		})
	}
}

// TestWhoseBodyDoesNotComeMakesRoom would catch unknown users who hold their places for as long as a body
// may take, because the server reads the body before it refuses the request.
func TestWhoseBodyDoesNotComeMakesRoom(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds of a processor")
	}
	t.Parallel()
	for name, length := range map[string]string{"of some length": "Content-Length: 1000", "of any length": "Transfer-Encoding: chunked"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := besieged(t, &fakeGateway{}, func(*Server) {})
				s.press(3*doorstep.Places, "POST /jobs HTTP/1.1\r\nHost: am\r\n"+length+"\r\n\r\n")
				synctest.Wait()
				s.soon(t, withTicket)
			})
		})
	}
}

// TestTheProxysNodeDoesNotKeepTheOwnerOut is the attack of a process on the node of YARN's proxy: in the
// owner's name it takes all connections, with requests whose bodies do not arrive. It would catch
// connections of this process that are not cut for the owner himself, as if they had his rights.
func TestTheProxysNodeDoesNotKeepTheOwnerOut(t *testing.T) {
	t.Parallel()
	const places = 100
	synctest.Test(t, func(t *testing.T) {
		s := besieged(t, &fakeGateway{}, func(s *Server) { s.config.Proxy.Users, s.config.maxConnections = true, places })
		s.pressByProxy(3*places, "GET /jobs HTTP/1.1\r\nHost: am\r\nCookie: proxy-user=alice\r\nContent-Length: 10\r\n\r\n")
		synctest.Wait()
		if status := s.soon(t, withToken); status != http.StatusOK {
			t.Errorf("the owner is told %d", status)
		}
	})
}

// manyWords refuses all tickets, with long texts.
type manyWords struct{ oneTicket }

func (manyWords) Accept([]byte) (spnego.Ticket, error) {
	return spnego.Ticket{}, errors.New(strings.Repeat("\x01", maxHeader))
}

// TestWhoHasNoRightWaitsForNothing would catch clients that hold all places at the door while they wait for
// memory for their answers, and keep the owner out: users with a ticket and without the right to view, and
// unknown users whose refusals are long.
func TestWhoHasNoRightWaitsForNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds of a processor")
	}
	t.Parallel()
	for name, test := range map[string]struct {
		negotiator Negotiator
		say        string
	}{
		"who has a ticket":      {slowTicket{oneTicket{"ticket", "dave@EXAMPLE.ORG"}}, withTicket},
		"and for a long path":   {slowTicket{oneTicket{"ticket", "dave@EXAMPLE.ORG"}}, strings.Replace(withTicket, "/jobs", "/"+strings.Repeat("%01", 4000), 1)},
		"whose ticket is wrong": {manyWords{}, withTicket},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := besieged(t, &fakeGateway{}, func(s *Server) {
					s.config.Negotiator = test.negotiator
					s.answers.some.turn <- struct{}{} // bob views
				})
				s.press(3*doorstep.Places, test.say)
				synctest.Wait()
				if status := s.soon(t, withToken); status != http.StatusOK {
					t.Errorf("the owner is told %d", status)
				}
			})
		})
	}
}
