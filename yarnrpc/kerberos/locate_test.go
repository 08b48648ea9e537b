package kerberos

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/testing/kdctest"
)

// unlisted is a configuration of a realm whose KDCs only DNS has.
func unlisted(t *testing.T, ask lookup) *Config {
	t.Helper()
	conf, err := ParseConfig("test", []byte("[libdefaults]\ndefault_realm = A\n[realms]\nA = {\nadmin_server = admin\n}\n"))
	if err != nil {
		t.Fatal(err)
	}
	conf.lookup = ask
	return conf
}

// zone answers with the records of "_service._proto.name".
type zone map[string][]*net.SRV

func (z zone) lookup(_ context.Context, service, proto, name string) (string, []*net.SRV, error) {
	asked := "_" + service + "._" + proto + "." + name
	records, there := z[asked]
	if !there {
		return "", nil, &net.DNSError{Err: "no such host", Name: asked, IsNotFound: true}
	}
	return asked, records, nil
}

func TestKDCsAreFoundInDNS(t *testing.T) {
	for name, tc := range map[string]struct {
		zone zone
		want []string
	}{
		"in the resolver's order": {
			zone{"_kerberos._tcp.A.": {{Target: "near.a.", Port: 88}, {Target: "far.a.", Port: 1088}}, "_kerberos._udp.A.": {{Target: "old.a.", Port: 88}}},
			[]string{"near.a:88", "far.a:1088"},
		},
		"known for udp alone":                     {zone{"_kerberos._udp.A.": {{Target: "old.a.", Port: 88}}}, []string{"old.a:88"}},
		"for udp, as there are none for tcp":      {zone{"_kerberos._tcp.A.": {{Target: "."}}, "_kerberos._udp.A.": {{Target: "old.a.", Port: 88}}}, []string{"old.a:88"}},
		"not at all":                              {zone{}, nil},
		"not at all, as the zone says in so many": {zone{"_kerberos._tcp.A.": {{Target: "."}}, "_kerberos._udp.A.": {}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := unlisted(t, tc.zone.lookup).locate(t.Context(), "A")
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("kdcs (-want +got):\n%s", diff)
			}
			if found := err == nil; found != (tc.want != nil) || !found && !errors.Is(err, ErrKDC) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

// The failure of a name server must not count as a failure of the service's own name, for
// which the client would try another server. Its timeout must not count as the caller's.
func TestANameServerThatFailsIsTheRealmsFault(t *testing.T) {
	for _, failure := range []error{
		&net.DNSError{Err: "server misbehaving", Name: "_kerberos._tcp.A", IsTemporary: true},
		&net.DNSError{Err: "i/o timeout", Name: "_kerberos._tcp.A", IsTimeout: true, UnwrapErr: context.DeadlineExceeded},
	} {
		conf := unlisted(t, func(context.Context, string, string, string) (string, []*net.SRV, error) { return "", nil, failure })
		_, err := alice(t, conf).Ticket(t.Context(), "rm/host@A")
		_, isDNS := errors.AsType[*net.DNSError](err)
		if !errors.Is(err, ErrKDC) || isDNS || errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), failure.Error()) {
			t.Errorf("got %v, want ErrKDC and %q", err, failure)
		}
	}
}

func TestADNSThatIsForbiddenIsNotAsked(t *testing.T) {
	conf := unlisted(t, func(context.Context, string, string, string) (string, []*net.SRV, error) {
		t.Error("asked")
		return "", nil, nil
	})
	conf.LibDefaults.DNSLookupKDC = false
	if _, err := conf.locate(t.Context(), "A"); !errors.Is(err, ErrKDC) {
		t.Errorf("got %v, want ErrKDC", err)
	}
}

// A ticket comes from a KDC that DNS lists, and doctor's probe asks the same KDCs.
func TestTicketsOfARealmThatDNSKnows(t *testing.T) {
	kdc := &kdctest.KDC{Life: time.Hour}
	listed := listen(t, kdc)
	there, err := net.ResolveTCPAddr("tcp", listed.Realms[0].KDC[0])
	if err != nil {
		t.Fatal(err)
	}
	conf := unlisted(t, zone{"_kerberos._tcp.A.": {{Target: "127.0.0.1.", Port: uint16(there.Port)}}}.lookup)
	if _, err := alice(t, conf).Ticket(t.Context(), "rm/host@A"); err != nil {
		t.Error(err)
	}
	kdcs, err := conf.Probe(t.Context(), Principal{Service: "alice"})
	if err != nil || len(kdcs) != 1 || kdcs[0].Address != there.String() {
		t.Errorf("the probe found %v, %v", kdcs, err)
	}
}

// When the caller's time is over, the second of the two names is not asked for any more,
// whatever a resolver does.
func TestNoResolverOutlivesItsCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conf := unlisted(t, func(ctx context.Context, _, _, _ string) (string, []*net.SRV, error) {
			<-ctx.Done()
			return "", nil, ctx.Err()
		})
		patience := errors.New("the caller has gone")
		ctx, cancel := context.WithTimeoutCause(t.Context(), 500*time.Millisecond, patience)
		defer cancel()
		began := time.Now()
		if _, err := conf.locate(ctx, "A"); !errors.Is(err, patience) || time.Since(began) > 500*time.Millisecond {
			t.Errorf("got %v after %v", err, time.Since(began))
		}
		began = time.Now()
		if _, err := conf.locate(t.Context(), "A"); !errors.Is(err, ErrKDC) || time.Since(began) > replyTime {
			t.Errorf("without a limit: %v after %v", err, time.Since(began))
		}
	})
}

// A silent name server must not hold a caller that leaves, by a deadline or otherwise.
// net.Resolver itself obeys only the deadline, and gokrb5's look-up neither.
func TestASilentNameServerHoldsNobody(t *testing.T) {
	refuses := func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("no name server") }
	if _, _, err := resolveWith(refuses).LookupSRV(t.Context(), "kerberos", "tcp", "A."); err == nil {
		t.Error("an answer from nobody")
	} // and package net has read resolv.conf, for which it makes a channel, once: not one of a bubble
	for way, limit := range map[string]time.Duration{"a departure": 0, "a deadline": 200 * time.Millisecond} {
		t.Run(way, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				asked := make(chan string, 1) // the first question
				login := alice(t, unlisted(t, resolveWith(func(context.Context, string, string) (net.Conn, error) {
					conn, server := net.Pipe()
					go func() { // ends with the connection
						question := make([]byte, 512)
						n, _ := server.Read(question)
						select {
						case asked <- string(question[:n]):
						default:
						}
						io.Copy(io.Discard, server)
					}()
					return conn, nil
				}).LookupSRV))
				patience := errors.New("the caller has gone")
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				if limit > 0 {
					var stop context.CancelFunc
					ctx, stop = context.WithTimeoutCause(ctx, limit, patience)
					defer stop()
				}
				began := time.Now()
				done := make(chan error, 1)
				go func() {
					_, err := login.Ticket(ctx, "rm/host@A")
					done <- err
				}()
				if question := <-asked; !strings.Contains(question, "\x09_kerberos\x04_tcp\x01A\x00") {
					t.Errorf("it asks %q", question)
				}
				if limit == 0 {
					cancel(patience)
				}
				if err := <-done; !errors.Is(err, patience) || time.Since(began) != limit { // a single question would take 5 s
					t.Errorf("after %v: %v, want the cause of the context's end after %v", time.Since(began), err, limit)
				}
			})
		})
	}
}
