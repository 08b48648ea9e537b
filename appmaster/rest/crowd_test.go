package rest

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// still is a connection on which nothing moves unless it is read.
type still struct {
	net.Conn
	closed int
}

func (*still) Read([]byte) (int, error) { return 1, nil }

func (s *still) Close() error {
	s.closed++
	return nil
}

// TestTheStillestMakesRoom would catch a crowd that grows, a connection in use that is cut
// before one that is not, one of the owner's that is cut for others, and a place that is free
// twice.
func TestTheStillestMakesRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		crowd, all := newCrowd(4), make(map[string]*still)
		ctx, cancel := context.WithCancelCause(t.Context())
		enter := func(name string) net.Conn {
			time.Sleep(time.Millisecond)
			all[name] = new(still)
			m, err := crowd.enter(ctx, all[name])
			if err != nil {
				t.Errorf("%s does not get in: %v", name, err)
			}
			return m
		}
		cut := func(want ...string) {
			t.Helper()
			for name, conn := range all {
				closed := 0
				for _, w := range want {
					if w == name {
						closed = 1
					}
				}
				if conn.closed != closed {
					t.Errorf("%s is closed %d times, want %d", name, conn.closed, closed)
				}
			}
		}
		a, b, c := enter("a"), enter("b"), enter("c")
		cut()
		time.Sleep(time.Millisecond)
		if _, err := a.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		d := enter("d")
		cut("b")
		if b.Close(); all["b"].closed != 2 { // as whoever served it does
			t.Errorf("a connection that was cut is closed %d times", all["b"].closed)
		}
		delete(all, "b")

		stay(&begunConn{Conn: c})
		stay(all["a"]) // is of no crowd
		enter("e")
		cut("a")
		delete(all, "a")
		stay(d)
		f := enter("f")
		cut("e")
		delete(all, "e")

		stay(f)
		entered := make(chan error, 1)
		wait := func(conn net.Conn) {
			_, err := crowd.enter(ctx, conn)
			entered <- err
		}
		go wait(new(still))
		synctest.Wait()
		if len(entered) > 0 {
			t.Error("one gets in though all others stay")
		}
		d.Close()
		if err := <-entered; err != nil {
			t.Errorf("one does not get in though another has left: %v", err)
		}
		cut("d")

		for m := range crowd.members {
			stay(m)
		}
		ends := errors.New("the server ends")
		go wait(new(still))
		synctest.Wait()
		cancel(ends)
		if err := <-entered; !errors.Is(err, ends) {
			t.Errorf("waiting ends with %v, want the cause", err)
		}
	})
}

// TestViewersDoNotKeepTheOwnerOut would catch a user who may look at the cluster, or one who
// has a ticket and no right at all, and who keeps its owner from ending it: by as many
// connections as there are places for, on which he begins requests and does not end them.
func TestViewersDoNotKeepTheOwnerOut(t *testing.T) {
	t.Parallel()
	ticket := base64.StdEncoding.EncodeToString([]byte("ticket"))
	for name, want := range map[string]int{"bob": http.StatusOK, "dave": http.StatusForbidden} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := &fakeGateway{}
			address, owner, _ := serveConfigured(t, g, func(c *Config) {
				c.maxConnections = 8
				c.Negotiator, c.ShortName = oneTicket{"ticket", name + "@EXAMPLE.ORG"}, shortName
				c.Rights = Rights{Owner: "alice", View: ParseACL("bob"), Enforced: true}
			})
			settings := owner.Transport.(*http.Transport).TLSClientConfig
			bearer := "Bearer " + token
			his := dialREST(t, address, settings)
			his.ask(t, "GET /jobs", bearer, http.StatusOK)
			for range 20 {
				conn := dialREST(t, address, settings)
				conn.ask(t, "GET /jobs", "Negotiate "+ticket, want)
				_, _ = fmt.Fprint(conn, "GET /jobs HTTP/1.1\r\nHost: am\r\n")
			}
			cancel := "PATCH /jobs/" + string(runningID)
			his.ask(t, cancel, bearer, http.StatusAccepted)
			dialREST(t, address, settings).ask(t, cancel, bearer, http.StatusAccepted)
			if len(g.cancelled) != 2 {
				t.Errorf("the owner has cancelled %d jobs, want 2", len(g.cancelled))
			}
		})
	}
}

// restConn is one connection to REST.
type restConn struct {
	*tls.Conn
	answers *bufio.Reader
}

func dialREST(t *testing.T, address string, settings *tls.Config) restConn {
	t.Helper()
	conn, err := tls.Dial("tcp", address, settings)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return restConn{conn, bufio.NewReader(conn)}
}

// ask sends a request without a body, and wants this status.
func (c restConn) ask(t *testing.T, request, authorization string, want int) {
	t.Helper()
	if _, err := fmt.Fprintf(c, "%s HTTP/1.1\r\nHost: am\r\nAuthorization: %s\r\n\r\n", request, authorization); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(c.answers, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != want {
		t.Fatalf("%s: status %d, want %d", request, response.StatusCode, want)
	}
}
