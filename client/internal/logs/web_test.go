package logs

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jcmturner/gokrb5/v8/iana/etypeID"
	"github.com/jcmturner/gokrb5/v8/types"

	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/kerberos"
	"github.com/bobbin-yarn/bobbin/yarnrpc/sasl"
)

// key is the key of the web server.
func key() types.EncryptionKey {
	return types.EncryptionKey{KeyType: etypeID.AES128_CTS_HMAC_SHA1_96, KeyValue: []byte("0123456789abcdef")}
}

// ticketServer answers clients that show a ticket for it, and asks others for one, like Hadoop's
// AuthenticationFilter.
func ticketServer(t *testing.T) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, shown := strings.CutPrefix(r.Header.Get("Authorization"), "Negotiate ")
		content, err := base64.StdEncoding.DecodeString(token)
		if !shown || err != nil {
			w.Header().Set("WWW-Authenticate", "Negotiate")
			http.Error(w, "Authentication required", http.StatusUnauthorized)
			return
		}
		if _, _, err := (&sasl.GSSAPIServer{Key: key()}).Next(content); err != nil {
			http.Error(w, err.Error(), http.StatusForbidden)
			return
		}
		_, _ = io.WriteString(w, "seen by "+r.URL.Query().Get("user.name")+" at "+r.Host)
	}))
	t.Cleanup(server.Close)
	return server
}

// kdc is a Login whose KDC knows one service.
type kdc struct {
	yarnrpc.Login
	service string
	key     types.EncryptionKey
}

func (k kdc) Ticket(_ context.Context, service string) (*sasl.Ticket, error) {
	if service != k.service {
		return nil, fmt.Errorf("get ticket of alice@EXAMPLE.ORG for %s: %w", service, kerberos.ErrUnknownService)
	}
	return sasl.IssueTicket("alice", service, "EXAMPLE.ORG", k.key, time.Hour)
}

// TestATicketIsShownToAWebServer would catch a header that no server can read, and two requests with the same
// bytes, which a server takes for a replay.
func TestATicketIsShownToAWebServer(t *testing.T) {
	web := Web{Login: kdc{service: "HTTP/node1", key: key()}}
	seen := make(map[string]bool)
	for range 2 {
		request := httptest.NewRequest(http.MethodGet, "http://Node1:8042/logs", http.NoBody)
		if _, err := web.show(request); err != nil {
			t.Fatal(err)
		}
		shown := request.Header.Get("Authorization")
		token, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(shown, "Negotiate "))
		if err != nil || !strings.HasPrefix(shown, "Negotiate ") {
			t.Fatalf("%q: %v", shown, err)
		}
		if _, _, err := (&sasl.GSSAPIServer{Key: key()}).Next(token); err != nil {
			t.Error(err)
		}
		seen[shown] = true
	}
	if len(seen) != 2 {
		t.Error("two requests show the same bytes")
	}
	request := httptest.NewRequest(http.MethodGet, "http://node1:8042/logs", http.NoBody)
	if _, err := (Web{Login: oneTicket{ticket: new(sasl.Ticket)}}).show(request); err == nil || request.Header.Get("Authorization") != "" {
		t.Errorf("a ticket for nobody is shown: %v", err)
	}
}

// ask returns the answer of a server to alice.
func ask(t *testing.T, address string, login yarnrpc.Login) (answer string, err error) {
	t.Helper()
	transport := &http.Transport{Proxy: nil}
	t.Cleanup(transport.CloseIdleConnections)
	web := Web{Client: &http.Client{Transport: transport}, User: "alice", Login: login}
	err = web.get(t.Context(), address, nil, "text/plain", func(body io.Reader) error {
		text, err := io.ReadAll(body)
		answer = string(text)
		return err
	})
	return answer, err
}

// TestServersThatWantATicketGetOne would catch that nobody can read logs if web servers require Kerberos, and a
// ticket for another host.
func TestServersThatWantATicketGetOne(t *testing.T) {
	t.Parallel()
	server := ticketServer(t)
	host := strings.TrimPrefix(server.URL, "http://")
	login := kdc{service: "HTTP/127.0.0.1", key: key()}
	if got, err := ask(t, server.URL, login); err != nil || got != "seen by alice at "+host {
		t.Errorf("got %q, %v", got, err)
	}
}

// TestWhoIsNotLetInIsToldWhy would catch an error that does not tell whose ticket is wrong, at which server,
// and the remedy.
func TestWhoIsNotLetInIsToldWhy(t *testing.T) {
	t.Parallel()
	server := ticketServer(t)
	other := key()
	other.KeyValue = []byte("fedcba9876543210")
	for name, test := range map[string]struct {
		login yarnrpc.Login
		want  error
		texts []string
	}{
		"without a login":                  {nil, errNoLogin, []string{"kinit"}},
		"where the KDC knows no such host": {kdc{service: "HTTP/elsewhere", key: key()}, kerberos.ErrUnknownService, []string{"alice@EXAMPLE.ORG", "HTTP/127.0.0.1"}},
		"where the server has another key": {kdc{service: "HTTP/127.0.0.1", key: other}, errRefused, []string{"403", "alice@EXAMPLE.ORG", "HTTP/127.0.0.1@EXAMPLE.ORG"}},
	} {
		_, err := ask(t, server.URL, test.login)
		if !errors.Is(err, test.want) {
			t.Errorf("%s: got %v, want %v", name, err, test.want)
			continue
		}
		for _, text := range append(slices.Clone(test.texts), server.URL) {
			if !strings.Contains(err.Error(), text) {
				t.Errorf("%s: %q is not in: %v", name, text, err)
			}
		}
	}
}

// TestTicketsAreForWhoAsks would catch a ticket that goes to a server that requires a password, and an error
// about the ticket if only a right is missing.
func TestTicketsAreForWhoAsks(t *testing.T) {
	t.Parallel()
	for challenge, code := range map[string]int{"Basic realm=x": http.StatusUnauthorized, "": http.StatusForbidden} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "" {
				t.Errorf("a server that asks %q is shown a ticket", challenge)
			}
			w.Header().Set("WWW-Authenticate", challenge)
			w.WriteHeader(code)
		}))
		t.Cleanup(server.Close)
		_, err := ask(t, server.URL, kdc{service: "HTTP/127.0.0.1", key: key()})
		if err == nil || errors.Is(err, errRefused) || errors.Is(err, errNoLogin) {
			t.Errorf("%q: got %v, want the status alone", challenge, err)
		}
	}
}
