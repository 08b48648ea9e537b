package yarnrpc_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/testing/rpctest"
	"github.com/bobbin-yarn/bobbin/yarnrpc/sasl"
	"github.com/bobbin-yarn/bobbin/yarnrpc/wire"
)

func token(identifier, password string) *creds.Token {
	return &creds.Token{Identifier: []byte(identifier), Password: []byte(password), Kind: creds.KindAMRM}
}

func withToken(o yarnrpc.Options, t *creds.Token) yarnrpc.Options {
	o.Token = creds.Fixed(t)
	return o
}

func knows(identifier, password string) func([]byte) ([]byte, error) {
	return func(asked []byte) ([]byte, error) {
		if string(asked) != identifier {
			return nil, fmt.Errorf("no token %q", asked)
		}
		return []byte(password), nil
	}
}

func TestATokenLogsIn(t *testing.T) {
	for _, qops := range [][]sasl.QOP{nil, {sasl.QOPAuthentication}, {sasl.QOPIntegrity}, {sasl.QOPPrivacy}, {sasl.QOPPrivacy, sasl.QOPAuthentication}} {
		t.Run(fmt.Sprint(qops), func(t *testing.T) {
			long := strings.Repeat("x", 150_000) // more than one wrapped token holds
			server := &rpctest.Server{
				Passwords: knows("attempt", "secret"),
				QOPs:      qops,
				Handler: func(call *rpctest.Call) (proto.Message, error) {
					var request yarnpb.KillApplicationRequestProto
					if err := call.Decode(&request); err != nil {
						return nil, err
					}
					if call.User != "attempt" || request.GetDiagnostics() != long {
						t.Errorf("server got %d bytes of %q", len(request.GetDiagnostics()), call.User)
					}
					return &yarnpb.GetApplicationReportResponseProto{ApplicationReport: &yarnpb.ApplicationReportProto{
						Diagnostics: proto.String(request.GetDiagnostics()),
					}}, nil
				},
			}
			o := withToken(options(), token("attempt", "secret"))
			o.QOPs = qops
			c := dial(t, server.Listen(t), o)
			var callers sync.WaitGroup
			for range 3 { // wrapped frames must leave in the order they were wrapped in
				callers.Go(func() {
					var response yarnpb.GetApplicationReportResponseProto
					err := c.Call(t.Context(), "call", &yarnpb.KillApplicationRequestProto{Diagnostics: &long}, &response)
					if err != nil || response.GetApplicationReport().GetDiagnostics() != long {
						t.Errorf("got %d bytes, %v", len(response.GetApplicationReport().GetDiagnostics()), err)
					}
				})
			}
			callers.Wait()
		})
	}
}

func TestLoginsThatFailSayWhy(t *testing.T) {
	for name, tc := range map[string]struct {
		passwords func([]byte) ([]byte, error)
		token     *creds.Token
		want      error
		action    yarnrpc.Action
	}{
		"wrong password":             {knows("me", "secret"), token("me", "guess"), yarnrpc.ErrInvalidToken, yarnrpc.Reauth},
		"unknown identifier":         {knows("me", "secret"), token("you", "secret"), yarnrpc.ErrInvalidToken, yarnrpc.Reauth},
		"server without tokens":      {nil, token("me", "secret"), yarnrpc.ErrNoCommonAuth, yarnrpc.Permanent},
		"token too long to be shown": {knows("me", "secret"), token(strings.Repeat("m", 4000), "secret"), nil, yarnrpc.Permanent},
	} {
		t.Run(name, func(t *testing.T) {
			server := &rpctest.Server{Handler: echo, Passwords: tc.passwords}
			_, err := yarnrpc.Dial(t.Context(), server.Listen(t), withToken(options(), tc.token))
			if err == nil || tc.want != nil && !errors.Is(err, tc.want) || yarnrpc.Classify(err) != tc.action {
				t.Errorf("got %v, %v", err, yarnrpc.Classify(err))
			}
			if strings.Contains(fmt.Sprintf("%v %+v %#v", err, err, err), "secret") {
				t.Errorf("the password shows in %q", err)
			}
		})
	}
}

func TestFallbackToTrustMustBeAllowed(t *testing.T) {
	server := &rpctest.Server{Handler: func(call *rpctest.Call) (proto.Message, error) {
		if call.User != "alice" {
			t.Errorf("the server took us for %q", call.User)
		}
		return echo(call)
	}}
	o := withToken(options(), token("me", "secret"))
	o.AllowSimpleFallback = true
	c := dial(t, server.Listen(t), o)
	if _, err := ask(t.Context(), c, method, 1); err != nil {
		t.Error(err)
	}
}

// Without a login, a client of a secure cluster would send a call in clear text to any
// process that has taken the server's address, whatever protection is configured. The user's
// name is only a claim, and the server proves nothing.
func TestASecureClusterIsToldNothingWithoutALogin(t *testing.T) {
	secure := map[string]string{"hadoop.security.authentication": "kerberos", "hadoop.rpc.protection": "privacy"}
	o, err := yarnrpc.OptionsFrom(new(hadoopconf.Conf).With("test", secure))
	if err != nil {
		t.Fatal(err)
	}
	o.Protocol, o.User = options().Protocol, options().User
	for name, source := range map[string]func(context.Context, string) (*creds.Token, error){
		"no source of tokens":              nil,
		"credentials without the token":    creds.Fixed(creds.New().Select(creds.KindRMDelegation, "rm:8032")),
		"a source that has no token today": func(context.Context, string) (*creds.Token, error) { return nil, nil },
	} {
		t.Run(name, func(t *testing.T) {
			o := o
			o.Token = source
			o.Dial = func(context.Context, string, string) (net.Conn, error) {
				return nil, errors.New("the server was dialled")
			}
			proxy := yarnrpc.NewProxy([]string{"rm1:8032", "rm2:8032"}, o, patient)
			t.Cleanup(func() { closeOrFail(t, proxy) })
			_, err := ask(t.Context(), proxy, method, 1)
			if !errors.Is(err, yarnrpc.ErrNoLogin) || yarnrpc.MaybeSent(err) || yarnrpc.Classify(err) != yarnrpc.Permanent {
				t.Fatalf("got %v, maybe sent %v, %v", err, yarnrpc.MaybeSent(err), yarnrpc.Classify(err))
			}
			for _, part := range []string{"rm1:8032", "hadoop.security.authentication", "kinit", "keytab", "token"} {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q does not name %s", err, part)
				}
			}
		})
	}
	t.Run("unless the configuration allows it", func(t *testing.T) {
		o := o
		o.AllowSimpleFallback = true
		c := dial(t, (&rpctest.Server{Handler: echo}).Listen(t), o)
		if _, err := ask(t.Context(), c, method, 1); err != nil {
			t.Error(err)
		}
	})
}

// A server that requires tokens refuses other clients with the first call. It has not
// executed that call.
func TestAServerThatWantsATokenIsUnderstood(t *testing.T) {
	server := &rpctest.Server{Handler: echo, Passwords: knows("me", "secret")}
	c := dial(t, server.Listen(t), options())
	_, err := ask(t.Context(), c, method, 1)
	if !errors.Is(err, yarnrpc.ErrAccessControl) || yarnrpc.MaybeSent(err) || yarnrpc.Classify(err) != yarnrpc.Permanent {
		t.Errorf("got %v, maybe sent %v, %v", err, yarnrpc.MaybeSent(err), yarnrpc.Classify(err))
	}
}

// A server's reason for refusing a connection is meant for its administrators. It would catch
// an error without a remedy for the user.
func TestARefusedConnectionSaysWhatHelps(t *testing.T) {
	for name, tc := range map[string]struct {
		class  string
		real   string
		secure bool
		want   string
	}{
		"a server that wants a login": {"AccessControlException", "", false, "set hadoop.security.authentication to kerberos"},
		"somebody who may not act for others": {
			"authorize.AuthorizationException", "bob", true,
			"AuthorizationException: no: allow bob to act for me: set hadoop.proxyuser.bob.hosts, ",
		},
		"somebody who has no access": {"authorize.AuthorizationException", "", true, "AuthorizationException: no"},
	} {
		t.Run(name, func(t *testing.T) {
			o := options()
			o.User = yarnrpc.UserInformation{Effective: "me", Real: tc.real}
			o.RequireLogin, o.AllowSimpleFallback = tc.secure, true
			o = scripted(o, func(conn net.Conn, _ <-chan wire.Request) {
				send(t, conn, wire.CallContext, nil, nil, &wire.Failure{Class: "org.apache.hadoop.security." + tc.class, Message: "no", Fatal: true})
			})
			c, err := yarnrpc.Dial(t.Context(), "server:1", o)
			if err == nil {
				_, err = ask(t.Context(), c, method, 1)
				closeOrFail(t, c)
			}
			if !errors.Is(err, yarnrpc.ErrAccessControl) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q in it", err, tc.want)
			}
		})
	}
}

func TestTokensThatCannotBeChosenFailTheDial(t *testing.T) {
	o := options()
	none := errors.New("no token for it")
	o.Token = func(context.Context, string) (*creds.Token, error) { return nil, none }
	if _, err := yarnrpc.Dial(t.Context(), "127.0.0.1:1", o); !errors.Is(err, none) {
		t.Errorf("got %v", err)
	}
	server := &rpctest.Server{Handler: echo}
	o.Token = func(context.Context, string) (*creds.Token, error) { return nil, nil }
	c := dial(t, server.Listen(t), o)
	if got, err := ask(t.Context(), c, method, 1); err != nil || got != 1 {
		t.Errorf("no token at all: %d, %v", got, err)
	}
}

func TestTheTokenIsSentAsItWasIssued(t *testing.T) {
	identifier := string(bytes.Repeat([]byte{0, 0xff, '"', '\\', ','}, 20))
	server := &rpctest.Server{Handler: echo, Passwords: knows(identifier, "\x00\x01")}
	c := dial(t, server.Listen(t), withToken(options(), token(identifier, "\x00\x01")))
	if _, err := ask(t.Context(), c, method, 1); err != nil {
		t.Error(err)
	}
}

// The length of a protected message is checked before memory is allocated. Otherwise a server
// could make its clients hold more than Options.MaxResponse allows.
func TestWrappersAreBoundedAsTheAnswersInThem(t *testing.T) {
	const limit = 64 << 10
	for name, tc := range map[string]struct {
		wrapper uint32 // announced number of bytes
		refused bool
	}{
		"room for the largest answer": {limit + 64, false},
		"too large for any answer":    {2 * limit, true},
	} {
		t.Run(name, func(t *testing.T) {
			server := &rpctest.Server{
				Passwords: knows("attempt", "secret"),
				QOPs:      []sasl.QOP{sasl.QOPPrivacy},
				Handler: func(call *rpctest.Call) (proto.Message, error) {
					call.Conn.Write(binary.BigEndian.AppendUint32(nil, tc.wrapper)) // the client may have hung up
					return hang(call)
				},
			}
			o := withToken(options(), token("attempt", "secret"))
			o.QOPs, o.MaxResponse = server.QOPs, limit
			if !tc.refused {
				o.RPCTimeout = time.Second // nothing else would end the call
			}
			_, err := ask(t.Context(), dial(t, server.Listen(t), o), method, 1)
			var tooLarge *wire.FrameError
			if errors.As(err, &tooLarge) != tc.refused || err == nil {
				t.Errorf("got %v, refused: want %v", err, tc.refused)
			}
		})
	}
}
