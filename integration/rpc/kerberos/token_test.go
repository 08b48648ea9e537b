package kerberos

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"net"
	"sync/atomic"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/sasl"
)

// tokensStandIn checks that delegation tokens, obtained with Kerberos, give the same access as the
// ticket, with the cluster's protection, and none after their cancellation.
func tokensStandIn(t *testing.T, c *cluster.Cluster) {
	t.Run("at the resourcemanager", func(t *testing.T) {
		o := rpctest.ClientOptions(t, c, alice)
		client := rpctest.NewClient(t, o)
		token, err := client.DelegationToken(t.Context(), bob)
		if err != nil {
			t.Fatal(err)
		}
		o.RPC.Login, o.RPC.Token = nil, creds.Fixed(token)
		bearer := rpctest.NewClient(t, o)
		if report := pass(t, bearer, "with a token"); report.User != alice {
			t.Errorf("the application is %s's", report.User)
		}
		if _, err := bearer.DelegationToken(t.Context(), bob); err == nil {
			t.Error("a token got a token")
		}
		if err := client.CancelDelegationToken(t.Context(), token); err != nil {
			t.Fatal(err)
		}
		late := rpctest.NewClient(t, o)
		if _, err := late.NewApplication(t.Context()); !errors.Is(err, yarnrpc.ErrInvalidToken) {
			t.Errorf("with a cancelled token: got %v, want ErrInvalidToken", err)
		}
	})
	t.Run("at the namenode", func(t *testing.T) {
		o := rpctest.NameNodeOptions(t, c, alice)
		token, err := rpctest.NameNode(t, c, o).DelegationToken(t.Context(), "127.0.0.1:1", bob)
		if err != nil {
			t.Fatal(err)
		}
		// The client sees from the exception's class that the cause is the renewer's name.
		_, err = rpctest.NameNode(t, c, o).DelegationToken(t.Context(), "127.0.0.1:1", "rm/host@NOWHERE.ORG")
		if remote, is := errors.AsType[*yarnrpc.RemoteError](err); !is || remote.Class != "java.lang.RuntimeException" {
			t.Errorf("for a renewer whom no rule names: got %v", err)
		}
		bearer := o
		bearer.Login, bearer.Token = nil, creds.Fixed(token)
		if _, err := rpctest.NameNode(t, c, bearer).DelegationToken(t.Context(), "127.0.0.1:1", bob); err == nil {
			t.Error("a token got a token")
		}
		if err := rpctest.NameNode(t, c, bearer).CancelDelegationToken(t.Context(), token); err != nil {
			t.Errorf("cancel it, with itself: %v", err)
		}
		renewer := rpctest.NameNode(t, c, rpctest.NameNodeOptions(t, c, bob))
		if _, err := renewer.RenewDelegationToken(t.Context(), token); !errors.Is(err, yarnrpc.ErrInvalidToken) {
			t.Errorf("renew a cancelled token: got %v, want ErrInvalidToken", err)
		}
	})
}

// tokensProtect makes calls with only tokens, like all containers, and looks at the bytes on the
// socket. Tokens use DIGEST-MD5, which has code of its own. The test would catch a direction
// without encryption under privacy, and answers that an attacker can change under integrity.
func tokensProtect(t *testing.T, c *cluster.Cluster, qop sasl.QOP) {
	readable := qop != sasl.QOPPrivacy
	t.Run("calls of the resourcemanager", func(t *testing.T) {
		o := rpctest.ClientOptions(t, c, alice)
		token, err := rpctest.NewClient(t, o).DelegationToken(t.Context(), bob)
		if err != nil {
			t.Fatal(err)
		}
		var socket bobbintest.Tap
		var seen rpctest.Connections
		o.RPC.Login, o.RPC.Token, o.RPC.Dial, o.RPC.Opened = nil, creds.Fixed(token), socket.Dial, seen.Add
		const name = "an-application-of-who-has-a-token"
		if report := pass(t, rpctest.NewClient(t, o), name); report.Name != name {
			t.Errorf("the report says %s", report.Name)
		}
		seen.Check(t, 1, rpctest.ByToken(qop))
		socket.Check(t, name, readable, readable)
		socket.Check(t, "submitApplication", readable, false)
		socket.Check(t, "qop="+string(qop), true, false) // the login, which comes before
		socket.Check(t, "rspauth=", false, true)
		socket.Check(t, string(token.Password), false, false)
	})
	t.Run("calls of the namenode", func(t *testing.T) {
		o := rpctest.NameNodeOptions(t, c, alice)
		token, err := rpctest.NameNode(t, c, o).DelegationToken(t.Context(), "127.0.0.1:1", bob)
		if err != nil {
			t.Fatal(err)
		}
		var socket bobbintest.Tap
		var seen rpctest.Connections
		o.Login, o.Token, o.Dial, o.Opened = nil, creds.Fixed(token), socket.Dial, seen.Add
		const path = "/a-path-that-nobody-has" // and is also in the answer
		if _, err := rpctest.NameNode(t, c, o).Locate(t.Context(), path, 0, 1); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("error is %v", err)
		}
		seen.Check(t, 1, rpctest.ByToken(qop))
		socket.Check(t, path, readable, readable)
		socket.Check(t, "getBlockLocations", readable, readable) // in the stack of the exception
		if !readable {
			return
		}
		forger := forger{old: []byte(path), new: []byte("/a-path-that-nobody-had")}
		o.Dial = forger.dial
		_, err = rpctest.NameNode(t, c, o).Locate(t.Context(), path, 0, 1)
		if forger.changed.Load() == 0 {
			t.Error("the answer was not changed in transit")
		}
		if refused := errors.Is(err, sasl.ErrTampered); refused != (qop == sasl.QOPIntegrity) {
			t.Errorf("the answer that was changed in transit: %v", err)
		}
	})
}

// forger changes a server's messages.
type forger struct {
	old, new []byte // of the same length
	changed  atomic.Int64
}

// dial is for yarnrpc.Options.
func (f *forger) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return forged{conn, f}, nil
}

type forged struct {
	net.Conn
	forger *forger
}

func (c forged) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if bytes.Contains(b[:n], c.forger.old) {
		c.forger.changed.Add(1)
		copy(b, bytes.ReplaceAll(b[:n], c.forger.old, c.forger.new))
	}
	return n, err
}
