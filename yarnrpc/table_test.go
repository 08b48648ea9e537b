package yarnrpc_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jcmturner/gokrb5/v8/iana/errorcode"
	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/commonpb"
	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/testing/kdctest"
	"github.com/bobbin-yarn/bobbin/yarnrpc/kerberos"
	"github.com/bobbin-yarn/bobbin/yarnrpc/wire"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnfake"
)

// pair is a fake ResourceManager behind two addresses, and a client that tries rm1 first. A
// fault hits the client's first action there.
type pair struct {
	fake    *yarnfake.Fake
	address string // the fake's
	options yarnrpc.Options

	first func(context.Context) (net.Conn, error) // the first connection to rm1; nil: no fault

	mu      sync.Mutex // guards what follows
	dialled []string
	failed  []error // of tries after which there was another
}

const (
	firstHost, secondHost = "rm1:8032", "rm2:8032"

	// The calls: one may be repeated, and one may not. The second names an attempt that
	// does not exist, which is also an answer.
	often, once = "getClusterMetrics", "failApplicationAttempt"
)

func newPair(t *testing.T) *pair {
	fake, err := yarnfake.Start(yarnfake.Config{InMemory: true, Heartbeat: -1})
	if err != nil {
		t.Fatal(err)
	}
	p := &pair{fake: fake, address: fake.Conf().Get("yarn.resourcemanager.address"), options: options()}
	p.options.RPCTimeout = 5 * time.Second
	p.options.Dial = p.dial
	p.options.Logger = slog.New(warnings{slog.DiscardHandler, p})
	return p
}

func (p *pair) dial(ctx context.Context, network, address string) (net.Conn, error) {
	p.mu.Lock()
	again := slices.Contains(p.dialled, address)
	p.dialled = append(p.dialled, address)
	p.mu.Unlock()
	if p.first != nil && address == firstHost && !again {
		return p.first(ctx)
	}
	return p.fake.Dial(ctx, network, p.address)
}

// warnings collects the errors of a pair's tries from the logged warnings.
type warnings struct {
	slog.Handler
	of *pair
}

func (warnings) Enabled(_ context.Context, level slog.Level) bool { return level == slog.LevelWarn }

func (w warnings) Handle(_ context.Context, record slog.Record) error {
	w.of.mu.Lock()
	defer w.of.mu.Unlock()
	record.Attrs(func(a slog.Attr) bool {
		if err, is := a.Value.Any().(error); is && a.Key == "error" {
			w.of.failed = append(w.of.failed, err)
		}
		return true
	})
	return nil
}

// says is a first connection whose server answers the call with these bytes.
func says(bytes []byte) func(context.Context) (net.Conn, error) {
	return func(ctx context.Context) (net.Conn, error) {
		o := scripted(options(), func(conn net.Conn, requests <-chan wire.Request) {
			firstCall(requests)
			conn.Write(bytes) // the client may hang up
		})
		return o.Dial(ctx, "tcp", firstHost)
	}
}

// unwelcome is a first connection that the server refuses.
func unwelcome(t *testing.T, class string) func(context.Context) (net.Conn, error) {
	b, err := wire.AppendResponse(nil, wire.CallContext, nil, nil, &wire.Failure{
		Class: class, Message: "no", Fatal: true, Detail: "FATAL_UNAUTHORIZED",
	})
	if err != nil {
		t.Fatal(err)
	}
	return says(b)
}

// breaks is a first connection to the fake that breaks with an error once the client
// waits for an answer.
func (p *pair) breaks(with error) func(context.Context) (net.Conn, error) {
	return func(ctx context.Context) (net.Conn, error) {
		conn, err := p.fake.Dial(ctx, "tcp", p.address)
		return &breaking{Conn: conn, with: with}, err
	}
}

type breaking struct {
	net.Conn
	with error
}

func (b *breaking) Read(p []byte) (int, error) {
	if _, err := b.Conn.Read(p[:1]); err != nil {
		return 0, err
	}
	return 0, b.with
}

// end is the outcome of a call.
type end string

const (
	byFirst  end = "answered by the first host"
	bySecond end = "answered by the second host"
	refused  end = "refused"  // by YARN, or before it was made
	inDoubt  end = "in doubt" // whether it was executed
)

// Each row of the table, at a ResourceManager where the row's fault happens once.
func TestEachRowOfTheTableAtAResourceManager(t *testing.T) {
	kdc := startKDC(t) // out of the bubbles, as it waits for the network
	const ipc, yarn, sasl = "org.apache.hadoop.ipc.", "org.apache.hadoop.yarn.exceptions.", "javax.security.sasl.SaslException"
	refuse := func(class string) func(*testing.T, *pair) {
		return func(_ *testing.T, p *pair) {
			p.fake.Refuse(often, yarnfake.Before, class, "no")
			p.fake.Refuse(once, yarnfake.Before, class, "no")
		}
	}
	login := func(spoil func(*kerberosLogin)) func(*testing.T, *pair) {
		return func(t *testing.T, p *pair) { p.loginFirst(t, kdc, spoil) }
	}
	refuseTicket := func(code int32) func(*kerberosLogin) {
		return func(l *kerberosLogin) {
			l.refuse = func(service string) int32 {
				if strings.HasPrefix(service, "krbtgt/") {
					return 0
				}
				return code
			}
		}
	}
	dialling := func(err error) func(*testing.T, *pair) {
		return func(_ *testing.T, p *pair) {
			p.first = func(context.Context) (net.Conn, error) { return nil, &net.OpError{Op: "dial", Net: "tcp", Err: err} }
		}
	}
	http := func(_ *testing.T, p *pair) { p.first = says([]byte("HTTP/1.1 404 Not Found\r\n\r\n")) }
	rows := map[string]struct {
		befalls     func(*testing.T, *pair)
		often, once end
	}{
		"standby":                   {refuse(ipc + "StandbyException"), bySecond, bySecond},
		"overloaded or starting":    {refuse(ipc + "RetriableException"), byFirst, byFirst},
		"token refused":             {wrongToken, byFirst, byFirst},
		"login refused by one host": {func(t *testing.T, p *pair) { p.first = unwelcome(t, sasl) }, bySecond, bySecond},
		"different Hadoop release":  {refuse(ipc + "RpcNoSuchMethodException"), refused, refused},
		"connection refused by the server": {func(t *testing.T, p *pair) {
			p.first = unwelcome(t, "org.apache.hadoop.security.authorize.AuthorizationException")
		}, refused, refused},
		"exception": {refuse(yarn + "YarnException"), refused, refused},
		"caller canceled or timed out": {func(_ *testing.T, p *pair) {
			p.options.RPCTimeout = -1
			p.fake.Delay(often, time.Hour)
			p.fake.Delay(once, time.Hour)
		}, inDoubt, inDoubt},
		"malformed answer from one host":  {func(_ *testing.T, p *pair) { p.first = says([]byte("\x00\x00\x00\x04\xff\xff\xff\xff")) }, bySecond, inDoubt},
		"one host is not a Hadoop server": {http, bySecond, inDoubt},
		"login failed at one host":        {login(refuseTicket(errorcode.KDC_ERR_S_PRINCIPAL_UNKNOWN)), bySecond, bySecond},
		"unexpected server principal":     {login(func(l *kerberosLogin) { l.server = "rm3" }), bySecond, bySecond},
		"clock skew":                      {login(func(l *kerberosLogin) { l.clock = l.clock.Add(20 * time.Minute) }), refused, refused},
		"login refused by the kdc": {login(func(l *kerberosLogin) {
			l.refuse = func(string) int32 { return errorcode.KDC_ERR_C_PRINCIPAL_UNKNOWN }
		}), refused, refused},
		"no login":          {func(_ *testing.T, p *pair) { p.options.RequireLogin = true }, refused, refused},
		"no kdc answers":    {login(func(l *kerberosLogin) { l.kdcs = []string{"127.0.0.1:1"} }), byFirst, byFirst},
		"no valid ticket":   {login(refuseTicket(errorcode.KRB_AP_ERR_TKT_EXPIRED)), byFirst, byFirst},
		"unreachable":       {dialling(syscall.ECONNREFUSED), bySecond, bySecond},
		"unknown host":      {dialling(&net.DNSError{Err: "no such host", Name: "rm1", IsNotFound: true}), bySecond, bySecond},
		"no answer in time": {silent, bySecond, inDoubt},
		"connection lost":   {lost, bySecond, inDoubt},
		"connection broken": {func(_ *testing.T, p *pair) { p.first = p.breaks(&net.OpError{Op: "read", Err: syscall.ECONNRESET}) }, bySecond, inDoubt},
		"network failure": {func(_ *testing.T, p *pair) {
			p.first = p.breaks(&net.OpError{Op: "read", Err: errors.New("cable pulled")})
		}, bySecond, inDoubt},
		"client failure": {func(_ *testing.T, p *pair) {
			p.options.Token = func(context.Context, string) (*creds.Token, error) { return nil, errors.New("no such file") }
		}, refused, refused},
	}
	for _, row := range yarnrpc.Rows() {
		tc, there := rows[row.Class]
		if !there {
			t.Errorf("nothing shows the row %q", row.Class)
			continue
		}
		for name, want := range map[string]end{often: tc.often, once: tc.once} {
			t.Run(row.Class+", "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { tryRow(t, row, tc.befalls, name, want) })
			})
		}
	}
}

// tryRow makes a call with the fault of the row.
func tryRow(t *testing.T, row yarnrpc.Verdict, befalls func(*testing.T, *pair), name string, want end) {
	p := newPair(t)
	befalls(t, p)
	proxy := yarnrpc.NewProxy([]string{firstHost, secondHost}, p.options, patient)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	err := p.call(ctx, proxy, name)
	closeOrFail(t, proxy)
	if err := p.fake.Stop(); err != nil {
		t.Error(err)
	}

	met := append(slices.Clone(p.failed), err)[0]
	if met == nil || yarnrpc.Judge(met) != row {
		t.Errorf("it met %v, which is not of the row", met)
	}
	if got := p.end(err); got != want {
		t.Errorf("the call is %s: %v; want it %s", got, err, want)
	}
	if maybe := yarnrpc.MaybeSent(err); maybe && row.Execution == yarnrpc.NotExecuted {
		t.Errorf("%v may have been executed, and the row says that it was not", err)
	}
}

func (p *pair) call(ctx context.Context, c yarnrpc.Caller, name string) error {
	if name == often {
		return c.Call(ctx, name, &yarnpb.GetClusterMetricsRequestProto{}, &yarnpb.GetClusterMetricsResponseProto{})
	}
	app := &yarnpb.ApplicationIdProto{Id: proto.Int32(77), ClusterTimestamp: proto.Int64(1)}
	return c.Call(ctx, name, &yarnpb.FailApplicationAttemptRequestProto{
		ApplicationAttemptId: &yarnpb.ApplicationAttemptIdProto{ApplicationId: app, AttemptId: proto.Int32(1)},
	}, &yarnpb.FailApplicationAttemptResponseProto{})
}

func (p *pair) end(err error) end {
	switch {
	case yarnrpc.MaybeSent(err):
		return inDoubt
	case err != nil && !errors.Is(err, yarnrpc.ErrApplicationNotFound): // which only the fake can know
		return refused
	case p.dialled[len(p.dialled)-1] == secondHost:
		return bySecond
	default:
		return byFirst
	}
}

// wrongToken gives the client a token that the ResourceManager refuses, and then the right
// one.
func wrongToken(t *testing.T, p *pair) {
	right := p.issue(t)
	wrong := right
	wrong.Password = []byte("guess")
	p.options.Token = oneAfter(&wrong, &right)
}

// issue gets a token from the ResourceManager.
func (p *pair) issue(t *testing.T) creds.Token {
	issuer := yarnrpc.NewProxy([]string{firstHost}, p.options, yarnrpc.Policy{})
	var issued commonpb.GetDelegationTokenResponseProto
	err := issuer.Call(t.Context(), "getDelegationToken", &commonpb.GetDelegationTokenRequestProto{Renewer: proto.String("alice")}, &issued)
	closeOrFail(t, issuer)
	if err != nil {
		t.Fatal(err)
	}
	p.dialled = nil
	return creds.Token{
		Identifier: issued.GetToken().GetIdentifier(), Password: issued.GetToken().GetPassword(),
		Kind: issued.GetToken().GetKind(), Service: issued.GetToken().GetService(),
	}
}

// oneAfter returns a token for the first login and another for later ones.
func oneAfter(first, then *creds.Token) func(context.Context, string) (*creds.Token, error) {
	asked := false
	return func(context.Context, string) (*creds.Token, error) {
		if !asked {
			asked = true
			return first, nil
		}
		return then, nil
	}
}

// kerberosLogin is the environment of a Kerberos login.
type kerberosLogin struct {
	server string                            // the host that the server says it is
	clock  time.Time                         // the KDC's
	refuse func(service string) (code int32) // by the KDC; nil: it refuses nothing
	kdcs   []string                          // of the realm
}

// loginFirst makes the client log in with its keytab at the first server, which requires
// that, and later with a token: the fake has no keys.
func (p *pair) loginFirst(t *testing.T, kdc *kdctest.KDC, spoil func(*kerberosLogin)) {
	token := p.issue(t)
	conf, err := kerberos.ParseConfig("test", kdc.Conf())
	if err != nil {
		t.Fatal(err)
	}
	meets := kerberosLogin{server: "rm1", clock: time.Now(), kdcs: conf.Realms[0].KDC}
	spoil(&meets)
	conf.Realms[0].KDC = meets.kdcs
	kdc.Change(func() {
		kdc.Clock, kdc.Refuse = func() time.Time { return meets.clock }, meets.refuse
	})
	p.options.Login, p.options.Server.Principal = keytabLogin(t, conf), "rm/_HOST@A"
	p.options.Token = oneAfter(nil, &token)
	server := scripted(options(), func(conn net.Conn, requests <-chan wire.Request) {
		<-requests
		offer := kerberosOffer()
		offer.ServerId = &meets.server
		send(t, conn, wire.CallSASL, nil, offers(offer), nil)
	})
	p.first = func(ctx context.Context) (net.Conn, error) { return server.Dial(ctx, "tcp", firstHost) }
}

// silent is a server that has stopped while its connections are open.
func silent(_ *testing.T, p *pair) {
	p.first = func(context.Context) (net.Conn, error) {
		client, served := net.Pipe()
		go func() {
			defer served.Close()
			io.Copy(io.Discard, served) // until the client hangs up
		}()
		return client, nil
	}
}

// lost is a connection that breaks before the answer arrives.
func lost(_ *testing.T, p *pair) {
	p.fake.Drop(often, yarnfake.After)
	p.fake.Drop(once, yarnfake.After)
}
