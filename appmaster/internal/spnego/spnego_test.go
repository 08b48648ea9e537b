package spnego_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jcmturner/gokrb5/v8/client"
	"github.com/jcmturner/gokrb5/v8/config"
	gokrb5 "github.com/jcmturner/gokrb5/v8/spnego"
	"github.com/jcmturner/gokrb5/v8/types"
	"go.uber.org/goleak"

	"github.com/bobbin-yarn/bobbin/appmaster/internal/spnego"
	"github.com/bobbin-yarn/bobbin/internal/testing/credstest"
	"github.com/bobbin-yarn/bobbin/yarnrpc/sasl"
	"github.com/bobbin-yarn/bobbin/yarnrpc/secretfile"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	realm     = "EXAMPLE.ORG"
	web       = "HTTP/node1.example.org"
	principal = web + "@" + realm
)

// keys writes a keytab with a key of each service, and returns its path and the key of the first service.
func keys(t testing.TB, services ...string) (path string, key types.EncryptionKey) {
	t.Helper()
	var principals []string
	for _, service := range services {
		principals = append(principals, service+"@"+realm)
	}
	path = filepath.Join(t.TempDir(), "http.keytab")
	credstest.Keytab(t, path, principals...)
	return path, credstest.Key(t, principals[0])
}

func load(t testing.TB, path string) *spnego.Service {
	t.Helper()
	s, err := spnego.Load(path, "HTTP/_HOST@"+realm, "Node1.example.org")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// request is the request of a browser whose user has a ticket. who is the name in the authenticator: the
// ticket is bob's.
func request(t testing.TB, who, whoseRealm, service string, key types.EncryptionKey, life time.Duration) gokrb5.SPNEGOToken {
	t.Helper()
	ticket, err := sasl.IssueTicket("bob", service, realm, key, life)
	if err != nil {
		t.Fatal(err)
	}
	c := client.NewWithPassword(who, whoseRealm, "", config.New())
	init, err := gokrb5.NewNegTokenInitKRB5(c, ticket.Ticket, ticket.Key)
	if err != nil {
		t.Fatal(err)
	}
	return gokrb5.SPNEGOToken{Init: true, NegTokenInit: init}
}

func marshal(t testing.TB, token gokrb5.SPNEGOToken) []byte {
	t.Helper()
	b, err := token.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestTicketsAreAccepted(t *testing.T) {
	t.Parallel()
	path, key := keys(t, web)
	s := load(t, path)
	token := request(t, "bob", realm, web, key, time.Hour)
	accepted, err := s.Accept(marshal(t, token))
	if err != nil || accepted.Client != "bob@"+realm {
		t.Errorf("got %q, %v, want bob", accepted.Client, err)
	}
	var told gokrb5.SPNEGOToken
	if err := told.Unmarshal(accepted.Answer); err != nil || !told.Resp || told.NegTokenResp.NegState != 0 {
		t.Errorf("the client is told %+v, %v", told, err)
	}
	// Java's client sends Kerberos' token without SPNEGO.
	if got, err := s.Accept(request(t, "bob", realm, web, key, time.Hour).NegTokenInit.MechTokenBytes); err != nil || got.Client != "bob@"+realm {
		t.Errorf("without SPNEGO: got %q, %v", got.Client, err)
	}
}

// TestOtherTokensAreRefused would catch a user who gets in without a ticket of his own for this service.
func TestOtherTokensAreRefused(t *testing.T) {
	t.Parallel()
	path, key := keys(t, web, "host/node1.example.org")
	_, other := keys(t, "host/node1.example.org")
	s := load(t, path)
	altered := marshal(t, request(t, "bob", realm, web, key, time.Hour))
	altered[len(altered)-1] ^= 1
	for name, test := range map[string]struct {
		token []byte
		text  string
	}{
		"nothing":                                {nil, ""},
		"garbage":                                {[]byte("\x60\x82\xff\xff garbage"), ""},
		"one that was altered on the way":        {altered, ""},
		"a ticket for another service":           {marshal(t, request(t, "bob", realm, "host/node1.example.org", other, time.Hour)), ""},
		"that ticket under this service's name":  {marshal(t, request(t, "bob", realm, web, other, time.Hour)), ""},
		"a ticket that has expired":              {marshal(t, request(t, "bob", realm, web, key, -time.Hour)), ""},
		"bob's ticket in alice's name":           {marshal(t, request(t, "alice", realm, web, key, time.Hour)), ""},
		"bob's ticket as a bob of another realm": {marshal(t, request(t, "bob", "EVIL.ORG", web, key, time.Hour)), "EVIL.ORG"},
	} {
		if got, err := s.Accept(test.token); !errors.Is(err, spnego.ErrRefused) || !strings.Contains(err.Error(), test.text) {
			t.Errorf("%s: got %q, %v, want ErrRefused and %q", name, got.Client, err, test.text)
		}
	}
}

// TestAProofLetsInOnce would catch an attacker who gets in with a request that he has intercepted: under
// any name, in any form, and at the same time as the user who sent it.
func TestAProofLetsInOnce(t *testing.T) {
	t.Parallel()
	path, key := keys(t, web)
	s := load(t, path)
	token := request(t, "bob", realm, web, key, time.Hour)
	forms := [][]byte{marshal(t, token), token.NegTokenInit.MechTokenBytes}
	var in atomic.Int32
	var asking sync.WaitGroup
	for i := range 8 {
		asking.Go(func() { // ends with its answer
			ticket, err := s.Accept(forms[i%len(forms)])
			if err != nil {
				t.Error(err)
			}
			switch err := s.Once([]string{"bob", "robert"}[i/4], ticket); {
			case err == nil:
				in.Add(1)
			case !errors.Is(err, spnego.ErrRefused) || !strings.Contains(err.Error(), "used before"):
				t.Errorf("got %v, want ErrRefused", err)
			}
		})
	}
	asking.Wait()
	if in.Load() != 1 {
		t.Errorf("one request lets in %d times", in.Load())
	}
}

// TestTicketsAreOfTheServicesRealm would catch a service whose keytab also has a key of another realm, and
// which lets that realm's KDC decide who its users are.
func TestTicketsAreOfTheServicesRealm(t *testing.T) {
	t.Parallel()
	const elsewhere = "EVIL.ORG"
	path := filepath.Join(t.TempDir(), "http.keytab")
	credstest.Keytab(t, path, principal, web+"@"+elsewhere)
	ticket := func() []byte {
		ticket, err := sasl.IssueTicket("bob", web, elsewhere, credstest.Key(t, web+"@"+elsewhere), time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		init, err := gokrb5.NewNegTokenInitKRB5(client.NewWithPassword("bob", elsewhere, "", config.New()), ticket.Ticket, ticket.Key)
		if err != nil {
			t.Fatal(err)
		}
		return marshal(t, gokrb5.SPNEGOToken{Init: true, NegTokenInit: init})
	}
	if got, err := load(t, path).Accept(ticket()); !errors.Is(err, spnego.ErrRefused) || !strings.Contains(err.Error(), elsewhere) {
		t.Errorf("a ticket of another realm is %q's, %v", got.Client, err)
	}
	every, err := spnego.Load(path, web, "")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := every.Accept(ticket()); err != nil || got.Client != "bob@"+elsewhere {
		t.Errorf("where any realm will do, it is %q's, %v", got.Client, err)
	}
}

func TestAKeytabWithoutTheServicesKeyIsNamed(t *testing.T) {
	t.Parallel()
	path, _ := keys(t, "host/node1.example.org")
	if _, err := spnego.Load(path, principal, ""); !errors.Is(err, spnego.ErrNoKey) || !strings.Contains(err.Error(), principal) || !strings.Contains(err.Error(), "host/node1") {
		t.Errorf("got %v, want ErrNoKey with both names", err)
	}
	if _, err := spnego.Load(path+".old", principal, ""); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want ErrNotExist", err)
	}
}

// TestWhatATicketCallsItsServiceDoesNotCount would catch a ticket under another service's name: the sender
// chooses the name beside the encrypted part.
func TestWhatATicketCallsItsServiceDoesNotCount(t *testing.T) {
	t.Parallel()
	path, key := keys(t, web)
	s := load(t, path)
	ticket, err := sasl.IssueTicket("bob", "alice", realm, key, time.Hour) // it says "alice", and is sealed with the key of HTTP
	if err != nil {
		t.Fatal(err)
	}
	init, err := gokrb5.NewNegTokenInitKRB5(client.NewWithPassword("bob", realm, "", config.New()), ticket.Ticket, ticket.Key)
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.Accept(marshal(t, gokrb5.SPNEGOToken{Init: true, NegTokenInit: init}))
	if err != nil || got.Client != "bob@"+realm || got.Service != principal {
		t.Errorf("got %q by the key of %q, %v; want bob by that of %s", got.Client, got.Service, err, principal)
	}
}

// TestAKeyThatOthersHaveIsRefused would catch a service that trusts tickets which every process on its node
// can forge.
func TestAKeyThatOthersHaveIsRefused(t *testing.T) {
	t.Parallel()
	path, _ := keys(t, web)
	for _, mode := range []os.FileMode{0o640, 0o604, 0o620} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		_, err := spnego.Load(path, principal, "")
		if !errors.Is(err, secretfile.ErrExposed) || !strings.Contains(err.Error(), "chmod 600 "+path) {
			t.Errorf("mode %#o: got %v, want ErrExposed with the remedy", mode, err)
		}
	}
	if err := os.Chmod(path, 0o400); err != nil {
		t.Fatal(err)
	}
	if _, err := spnego.Load(path, principal, ""); err != nil {
		t.Errorf("a file for its user alone: %v", err)
	}
}

// FuzzAccept reads tokens that any client can send. It would catch a token that crashes the server, and a
// forged token that is accepted.
func FuzzAccept(f *testing.F) {
	path, _ := keys(f, web)
	_, other := keys(f, "host/node1.example.org")
	s := load(f, path)
	strangers := request(f, "bob", realm, web, other, time.Hour)
	f.Add(marshal(f, strangers))
	f.Add(strangers.NegTokenInit.MechTokenBytes)
	f.Add([]byte{0x60, 0x06, 0x06, 0x04, 0x2b, 0x06, 0x01, 0x05})
	f.Add([]byte{0xa1, 0x03, 0x30, 0x01, 0x00})
	f.Fuzz(func(t *testing.T, token []byte) {
		if got, err := s.Accept(token); err == nil || got.Client != "" {
			t.Errorf("%x is a ticket of %q", token, got.Client)
		}
	})
}
