package yarnrpc_test

import (
	"cmp"
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jcmturner/gokrb5/v8/iana/errorcode"

	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/testing/kdctest"
	"github.com/bobbin-yarn/bobbin/yarnrpc/kerberos"
	"github.com/bobbin-yarn/bobbin/yarnrpc/sasl"
	"github.com/bobbin-yarn/bobbin/yarnrpc/wire"
)

// refusing are servers that accept no ticket before the good login, counted over all of
// them. The server that accepts it answers one call.
type refusing struct {
	t      *testing.T
	class  string // of its exceptions; "": SASL's own
	good   int    // the number of the login that succeeds; 0: none
	logins int
	hosts  []string
}

func (r *refusing) options(login yarnrpc.Login) yarnrpc.Options {
	o := withLogin(options(), login)
	answered := scripted(options(), func(conn net.Conn, requests <-chan wire.Request) {
		r.logins++
		if r.logins == r.good {
			authenticator(r.t, conn, requests, &sasl.GSSAPIServer{Key: serviceKey, QOPs: []sasl.QOP{sasl.QOPAuthentication}})
			call := firstCall(requests)
			send(r.t, conn, call.ID, nil, answer(1), nil)
			return
		}
		<-requests
		send(r.t, conn, wire.CallSASL, nil, offers(kerberosOffer()), nil)
		<-requests
		send(r.t, conn, wire.CallSASL, nil, nil, &wire.Failure{
			Class: cmp.Or(r.class, "javax.security.sasl.SaslException"), Message: "GSS initiate failed", Fatal: true,
			Detail: "FATAL_UNAUTHORIZED",
		})
	}).Dial
	o.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		r.hosts = append(r.hosts, address)
		return answered(ctx, network, address)
	}
	return o
}

// A user whose good ticket is refused can do nothing, but must learn which side is at fault.
// A server that has refused a ticket logs in again later, and reports a failure of its own
// login.
func TestAServerThatTakesNoTicketIsToBlame(t *testing.T) {
	for _, class := range []string{"javax.security.sasl.SaslException", "org.apache.hadoop.security.KerberosAuthException"} {
		t.Run(class, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, err := yarnrpc.Dial(t.Context(), "server:1", (&refusing{t: t, class: class}).options(&alices{}))
				const want = "GSS initiate failed: the server rejects the ticket: its keytab"
				if !errors.Is(err, yarnrpc.ErrSASL) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "rm/server") {
					t.Errorf("got %v, want it to name the server, and %q", err, want)
				}
			})
		})
	}
}

// A server whose keys have just changed refuses the existing ticket, and accepts the next
// one. Java's clients also get a new ticket.
func TestARefusedTicketIsFollowedByAnother(t *testing.T) {
	one, two := []string{"server:1"}, []string{"server:1", "server:2"}
	for name, tc := range map[string]struct {
		addresses []string
		retries   int
		policy    yarnrpc.Policy
		good      int
		logins    int
		waits     int
		want      error
	}{
		"one server":                      {one, 0, patient, 2, 2, 1, nil},
		"one server, in the end":          {one, 0, patient, 6, 6, 5, nil},
		"one server, too late":            {one, 0, patient, 7, 6, 5, yarnrpc.ErrSASL},
		"one server, no retries":          {one, -1, patient, 2, 1, 0, yarnrpc.ErrSASL},
		"one server, one try":             {one, 0, yarnrpc.Policy{}, 2, 1, 0, yarnrpc.ErrSASL},
		"one server, as often as is said": {one, 2, patient, 0, 3, 2, yarnrpc.ErrSASL},
		"two servers: the other one":      {two, 0, patient, 2, 2, 0, nil},
		"two servers: the second round":   {two, 0, patient, 3, 3, 1, nil},
		"two servers: never":              {two, 1, patient, 0, 4, 1, yarnrpc.ErrSASL},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				servers := &refusing{t: t, good: tc.good}
				login := &alices{}
				o := servers.options(login)
				o.LoginRetries = tc.retries
				proxy := yarnrpc.NewProxy(tc.addresses, o, tc.policy)
				began := time.Now()
				_, err := ask(t.Context(), proxy, method, 1)
				took := time.Since(began)
				closeOrFail(t, proxy)
				if !errors.Is(err, tc.want) || yarnrpc.MaybeSent(err) || servers.logins != tc.logins {
					t.Errorf("%d logins at %v: %v", servers.logins, servers.hosts, err)
				}
				if longest := time.Duration(tc.waits) * 5 * time.Second; took > longest+time.Second || took < time.Duration(tc.waits)*time.Millisecond {
					t.Errorf("it waited for %v, want %d waits", took, tc.waits)
				}
				if len(login.asked) != tc.logins {
					t.Errorf("the login was asked %d times for a ticket", len(login.asked))
				}
			})
		})
	}
}

// outdated is a login whose ticket has expired a given number of times.
type outdated struct {
	alices
	times int
}

func (l *outdated) Ticket(ctx context.Context, service string) (*sasl.Ticket, error) {
	ticket, err := l.alices.Ticket(ctx, service)
	if len(l.asked) <= l.times {
		return nil, kerberos.ErrExpired
	}
	return ticket, err
}

// A new ticket may exist, from kinit or because the Login logs in again. A user without one
// must learn that soon.
func TestAnExpiredTicketIsAskedForOnceMore(t *testing.T) {
	for name, tc := range map[string]struct {
		times int
		want  error
	}{"there is a new one": {1, nil}, "there is none": {2, kerberos.ErrExpired}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				login := &outdated{times: tc.times}
				o := withLogin(options(), login)
				o.Dial = scripted(options(), func(conn net.Conn, requests <-chan wire.Request) {
					if len(login.asked) < tc.times {
						<-requests
						send(t, conn, wire.CallSASL, nil, offers(kerberosOffer()), nil)
						return
					}
					authenticator(t, conn, requests, &sasl.GSSAPIServer{Key: serviceKey, QOPs: []sasl.QOP{sasl.QOPAuthentication}})
					call := firstCall(requests)
					send(t, conn, call.ID, nil, answer(1), nil)
				}).Dial
				proxy := yarnrpc.NewProxy([]string{"server:1"}, o, patient)
				defer closeOrFail(t, proxy)
				if _, err := ask(t.Context(), proxy, method, 1); !errors.Is(err, tc.want) || len(login.asked) != 2 {
					t.Errorf("asked %d times: %v", len(login.asked), err)
				}
			})
		})
	}
}

// Proxy, Login and KDC together: the KDC treats the login's ticket as expired, and the Login
// does not yet. The call must not fail, and must ask the KDC only once for a new ticket.
func TestAnExpiredTicketIsReplacedOnceAndTheCallSucceeds(t *testing.T) {
	kdc := startKDC(t) // out of the bubble, as it waits for the network
	synctest.Test(t, func(t *testing.T) {
		began, refused := time.Now(), false
		kdc.Change(func() {
			kdc.Clock = func() time.Time { return began }
			kdc.Refuse = func(service string) int32 {
				if service == "krbtgt/A" || refused {
					return 0
				}
				refused = true
				return errorcode.KRB_AP_ERR_TKT_EXPIRED
			}
		})
		conf, err := kerberos.ParseConfig("test", kdc.Conf())
		if err != nil {
			t.Fatal(err)
		}
		o := withLogin(options(), keytabLogin(t, conf))
		o.Server.Principal = "rm/_HOST@A"
		server := scripted(options(), func(conn net.Conn, requests <-chan wire.Request) {
			authenticator(t, conn, requests, &sasl.GSSAPIServer{Key: kdctest.ServiceKey(), QOPs: []sasl.QOP{sasl.QOPAuthentication}})
			send(t, conn, firstCall(requests).ID, nil, answer(7), nil) // to nobody where there is no ticket
		})
		connections := 0
		o.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			connections++
			return server.Dial(ctx, network, address)
		}
		proxy := yarnrpc.NewProxy([]string{"server:1"}, o, patient)
		defer closeOrFail(t, proxy)
		if got, err := ask(t.Context(), proxy, method, 7); err != nil || got != 7 || connections != 2 {
			t.Errorf("%d connections: %d, %v", connections, got, err)
		}
		const want = "krbtgt/A at A, rm/server at A, krbtgt/A at A, rm/server at A"
		if got := kdc.Asked(); got != want {
			t.Errorf("the kdc was asked for %s, want %s", got, want)
		}
	})
}
