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

	"github.com/bobbin-yarn/bobbin/internal/doorstep"
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

// TestTheStillestMakesRoom would catch a crowd that grows, a connection in use that is cut before an idle
// one, a connection of the owner that is cut for others, and a place that is freed twice.
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
			admit(m, false)
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
		if b.Close(); all["b"].closed != 2 { // as the connection's server does
			t.Errorf("a connection that was cut is closed %d times", all["b"].closed)
		}
		delete(all, "b")

		admit(&begunConn{Conn: c}, true)
		admit(c, false)
		admit(all["a"], true) // is in no crowd
		enter("e")
		cut("a")
		delete(all, "a")
		admit(d, true)
		f := enter("f")
		cut("e")
		delete(all, "e")

		admit(f, true)
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
			admit(m, true)
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

// TestThoseWithoutAllRightsAreFew would catch users who may only view, and who take all connections, each
// with the largest possible request; a user who is cut as soon as he connects; and a place that is lost
// with a user who was cut, or who has got all rights since.
func TestThoseWithoutAllRightsAreFew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		crowd := newCrowd(0)
		enter := func(all bool) (*still, net.Conn) {
			time.Sleep(time.Millisecond)
			conn := new(still)
			m, err := crowd.enter(t.Context(), conn)
			if err != nil {
				t.Fatal(err)
			}
			admit(m, all)
			return conn, m
		}
		owner, _ := enter(true)
		first, _ := enter(false)
		second, becomes := enter(false)
		third, thirds := enter(false)
		for range maxLesser - 3 {
			enter(false)
		}
		if first.closed > 0 || len(crowd.members) != 1+maxLesser {
			t.Fatalf("%d are in; the first is cut: %t", len(crowd.members), first.closed > 0)
		}
		if last, m := enter(false); first.closed == 0 || last.closed > 0 || len(crowd.members) != 1+maxLesser {
			t.Errorf("one more: %d are in, the first is cut: %t, the last: %t", len(crowd.members), first.closed > 0, last.closed > 0)
		} else {
			m.Close()
			m.Close() // once more, as its server may do
		}
		admit(becomes, true)
		enter(false)
		enter(false)
		if second.closed+third.closed > 0 {
			t.Error("one is cut though there are two places")
		}
		enter(false)
		if third.closed == 0 || second.closed+owner.closed > 0 {
			t.Errorf("cut are the third: %t, who has all rights: %t, %t", third.closed > 0, second.closed > 0, owner.closed > 0)
		}
		admit(thirds, false) // as its request is still being served
		thirds.Close()
		if crowd.lesser != maxLesser || len(crowd.members) != 2+maxLesser {
			t.Errorf("%d of %d have not all rights, want %d", crowd.lesser, len(crowd.members), maxLesser)
		}
	})
}

// TestNobodyIsCutWhileHeSaysWhoHeIs would catch an owner whom users without all rights keep out. Bytes
// always move on their connections, and while he waits for the process to verify him, his connection is the
// stillest.
func TestNobodyIsCutWhileHeSaysWhoHeIs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		crowd := newCrowd(4)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		enter := func() (*still, net.Conn) {
			time.Sleep(time.Millisecond)
			conn := new(still)
			m, err := crowd.enter(ctx, conn)
			if err != nil {
				t.Error(err)
			}
			return conn, m
		}
		owner, his := enter()
		looks, one := enter()
		admit(one, false)
		for range 10 {
			_, next := enter()
			admit(next, false)
		}
		if owner.closed > 0 || looks.closed == 0 {
			t.Fatalf("the owner is cut: %t, who came before others and may look: %t", owner.closed > 0, looks.closed > 0)
		}
		admit(his, true)
		_, stranger := enter()
		_, last := enter()
		entered := make(chan struct{})
		go func() {
			enter()
			close(entered)
		}()
		synctest.Wait()
		select {
		case <-entered:
			t.Error("one gets in for whom a stranger was cut, or the owner")
		default:
		}
		admit(last, false) // later connections find this state
		stranger.Close()
		<-entered
		if owner.closed > 0 {
			t.Error("the owner is cut")
		}
	})
}

// TestViewersDoNotKeepTheOwnerOut would catch a user who may view the cluster, or who has a ticket and no
// right at all, and who keeps its owner from ending it: on as many connections as there are places, he
// begins requests and does not end them.
func TestViewersDoNotKeepTheOwnerOut(t *testing.T) {
	t.Parallel()
	ticket := base64.StdEncoding.EncodeToString([]byte("ticket"))
	for name, test := range map[string]struct{ want, places, attempts int }{
		"bob": {http.StatusOK, 8, 20},
		// His user is never known, and he needs more places than unknown users have.
		"dave": {http.StatusForbidden, doorstep.Places + 8, doorstep.Places + 20},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := &fakeGateway{}
			address, owner, _ := serveConfigured(t, g, func(c *Config) {
				c.maxConnections = test.places
				c.Negotiator, c.ShortName = oneTicket{"ticket", name + "@EXAMPLE.ORG"}, shortName
				c.Rights = Rights{Owner: "alice", View: ParseACL("bob"), Enforced: true}
			})
			settings := owner.Transport.(*http.Transport).TLSClientConfig
			// ask fails if the connection is cut, as it may be before its user is known.
			ask := func(request, authorization string, want int) (conn restConn, err error) {
				if conn, err = dialREST(t, address, settings); err != nil {
					return conn, err
				}
				return conn, conn.ask(t, request, authorization, want)
			}
			bearer := "Bearer " + token
			his, err := ask("GET /jobs", bearer, http.StatusOK)
			if err != nil {
				t.Fatal(err)
			}
			for range test.attempts {
				if conn, err := ask("GET /jobs", "Negotiate "+ticket, test.want); err == nil {
					_, _ = fmt.Fprint(conn, "GET /jobs HTTP/1.1\r\nHost: am\r\n")
				}
			}
			cancel := "PATCH /jobs/" + string(runningID)
			if err := his.ask(t, cancel, bearer, http.StatusAccepted); err != nil {
				t.Fatal(err)
			}
			for tries := 1; ; tries++ {
				_, err := ask(cancel, bearer, http.StatusAccepted)
				if err == nil {
					break
				}
				if tries == test.attempts {
					t.Fatalf("the owner is cut off %d times: %v", tries, err)
				}
			}
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

func dialREST(t *testing.T, address string, settings *tls.Config) (restConn, error) {
	t.Helper()
	conn, err := tls.Dial("tcp", address, settings)
	if err != nil {
		return restConn{}, err
	}
	t.Cleanup(func() { conn.Close() })
	return restConn{conn, bufio.NewReader(conn)}, nil
}

// ask sends a request without a body, and wants this status.
func (c restConn) ask(t *testing.T, request, authorization string, want int) error {
	t.Helper()
	if _, err := fmt.Fprintf(c, "%s HTTP/1.1\r\nHost: am\r\nAuthorization: %s\r\n\r\n", request, authorization); err != nil {
		return err
	}
	response, err := http.ReadResponse(c.answers, nil)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return err
	}
	if response.StatusCode != want {
		t.Fatalf("%s: status %d, want %d", request, response.StatusCode, want)
	}
	return nil
}
