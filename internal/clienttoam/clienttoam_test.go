package clienttoam_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/bobbin-yarn/bobbin/internal/clienttoam"
	"github.com/bobbin-yarn/bobbin/internal/testing/clienttoamtest"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	attempt  = records.ApplicationAttemptID{Application: records.ApplicationID{ClusterTimestamp: 1700000000000, ID: 7}, Attempt: 2}
	key      = []byte("8 bytes.")
	otherKey = []byte("8 others")
)

func verifier(t *testing.T, key []byte) *clienttoam.Verifier {
	t.Helper()
	v, err := clienttoam.NewVerifier(attempt, "")
	if err != nil {
		t.Fatal(err)
	}
	v.SetKey(key)
	return v
}

// master serves TLS until the test ends, and returns its address. seen receives the result of
// verifying a request's Authorization.
func master(t *testing.T, v *clienttoam.Verifier, seen func(authorization, name string, err error)) string {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent := r.Header.Get("Authorization")
		if sent == "" {
			fmt.Fprint(w, "whoever has the connection")
			return
		}
		name, answer, err := v.Verify(sent, r.TLS)
		seen(sent, name, err)
		switch {
		case errors.Is(err, clienttoam.ErrNoKey):
			w.WriteHeader(http.StatusServiceUnavailable)
		case err != nil:
			w.WriteHeader(http.StatusUnauthorized)
		default:
			w.Header().Set(clienttoam.AnswerHeader, answer)
		}
	}))
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

func unseen(string, string, error) {}

func TestBothEndsProveThemselves(t *testing.T) {
	t.Parallel()
	var name string
	address := master(t, verifier(t, key), func(_, n string, _ error) { name = n })
	conn, err := clienttoam.Dial(t.Context(), address, clienttoamtest.Token(t, key, attempt, "bob@EXAMPLE.ORG"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if name != "bob@EXAMPLE.ORG" {
		t.Errorf("the server has let %q in", name)
	}
	// Further requests use the connection like a new one.
	if _, err := fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: am\r\nConnection: close\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(conn)
	if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 200") || !strings.HasSuffix(string(answer), "whoever has the connection") {
		t.Errorf("got %q, %v", answer, err)
	}
}

// TestOthersAreRefused would catch a client that is accepted without a token for this attempt.
func TestOthersAreRefused(t *testing.T) {
	t.Parallel()
	good := clienttoamtest.Token(t, key, attempt, "bob")
	earlier := attempt
	earlier.Attempt--
	renamed := clienttoamtest.Token(t, otherKey, attempt, "alice") // the password is bob's
	renamed.Password = good.Password
	garbled := good.Clone()
	garbled.Identifier = []byte{0xff}
	for name, test := range map[string]struct {
		key   []byte // the server's
		token *creds.Token
		want  error // at the server
		text  string
		told  error // at the client
	}{
		"a token made with another key":                 {key, clienttoamtest.Token(t, otherKey, attempt, "bob"), clienttoam.ErrRefused, "does not match", clienttoam.ErrUnproven},
		"bob's password under alice's name":             {key, renamed, clienttoam.ErrRefused, "does not match", clienttoam.ErrUnproven},
		"a token for the attempt before":                {key, clienttoamtest.Token(t, otherKey, earlier, "bob"), clienttoam.ErrRefused, "report from YARN again", clienttoam.ErrUnproven},
		"a token for nobody":                            {key, clienttoamtest.Token(t, key, attempt, ""), clienttoam.ErrRefused, "names no user", clienttoam.ErrUnproven},
		"a token with an identifier that is none":       {key, garbled, clienttoam.ErrRefused, "identifier", clienttoam.ErrUnproven},
		"a token while YARN has not given the key":      {nil, good, clienttoam.ErrNoKey, "", clienttoam.ErrNoKey},
		"a token made with an empty key, which is none": {[]byte{}, clienttoamtest.Token(t, nil, attempt, "bob"), clienttoam.ErrNoKey, "", clienttoam.ErrNoKey},
		"bob's identifier without its password":         {key, &creds.Token{Identifier: good.Identifier}, clienttoam.ErrRefused, "does not match", clienttoam.ErrUnproven},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var found error
			address := master(t, verifier(t, test.key), func(_, _ string, err error) { found = err })
			conn, err := clienttoam.Dial(t.Context(), address, test.token)
			if !errors.Is(err, test.told) {
				t.Errorf("the client is told %v, want %v", err, test.told)
			}
			if err == nil {
				conn.Close()
			}
			if !errors.Is(found, test.want) || !strings.Contains(found.Error(), test.text) {
				t.Errorf("the server finds %v, want %v and %q", found, test.want, test.text)
			}
		})
	}
}

// TestALostKeyIsToldFromALateOne would catch a client that waits for ever for an ApplicationMaster that leads and never gets
// a key, and one that gives up an ApplicationMaster that does not lead yet.
func TestALostKeyIsToldFromALateOne(t *testing.T) {
	t.Parallel()
	for retry, lost := range map[string]bool{"": true, "1": false} {
		server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if retry != "" {
				w.Header().Set("Retry-After", retry) // as package rest does before the ApplicationMaster leads
			}
			w.WriteHeader(http.StatusServiceUnavailable)
		}))
		t.Cleanup(server.Close)
		_, err := clienttoam.Dial(t.Context(), server.Listener.Addr().String(), clienttoamtest.Token(t, key, attempt, "bob"))
		if !errors.Is(err, clienttoam.ErrNoKey) || errors.Is(err, clienttoam.ErrKeyLost) != lost {
			t.Errorf("Retry-After is %q: got %v", retry, err)
		}
	}
}

// TestProofsHoldOnTheirConnectionOnly would catch a proof that was overheard on one connection and
// is valid on another.
func TestProofsHoldOnTheirConnectionOnly(t *testing.T) {
	t.Parallel()
	v := verifier(t, key)
	var overheard string
	address := master(t, v, func(sent, _ string, _ error) { overheard = sent })
	first, err := clienttoam.Dial(t.Context(), address, clienttoamtest.Token(t, key, attempt, "bob"))
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	second, err := (&tls.Dialer{Config: unchecked()}).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	identifier, _, _ := strings.Cut(overheard, ", ")
	for name, header := range map[string]string{
		"replayed":                    overheard,
		"without its proof":           identifier,
		"with an empty proof":         identifier + ", proof=",
		"with bytes behind the proof": overheard + "AAAA",
		"of another scheme":           "Bearer " + overheard,
	} {
		state := second.(*tls.Conn).ConnectionState()
		if got, _, err := v.Verify(header, &state); !errors.Is(err, clienttoam.ErrRefused) {
			t.Errorf("credentials %s open the door to %q: %v", name, got, err)
		}
	}
	if _, _, err := v.Verify(overheard, nil); !errors.Is(err, clienttoam.ErrRefused) {
		t.Errorf("without TLS: %v", err)
	}
}

func unchecked() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS13, InsecureSkipVerify: true}
}

// middle accepts one connection with a certificate of its own, reads a request, and lets answer act
// as an attacker in the middle. It waits for all of that when the test ends.
func middle(t *testing.T, answer func(conn net.Conn, request *http.Request)) string {
	t.Helper()
	bystander := httptest.NewTLSServer(http.NotFoundHandler()) // for its certificate
	certificate := bystander.TLS.Certificates
	bystander.Close()
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{MinVersion: tls.VersionTLS13, Certificates: certificate})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		if request, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
			answer(conn, request)
		}
	}()
	t.Cleanup(func() {
		listener.Close()
		<-done
	})
	return listener.Addr().String()
}

// TestTheManInTheMiddleIsFound would catch a client that trusts, or sends a request to, a server
// that is not the ApplicationMaster.
func TestTheManInTheMiddleIsFound(t *testing.T) {
	t.Parallel()
	var atMaster error
	am := master(t, verifier(t, key), func(_, _ string, err error) { atMaster = err })
	const ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n"
	for name, answer := range map[string]func(conn net.Conn, request *http.Request){
		"passes all on to the ApplicationMaster": func(conn net.Conn, request *http.Request) {
			onward, err := (&tls.Dialer{Config: unchecked()}).DialContext(t.Context(), "tcp", am)
			if err != nil {
				t.Error(err)
				return
			}
			defer onward.Close()
			request.Header.Set("Connection", "close")
			if err := request.Write(onward); err != nil {
				t.Error(err)
			}
			_, _ = io.Copy(conn, onward) // the client may leave before the end
		},
		"sends the client's own proof back": func(conn net.Conn, request *http.Request) {
			_, proof, _ := strings.Cut(request.Header.Get("Authorization"), ", ")
			fmt.Fprintf(conn, "%s%s: %s\r\n\r\n", ok, clienttoam.AnswerHeader, proof)
		},
		"proves nothing": func(conn net.Conn, _ *http.Request) { fmt.Fprint(conn, ok+"\r\n") },
		"sends an empty proof": func(conn net.Conn, _ *http.Request) {
			fmt.Fprintf(conn, "%s%s: proof=\r\n\r\n", ok, clienttoam.AnswerHeader)
		},
		"is the ApplicationMaster, and has an answer ready for the next request": func(conn net.Conn, request *http.Request) {
			state := conn.(*tls.Conn).ConnectionState()
			_, answer, err := verifier(t, key).Verify(request.Header.Get("Authorization"), &state)
			if err != nil {
				t.Error(err)
			}
			fmt.Fprintf(conn, "%s%s: %s\r\n\r\n%s\r\n{}", ok, clienttoam.AnswerHeader, answer, ok)
		},
		"speaks no HTTP": func(conn net.Conn, _ *http.Request) { fmt.Fprint(conn, "220 mail\r\n") },
		"never ends its headers": func(conn net.Conn, _ *http.Request) {
			fmt.Fprint(conn, ok)
			for range 1 << 10 {
				if _, err := fmt.Fprintf(conn, "X: %s\r\n", strings.Repeat("x", 1<<10)); err != nil {
					return
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, err := clienttoam.Dial(t.Context(), middle(t, answer), clienttoamtest.Token(t, key, attempt, "bob"))
			if err == nil {
				conn.Close()
			}
			if !errors.Is(err, clienttoam.ErrUnproven) {
				t.Errorf("got %v, want ErrUnproven", err)
			}
		})
	}
	t.Cleanup(func() { // all parts have ended
		if !errors.Is(atMaster, clienttoam.ErrRefused) {
			t.Errorf("the ApplicationMaster finds %v of what was passed on", atMaster)
		}
	})
}

// TestDialEndsWithItsContext would catch a client that hangs at a silent server.
func TestDialEndsWithItsContext(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{})
	address := middle(t, func(conn net.Conn, _ *http.Request) {
		close(asked)
		_, _ = conn.Read(make([]byte, 1)) // until the client leaves
	})
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	go func() {
		<-asked
		cancel(enough)
	}()
	if _, err := clienttoam.Dial(ctx, address, clienttoamtest.Token(t, key, attempt, "bob")); !errors.Is(err, enough) {
		t.Errorf("got %v, want the context's cause", err)
	}
}

// TestOldTLSIsRefused would catch a connection whose exported keying material is not unique (RFC
// 7627 §1).
func TestOldTLSIsRefused(t *testing.T) {
	t.Parallel()
	address := master(t, verifier(t, key), unseen)
	conn, err := (&tls.Dialer{Config: &tls.Config{MaxVersion: tls.VersionTLS12, InsecureSkipVerify: true}}).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	state := conn.(*tls.Conn).ConnectionState()
	if _, _, err := verifier(t, key).Verify("ClientToAM token=AA, proof=AA", &state); !errors.Is(err, clienttoam.ErrRefused) || !strings.Contains(err.Error(), "TLS 1.3") {
		t.Errorf("got %v, want ErrRefused, and why", err)
	}
}

func TestTheHashIsTheClusters(t *testing.T) {
	t.Parallel()
	for _, algorithm := range []string{"", "HmacSHA1", "hmacsha256", "HmacSHA384", "HmacSHA512"} {
		if _, err := clienttoam.NewVerifier(attempt, algorithm); err != nil {
			t.Errorf("%q: %v", algorithm, err)
		}
	}
	if _, err := clienttoam.NewVerifier(attempt, "HmacMD5"); err == nil || !strings.Contains(err.Error(), clienttoam.AlgorithmKey) {
		t.Errorf("HmacMD5: %v", err)
	}
	v, err := clienttoam.NewVerifier(attempt, "HmacSHA256")
	if err != nil {
		t.Fatal(err)
	}
	v.SetKey(key)
	// This server uses another algorithm for passwords than the token.
	if conn, err := clienttoam.Dial(t.Context(), master(t, v, unseen), clienttoamtest.Token(t, key, attempt, "bob")); err == nil {
		conn.Close()
		t.Error("a password of HmacSHA1 is taken where YARN makes them with HmacSHA256")
	}
}

// TestAKeyOnceKnownStays would catch that YARN's answer to a repeated registration, which has no
// key, removes the key.
func TestAKeyOnceKnownStays(t *testing.T) {
	t.Parallel()
	v := verifier(t, key)
	v.SetKey(nil)
	conn, err := clienttoam.Dial(t.Context(), master(t, v, unseen), clienttoamtest.Token(t, key, attempt, "bob"))
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
}
