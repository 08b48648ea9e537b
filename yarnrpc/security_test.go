package yarnrpc_test

import (
	"net"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/testing/rpctest"
	"github.com/bobbin-yarn/bobbin/yarnrpc/sasl"
	"github.com/bobbin-yarn/bobbin/yarnrpc/wire"
)

// The report must be the agreed protection, not the configured one. It would catch a report of
// privacy over a connection in clear text.
func TestWhatWasAgreedOnIsTold(t *testing.T) {
	allQOPs := []sasl.QOP{sasl.QOPPrivacy, sasl.QOPIntegrity, sasl.QOPAuthentication}
	told := func(o yarnrpc.Options, got *[]yarnrpc.Security) yarnrpc.Options {
		o.Opened = func(address string, s yarnrpc.Security) {
			if address == "" {
				t.Error("the address is missing")
			}
			*got = append(*got, s)
		}
		return o
	}
	for name, tc := range map[string]struct {
		server *rpctest.Server
		opened func(yarnrpc.Options) yarnrpc.Options
		want   yarnrpc.Security
	}{
		"trust": {
			&rpctest.Server{Handler: echo},
			func(o yarnrpc.Options) yarnrpc.Options { return o },
			yarnrpc.Security{Method: "SIMPLE", QOP: sasl.QOPAuthentication},
		},
		"a server that wants no token": {
			&rpctest.Server{Handler: echo},
			func(o yarnrpc.Options) yarnrpc.Options {
				o.AllowSimpleFallback = true
				return withToken(o, token("me", "secret"))
			},
			yarnrpc.Security{Method: "SIMPLE", QOP: sasl.QOPAuthentication},
		},
		"a token, and a server with less protection than it could be": {
			&rpctest.Server{Handler: echo, Passwords: knows("me", "secret"), QOPs: []sasl.QOP{sasl.QOPIntegrity}},
			func(o yarnrpc.Options) yarnrpc.Options { return withToken(o, token("me", "secret")) },
			yarnrpc.Security{Method: "TOKEN", QOP: sasl.QOPIntegrity},
		},
		"a token, and privacy": {
			&rpctest.Server{Handler: echo, Passwords: knows("me", "secret"), QOPs: allQOPs},
			func(o yarnrpc.Options) yarnrpc.Options { return withToken(o, token("me", "secret")) },
			yarnrpc.Security{Method: "TOKEN", QOP: sasl.QOPPrivacy},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got []yarnrpc.Security
			o := told(tc.opened(options()), &got)
			o.QOPs = allQOPs
			dial(t, tc.server.Listen(t), o)
			if diff := cmp.Diff([]yarnrpc.Security{tc.want}, got); diff != "" {
				t.Errorf("told (-want +got):\n%s", diff)
			}
		})
	}
	for _, qop := range allQOPs {
		t.Run("kerberos "+string(qop), func(t *testing.T) {
			var got []yarnrpc.Security
			o := scripted(told(withLogin(options(), &alices{}), &got), func(conn net.Conn, requests <-chan wire.Request) {
				authenticator(t, conn, requests, &sasl.GSSAPIServer{Key: serviceKey, QOPs: []sasl.QOP{qop}})
				for range requests { // until the client leaves
				}
			})
			o.QOPs = allQOPs
			c, err := yarnrpc.Dial(t.Context(), "server:1", o)
			if err != nil {
				t.Fatal(err)
			}
			closeOrFail(t, c)
			want := []yarnrpc.Security{{Method: "KERBEROS", Server: "rm/server@REALM", QOP: qop}}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("told (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("nothing of a login that failed", func(t *testing.T) {
		var got []yarnrpc.Security
		server := &rpctest.Server{Handler: echo, Passwords: knows("me", "secret")}
		if _, err := yarnrpc.Dial(t.Context(), server.Listen(t), told(withToken(options(), token("me", "guess")), &got)); err == nil || got != nil {
			t.Errorf("told %v, %v", got, err)
		}
	})
}
