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

// slowTicket takes one ticket, and its time.
type slowTicket struct{ oneTicket }

func (s slowTicket) Accept(token []byte) (spnego.Ticket, error) {
	time.Sleep(time.Second)
	return s.oneTicket.Accept(token)
}

// siege is a Server in a bubble that many press upon, with all that lies over a connection.
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

// besieged serves the owner, who is alice, and bob, who has a slow ticket and may look, until the
// bubble ends.
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
		all.leave() // nobody would read what TLS says at its end
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
		time.Sleep(time.Second) // net/http stays for half of one with a client whom it sends away
	})
	return all
}

// client is a new connection, until leave.
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

// leave ends all connections.
func (s *siege) leave() {
	s.clients.Lock()
	s.clients.left = true
	for _, conn := range s.clients.all {
		conn.Close()
	}
	s.clients.Unlock()
	synctest.Wait()
}

// ask sends a request on a connection of its own, once that is accepted.
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

// say establishes TLS, and says something while what comes is read.
func (s *siege) say(conn net.Conn, text string) (net.Conn, error) {
	secured := tls.Client(conn, s.users)
	if err := secured.Handshake(); err != nil {
		return nil, err
	}
	go func() { _, _ = io.WriteString(secured, text) }() // ends with the connection
	return secured, nil
}

// status is that of the answer to a request.
func (s *siege) status(t *testing.T, request string) int {
	t.Helper()
	response, err := s.ask(request)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	return response.StatusCode
}

// soon is the status of the answer to a request, which must come within seconds.
func (s *siege) soon(t *testing.T, request string) int {
	t.Helper()
	began := time.Now()
	status := s.status(t, request)
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("an answer takes %s", took)
	}
	return status
}

// press has so many clients open a connection and say this; "": nothing, not even of TLS.
func (s *siege) press(clients int, say string) {
	s.pressBy(clients, func(conn net.Conn) (net.Conn, error) {
		if say == "" {
			return conn, nil
		}
		return s.say(conn, say)
	})
}

// pressByProxy has so many clients say this in plain HTTP, from the node of YARN's proxy.
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

// TestNobodyIsSentAwayWhileHisProofIsLookedAt would catch a client that is taken for one who
// keeps the process waiting, as net/http reads on while a slow machine verifies its ticket, and
// others wait for its place.
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
					time.Sleep(time.Second / 2) // while the ticket is looked at
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

// TestWhoseBodyDoesNotComeMakesRoom would catch strangers who hold their places for as long as a
// body may take, as it is read before they are told that nobody wants it.
func TestWhoseBodyDoesNotComeMakesRoom(t *testing.T) {
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

// TestTheProxysNodeDoesNotKeepTheOwnerOut is the attack of a process on the node of YARN's proxy: in the owner's name it
// takes all connections there are, by requests whose bodies do not come. It would catch one that is not cut for the owner
// himself, as if it had his rights.
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

// manyWords refuses all tickets, with what they say of themselves.
type manyWords struct{ oneTicket }

func (manyWords) Accept([]byte) (spnego.Ticket, error) {
	return spnego.Ticket{}, errors.New(strings.Repeat("\x01", maxHeader))
}

// TestWhoHasNoRightWaitsForNothing would catch strangers who hold all places at the door, and keep the
// owner out, as they wait there for the memory of answers that others do not leave them: users with a
// ticket and without a right to look, and those whom nobody knows and who are refused in many words.
func TestWhoHasNoRightWaitsForNothing(t *testing.T) {
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
					s.answers.some.turn <- struct{}{} // bob looks
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
