package yarnrpc_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jcmturner/gokrb5/v8/types"
	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/commonpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/testing/kdctest"
	"github.com/bobbin-yarn/bobbin/yarnrpc/kerberos"
	"github.com/bobbin-yarn/bobbin/yarnrpc/sasl"
	"github.com/bobbin-yarn/bobbin/yarnrpc/wire"
)

// serviceKey is the key that rm/server and the KDC share.
var serviceKey = types.EncryptionKey{KeyType: 18, KeyValue: bytes.Repeat([]byte{9}, 32)}

// alices is a login of alice that records its calls.
type alices struct {
	asked, forgotten []string
}

func (l *alices) RealmOf(string) string { return "REALM" }

func (l *alices) Ticket(_ context.Context, service string) (*sasl.Ticket, error) {
	l.asked = append(l.asked, service)
	return sasl.IssueTicket("alice", "rm/server", "REALM", serviceKey, time.Hour)
}

func (l *alices) Forget(service string) { l.forgotten = append(l.forgotten, service) }

// startKDC serves until the test ends.
func startKDC(t *testing.T) *kdctest.KDC {
	t.Helper()
	kdc := &kdctest.KDC{Life: time.Hour}
	if err := kdc.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeOrFail(t, kdc) })
	return kdc
}

// keytabLogin returns a login of alice with her keytab, at the KDCs of conf.
func keytabLogin(t *testing.T, conf *kerberos.Config) *kerberos.Login {
	t.Helper()
	b, err := kdctest.Keytab()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "keytab")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	login, err := kerberos.FromKeytab(conf, "alice", path)
	if err != nil {
		t.Fatal(err)
	}
	return login
}

func state(s commonpb.RpcSaslProto_SaslState, token []byte) *commonpb.RpcSaslProto {
	return &commonpb.RpcSaslProto{State: s.Enum(), Token: token}
}

func offers(auths ...*commonpb.RpcSaslProto_SaslAuth) *commonpb.RpcSaslProto {
	return &commonpb.RpcSaslProto{State: commonpb.RpcSaslProto_NEGOTIATE.Enum(), Auths: auths}
}

func kerberosOffer() *commonpb.RpcSaslProto_SaslAuth {
	return &commonpb.RpcSaslProto_SaslAuth{
		Method: proto.String("KERBEROS"), Mechanism: proto.String("GSSAPI"),
		Protocol: proto.String("rm"), ServerId: proto.String("server"),
	}
}

func simpleOffer() *commonpb.RpcSaslProto_SaslAuth {
	return &commonpb.RpcSaslProto_SaslAuth{Method: proto.String("SIMPLE"), Mechanism: proto.String("")}
}

// authenticator is a server that logs clients in with Kerberos. It ends when the client has left,
// or is logged in with the agreed protection.
func authenticator(t *testing.T, conn net.Conn, requests <-chan wire.Request, gss *sasl.GSSAPIServer) sasl.Layer {
	<-requests
	send(t, conn, wire.CallSASL, nil, offers(kerberosOffer()), nil)
	for r := range requests {
		challenge, done, err := gss.Next(r.SASL.GetToken())
		if err != nil {
			t.Error(err)
			return nil
		}
		if !done {
			send(t, conn, wire.CallSASL, nil, state(commonpb.RpcSaslProto_CHALLENGE, challenge), nil)
			continue
		}
		user, layer, err := gss.Finish(r.SASL.GetToken())
		if err != nil || user != "alice@REALM" && user != kdctest.Alice {
			t.Errorf("%q logs in: %v", user, err)
		}
		send(t, conn, wire.CallSASL, nil, state(commonpb.RpcSaslProto_SUCCESS, nil), nil)
		return layer
	}
	return nil
}

func withLogin(o yarnrpc.Options, login yarnrpc.Login) yarnrpc.Options {
	o.Login, o.Server.Principal = login, "rm/_HOST@REALM"
	return o
}

// The client sends a user name only if the login acts for another user. Otherwise the server
// would treat the short name as such a request and refuse it.
func TestWhoSpeaksAfterAKerberosLogin(t *testing.T) {
	for name, tc := range map[string]struct {
		user yarnrpc.UserInformation
		want wire.Context
	}{
		"itself":                   {yarnrpc.UserInformation{}, wire.Context{}},
		"itself, by another name":  {yarnrpc.UserInformation{Effective: "alice"}, wire.Context{}},
		"another, for whom it may": {yarnrpc.UserInformation{Effective: "bob", Real: "alice"}, wire.Context{User: "bob"}},
	} {
		for _, qop := range []sasl.QOP{sasl.QOPAuthentication, sasl.QOPPrivacy} {
			t.Run(name+" "+string(qop), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var got wire.Context
					login := &alices{}
					o := scripted(withLogin(options(), login), func(conn net.Conn, requests <-chan wire.Request) {
						layer := authenticator(t, conn, requests, &sasl.GSSAPIServer{Key: serviceKey, QOPs: []sasl.QOP{qop}})
						r := <-requests
						if layer != nil {
							plain, err := layer.Unwrap(r.SASL.GetToken())
							if err != nil || len(plain) < 4 || int(binary.BigEndian.Uint32(plain)) != len(plain)-4 {
								t.Errorf("unwrap: %d bytes, %v", len(plain), err)
								return
							}
							if r, err = wire.ParseRequest(plain[4:]); err != nil {
								t.Error(err)
							}
						}
						got = r.Context
					})
					o.User = tc.user
					o.QOPs = []sasl.QOP{qop}
					c, err := yarnrpc.Dial(t.Context(), "server:1", o)
					if err != nil {
						t.Fatal(err)
					}
					closeOrFail(t, c)
					synctest.Wait()
					if got.User != tc.want.User || got.RealUser != "" || got.Protocol != yarnrpc.ApplicationClientProtocol {
						t.Errorf("the server is told %+v", got)
					}
					if diff := cmp.Diff(&alices{asked: []string{"rm/server@REALM"}}, login, cmp.AllowUnexported(alices{})); diff != "" {
						t.Errorf("the login (-want +got):\n%s", diff)
					}
				})
			})
		}
	}
}

// A server that skips a step, offers less than required, or is not the right one gets no call.
func TestServersThatBreakTheRulesOfKerberos(t *testing.T) {
	privacy := []sasl.QOP{sasl.QOPPrivacy}
	fixed := func(replies ...*commonpb.RpcSaslProto) func(*testing.T, net.Conn, <-chan wire.Request) {
		return func(t *testing.T, conn net.Conn, requests <-chan wire.Request) {
			for _, reply := range replies {
				<-requests
				send(t, conn, wire.CallSASL, nil, reply, nil)
			}
		}
	}
	for name, tc := range map[string]struct {
		script func(*testing.T, net.Conn, <-chan wire.Request)
		want   error
		asked  bool // for a ticket
	}{
		"no login at all":           {fixed(state(commonpb.RpcSaslProto_SUCCESS, nil)), yarnrpc.ErrNoCommonAuth, false},
		"trust instead of a login":  {fixed(offers(simpleOffer())), yarnrpc.ErrNoCommonAuth, false},
		"success without a proof":   {fixed(offers(kerberosOffer()), state(commonpb.RpcSaslProto_SUCCESS, nil)), sasl.ErrNotMutual, true},
		"a challenge without proof": {fixed(offers(kerberosOffer()), state(commonpb.RpcSaslProto_CHALLENGE, nil)), sasl.ErrNotMutual, true},
		"an offer instead of one":   {fixed(offers(kerberosOffer()), offers(kerberosOffer())), wire.ErrMalformed, true},
		"success before the protection is agreed on": {func(t *testing.T, conn net.Conn, requests <-chan wire.Request) {
			<-requests
			send(t, conn, wire.CallSASL, nil, offers(kerberosOffer()), nil)
			proof, _, err := (&sasl.GSSAPIServer{Key: serviceKey}).Next((<-requests).SASL.GetToken())
			if err != nil {
				t.Error(err)
			}
			send(t, conn, wire.CallSASL, nil, state(commonpb.RpcSaslProto_CHALLENGE, proof), nil)
			<-requests
			send(t, conn, wire.CallSASL, nil, state(commonpb.RpcSaslProto_SUCCESS, nil), nil)
		}, sasl.ErrNotMutual, true},
		"less protection": {func(t *testing.T, conn net.Conn, requests <-chan wire.Request) {
			authenticator(t, conn, requests, &sasl.GSSAPIServer{Key: serviceKey, QOPs: []sasl.QOP{sasl.QOPAuthentication, sasl.QOPIntegrity}})
		}, sasl.ErrProtection, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				login := &alices{}
				o := scripted(withLogin(options(), login), func(conn net.Conn, requests <-chan wire.Request) { tc.script(t, conn, requests) })
				o.QOPs = privacy
				_, err := yarnrpc.Dial(t.Context(), "server:1", o)
				if !errors.Is(err, tc.want) {
					t.Errorf("got %v, want %v", err, tc.want)
				}
				// The ticket is dropped after a failed login: the server may have new keys.
				if asked, forgotten := len(login.asked) == 1, len(login.forgotten) == 1; asked != tc.asked || forgotten != tc.asked {
					t.Errorf("asked for %q, forgotten %q", login.asked, login.forgotten)
				}
			})
		})
	}
}

func TestServersThatAreNotTheOneMeantGetNoTicket(t *testing.T) {
	for name, change := range map[string]func(*yarnrpc.Options){
		"another host":           func(o *yarnrpc.Options) { o.Server.Principal = "rm/other@REALM" },
		"another service":        func(o *yarnrpc.Options) { o.Server.Principal = "nn/_HOST@REALM" },
		"another realm":          func(o *yarnrpc.Options) { o.Server.Principal = "rm/_HOST@ELSEWHERE" },
		"none is configured":     func(o *yarnrpc.Options) { o.Server.Principal = "" },
		"a pattern that is not":  func(o *yarnrpc.Options) { o.Server.Pattern = "rm/*.example.com@REALM" },
		"a name without a realm": func(o *yarnrpc.Options) { o.Server.Principal = "rm" },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				login := &alices{}
				o := scripted(withLogin(options(), login), func(conn net.Conn, requests <-chan wire.Request) {
					<-requests
					send(t, conn, wire.CallSASL, nil, offers(kerberosOffer()), nil)
				})
				change(&o)
				_, err := yarnrpc.Dial(t.Context(), "server:1", o)
				if _, is := errors.AsType[*kerberos.ServerMismatchError](err); !is || len(login.asked) > 0 {
					t.Errorf("got %v, and asked for %q", err, login.asked)
				}
			})
		})
	}
}

func TestServersByProtocol(t *testing.T) {
	conf := new(hadoopconf.Conf).With("test", map[string]string{
		"yarn.resourcemanager.principal":         "rm/_HOST@REALM",
		"yarn.resourcemanager.principal.pattern": "rm/*@REALM",
		"dfs.namenode.kerberos.principal":        "nn/_HOST@REALM",
		"hadoop.security.service.user.name.key":  "dfs.namenode.kerberos.principal",
	})
	for protocol, want := range map[string][2]string{
		yarnrpc.ApplicationClientProtocol:   {"rm/_HOST@REALM", "rm/*@REALM"},
		yarnrpc.ResourceTracker:             {"rm/_HOST@REALM", "rm/*@REALM"},
		yarnrpc.HDFSClientProtocol:          {"nn/_HOST@REALM", ""},
		yarnrpc.HAServiceProtocol:           {"nn/_HOST@REALM", ""},
		yarnrpc.ContainerManagementProtocol: {},
		yarnrpc.ApplicationMasterProtocol:   {},
	} {
		server := yarnrpc.ServerFrom(conf, protocol)
		if got := [2]string{server.Principal, server.Pattern}; got != want {
			t.Errorf("%s: got %q, want %q", protocol, got, want)
		}
	}
}

func TestFallbackFromKerberosMustBeAllowed(t *testing.T) {
	for name, reply := range map[string]*commonpb.RpcSaslProto{
		"no login at all": state(commonpb.RpcSaslProto_SUCCESS, nil),
		"trust on offer":  offers(simpleOffer()),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var got wire.Context
				o := scripted(withLogin(options(), &alices{}), func(conn net.Conn, requests <-chan wire.Request) {
					<-requests
					send(t, conn, wire.CallSASL, nil, reply, nil)
					r := <-requests
					if r.SASL != nil { // the choice, which has no answer
						r = <-requests
					}
					got = r.Context
				})
				o.AllowSimpleFallback = true
				c, err := yarnrpc.Dial(t.Context(), "server:1", o)
				if err != nil {
					t.Fatal(err)
				}
				closeOrFail(t, c)
				synctest.Wait()
				if got.User != "alice" {
					t.Errorf("the server is told %+v", got)
				}
			})
		})
	}
}
