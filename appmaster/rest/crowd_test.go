package rest

import (
	"bufio"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/bobbin-yarn/bobbin/internal/doorstep"
)

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
