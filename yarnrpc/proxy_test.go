package yarnrpc_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/testing/rpctest"
)

// network maps addresses to the servers behind them; nil: no server listens there.
type network struct {
	mu      sync.Mutex
	servers map[string]*rpctest.Server
	dials   map[string]int
}

func newNetwork(t *testing.T, servers map[string]*rpctest.Server) *network {
	n := &network{servers: servers, dials: make(map[string]int)}
	t.Cleanup(func() {
		for _, s := range servers {
			if s != nil {
				s.Close()
			}
		}
	})
	return n
}

func (n *network) dial(_ context.Context, _, address string) (net.Conn, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.dials[address]++
	server := n.servers[address]
	if server == nil {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	}
	client, served := net.Pipe()
	server.Serve(served)
	return client, nil
}

func (n *network) start(address string, server *rpctest.Server) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.servers[address] = server
}

func (n *network) proxy(t *testing.T, p yarnrpc.Policy, addresses ...string) *yarnrpc.Proxy {
	o := options()
	o.Dial = n.dial
	proxy := yarnrpc.NewProxy(addresses, o, p)
	t.Cleanup(func() { closeOrFail(t, proxy) })
	return proxy
}

var patient = yarnrpc.Policy{MaxWait: time.Minute, BaseDelay: time.Second}

func standby(*rpctest.Call) (proto.Message, error) {
	return nil, rpctest.Exception("org.apache.hadoop.ipc.StandbyException", "not me")
}

func busy(*rpctest.Call) (proto.Message, error) {
	return nil, rpctest.Exception("org.apache.hadoop.ipc.RetriableException", "later")
}

func TestAProxyGoesToTheActiveServerAndStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t, map[string]*rpctest.Server{"rm1:1": {Handler: standby}, "rm2:1": {Handler: echo}, "rm3:1": nil})
		proxy := n.proxy(t, patient, "rm3:1", "rm1:1", "rm2:1")
		began := time.Now()
		for want := range int32(5) {
			if got, err := ask(t.Context(), proxy, method, want); err != nil || got != want {
				t.Errorf("got %d, %v, want %d", got, err, want)
			}
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("the first round over the servers took %v", took)
		}
		if n.dials["rm1:1"] != 1 || n.dials["rm2:1"] != 1 || n.dials["rm3:1"] != 1 {
			t.Errorf("dials: %v, want one each", n.dials)
		}
	})
}

// Without this, each of a thousand calls that fail together would move the Proxy to the next
// address, past the active server and around again.
func TestCallsThatFailTogetherFailOverOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t, map[string]*rpctest.Server{"rm1:1": {Handler: func(call *rpctest.Call) (proto.Message, error) {
			time.Sleep(time.Second) // until all callers wait
			return standby(call)
		}}, "rm2:1": {Handler: echo}, "rm3:1": nil})
		proxy := n.proxy(t, patient, "rm1:1", "rm2:1", "rm3:1")
		var callers sync.WaitGroup
		for want := range int32(50) {
			callers.Go(func() {
				if got, err := ask(t.Context(), proxy, method, want); err != nil || got != want {
					t.Errorf("got %d, %v, want %d", got, err, want)
				}
			})
		}
		callers.Wait()
		if n.dials["rm1:1"] != 1 || n.dials["rm2:1"] != 1 || n.dials["rm3:1"] != 0 {
			t.Errorf("dials: %v", n.dials)
		}
	})
}

// An ApplicationMaster's heartbeat has no time to wait. It must find the active one of two
// ResourceManagers even if the first one refuses it slowly.
func TestTheFirstRoundOverTheServersIsFinishedWhateverTheTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t, map[string]*rpctest.Server{"rm1:1": {Handler: func(call *rpctest.Call) (proto.Message, error) {
			time.Sleep(time.Second)
			return standby(call)
		}}, "rm2:1": {Handler: echo}})
		proxy := n.proxy(t, yarnrpc.Policy{MaxWait: time.Nanosecond, BaseDelay: time.Second}, "rm1:1", "rm2:1")
		if got, err := ask(t.Context(), proxy, method, 7); err != nil || got != 7 {
			t.Errorf("got %d, %v", got, err)
		}
	})
}

// Without this, a client with one try for each call would ask a standby for ever.
func TestACallThatIsGivenUpLeavesTheServerThatFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t, map[string]*rpctest.Server{"rm1:1": {Handler: standby}, "rm2:1": {Handler: echo}})
		proxy := n.proxy(t, yarnrpc.Policy{}, "rm1:1", "rm2:1")
		if _, err := ask(t.Context(), proxy, method, 1); !errors.Is(err, yarnrpc.ErrStandby) {
			t.Errorf("first call: %v, want the standby's answer", err)
		}
		if got, err := ask(t.Context(), proxy, method, 2); err != nil || got != 2 {
			t.Errorf("second call: %d, %v", got, err)
		}
	})
}

func TestAProxyWaitsForAServerThatComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t, map[string]*rpctest.Server{})
		proxy := n.proxy(t, patient, "rm:1")
		server := &rpctest.Server{Handler: echo}
		t.Cleanup(server.Close)
		time.AfterFunc(4500*time.Millisecond, func() { n.start("rm:1", server) })
		began := time.Now()
		if got, err := ask(t.Context(), proxy, method, 7); err != nil || got != 7 {
			t.Errorf("got %d, %v", got, err)
		}
		if took := time.Since(began); took < 4500*time.Millisecond || took >= 6*time.Second {
			t.Errorf("took %v, and waits are of half to one and a half of a second", took)
		}
		server.Disconnect() // it restarts
		if got, err := ask(t.Context(), proxy, method, 8); err != nil || got != 8 {
			t.Errorf("after a restart: got %d, %v", got, err)
		}
		time.Sleep(time.Minute) // the connection closes when idle
		if server.Open() != 0 {
			t.Errorf("%d connections open after a minute without calls", server.Open())
		}
		if got, err := ask(t.Context(), proxy, method, 9); err != nil || got != 9 {
			t.Errorf("after a minute: got %d, %v", got, err)
		}
	})
}

// A container must not be started twice because the answer to the first try was lost.
func TestOnlyHarmlessCallsAreRepeatedOnceTheyMayHaveBeenSent(t *testing.T) {
	for _, tc := range []struct {
		protocol, method string
		repeated         bool
	}{
		{yarnrpc.ApplicationClientProtocol, "getApplicationReport", true},
		{yarnrpc.ApplicationMasterProtocol, "allocate", true},
		{yarnrpc.ContainerManagementProtocol, "startContainers", false},
		{yarnrpc.ContainerManagementProtocol, "stopContainers", true},
		{yarnrpc.ContainerManagementProtocol, "getContainerStatuses", true},
		{yarnrpc.HDFSClientProtocol, "getBlockLocations", true},
		{yarnrpc.HDFSClientProtocol, "addBlock", true},
	} {
		t.Run(tc.method, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				var seen []string
				n := newNetwork(t, map[string]*rpctest.Server{"rm:1": {Handler: func(call *rpctest.Call) (proto.Message, error) {
					mu.Lock()
					seen = append(seen, fmt.Sprintf("%x %d", call.Call.ClientID, call.Call.ID))
					retry, first := call.Call.Retry, len(seen) == 1
					mu.Unlock()
					if int(retry) != len(seen)-1 {
						t.Errorf("try %d has retry count %d", len(seen), retry)
					}
					if first {
						call.Conn.Close() // the answer is lost
					}
					return echo(call)
				}}})
				o := options()
				o.Dial, o.Protocol = n.dial, tc.protocol
				proxy := yarnrpc.NewProxy([]string{"rm:1"}, o, patient)
				defer closeOrFail(t, proxy)
				_, err := ask(t.Context(), proxy, tc.method, 1)
				if tc.repeated {
					if err != nil || len(seen) != 2 || seen[0] != seen[1] {
						t.Errorf("tries %q, %v, want two of one call", seen, err)
					}
				} else if !yarnrpc.MaybeSent(err) || len(seen) != 1 {
					t.Errorf("tries %q, %v, want one", seen, err)
				}
			})
		})
	}
}

func TestACallThatIsGivenUpSaysWhereAndHowLongItWasTried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t, map[string]*rpctest.Server{"rm2:1": {Handler: standby}})
		proxy := n.proxy(t, yarnrpc.Policy{MaxWait: 5 * time.Second, BaseDelay: 2 * time.Second}, "rm1:1", "rm2:1")
		_, err := ask(t.Context(), proxy, method, 1)
		want := regexp.MustCompile("^getApplicationReport on rm1:1, rm2:1: given up after ([468]|10) tries in [2-5](\\.[0-9]{1,3})?s: " +
			"rm1:1: dial tcp: connection refused; rm2:1: StandbyException: not me$")
		if err == nil || !want.MatchString(err.Error()) {
			t.Errorf("got  %v\nwant %s", err, want)
		}
		if !errors.Is(err, syscall.ECONNREFUSED) || !errors.Is(err, yarnrpc.ErrStandby) || yarnrpc.MaybeSent(err) {
			t.Error("the causes are lost")
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = ask(ctx, proxy, method, 1)
		if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("with a context that ends first: %v", err)
		}
	})
}

// TestWhatBoundsACallIsTold would catch a call that is given up after "608ms" without naming the
// configured limit of 1500.
func TestWhatBoundsACallIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t, map[string]*rpctest.Server{})
		for policy, want := range map[yarnrpc.Policy]string{
			{MaxWait: time.Second, BaseDelay: 3 * time.Second}:                                           "^getApplicationReport on rm:1: dial tcp: connection refused$",
			{MaxWait: time.Second, BaseDelay: 3 * time.Second, Limit: "client.timeout: 1000"}:            `^getApplicationReport on rm:1: given up after one try in 0s \(client.timeout: 1000\): dial tcp: connection refused$`,
			{MaxWait: 5 * time.Second, BaseDelay: 2 * time.Second, Limit: "client.timeout: 5 s"}:         `given up after [2-5] tries in [0-9.]+s \(client.timeout: 5 s\): dial tcp`,
			{MaxWait: time.Minute, BaseDelay: time.Second, MaxFailovers: 1, Limit: "client.timeout: 60"}: "given up after 2 tries in [0-9a-z.]+: dial tcp", // it was not the time
		} {
			_, err := ask(t.Context(), n.proxy(t, policy, "rm:1"), method, 1)
			if err == nil || !regexp.MustCompile(want).MatchString(err.Error()) || !errors.Is(err, syscall.ECONNREFUSED) {
				t.Errorf("%+v: %v, want %s", policy, err, want)
			}
		}
	})
}

func TestPoliciesBoundTheTries(t *testing.T) {
	for name, tc := range map[string]struct {
		policy yarnrpc.Policy
		dials  [2]int     // at least and at most, as waits are of half to one and a half
		took   [2]float64 // seconds
	}{
		"one try":                    {yarnrpc.Policy{}, [2]int{1, 1}, [2]float64{0, 0}},
		"waits that do not grow":     {yarnrpc.Policy{MaxWait: 10 * time.Second, BaseDelay: 3 * time.Second}, [2]int{3, 7}, [2]float64{5.5, 10}},
		"waits that are not set":     {yarnrpc.Policy{MaxWait: 10 * time.Second}, [2]int{7, 21}, [2]float64{8.5, 10}},
		"no time for a wait":         {yarnrpc.Policy{MaxWait: time.Second, BaseDelay: 3 * time.Second}, [2]int{1, 1}, [2]float64{0, 0}},
		"a number of failovers":      {yarnrpc.Policy{MaxWait: -1, BaseDelay: time.Second, MaxFailovers: 4}, [2]int{5, 5}, [2]float64{2, 6}},
		"waits that grow to a bound": {yarnrpc.Policy{MaxWait: time.Hour, BaseDelay: time.Second, MaxDelay: 8 * time.Second, MaxFailovers: 6}, [2]int{7, 7}, [2]float64{15.5, 46.5}}, // 1 2 4 8 8 8
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNetwork(t, nil)
				proxy := n.proxy(t, tc.policy, "rm:1")
				began := time.Now()
				if _, err := ask(t.Context(), proxy, method, 1); !errors.Is(err, syscall.ECONNREFUSED) {
					t.Errorf("got %v", err)
				}
				if took := time.Since(began).Seconds(); took < tc.took[0] || took > tc.took[1] {
					t.Errorf("took %v s, want %v", took, tc.took)
				}
				if dials := n.dials["rm:1"]; dials < tc.dials[0] || dials > tc.dials[1] {
					t.Errorf("%d dials, want %v", dials, tc.dials)
				}
			})
		})
	}
}

// Hadoop waits longer for a host that may be starting than for a host that refuses connections.
func TestEachKindOfFailureHasItsBound(t *testing.T) {
	policy := yarnrpc.Policy{MaxWait: -1, BaseDelay: time.Second, MaxFailovers: 2, MaxTimeouts: 5}
	for name, tc := range map[string]struct {
		dial    error
		handler rpctest.Handler
		want    error
		tries   int
	}{
		"nobody listens":          {syscall.ECONNREFUSED, nil, syscall.ECONNREFUSED, 3},
		"no connection in time":   {context.DeadlineExceeded, nil, yarnrpc.ErrConnectTimeout, 6},
		"a server that is busy":   {nil, busy, yarnrpc.ErrRetriable, 3},
		"a server that stands by": {nil, standby, yarnrpc.ErrStandby, 3},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tries := 0
				n := newNetwork(t, map[string]*rpctest.Server{"rm:1": {Handler: func(call *rpctest.Call) (proto.Message, error) {
					tries++
					return tc.handler(call)
				}}})
				o := options()
				o.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
					if tc.dial != nil {
						tries++
						return nil, tc.dial
					}
					return n.dial(ctx, network, address)
				}
				proxy := yarnrpc.NewProxy([]string{"rm:1"}, o, policy)
				defer closeOrFail(t, proxy)
				if _, err := ask(t.Context(), proxy, method, 1); !errors.Is(err, tc.want) || tries != tc.tries {
					t.Errorf("%d tries, want %d: %v", tries, tc.tries, err)
				}
			})
		})
	}
}

func TestAnswersThatNoRetryWouldChangeAreNotRetried(t *testing.T) {
	for class, tries := range map[string]int32{
		"org.apache.hadoop.security.AccessControlException":              1,
		"org.apache.hadoop.yarn.exceptions.ApplicationNotFoundException": 1,
		"org.apache.hadoop.security.token.SecretManager$InvalidToken":    1,
		"java.lang.NullPointerException":                                 1,
		"org.apache.hadoop.ipc.RetriableException":                       3,
		"org.apache.hadoop.yarn.exceptions.NMNotYetReadyException":       3,
		"org.apache.hadoop.ipc.StandbyException":                         3,
	} {
		t.Run(class, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var seen atomic.Int32
				n := newNetwork(t, map[string]*rpctest.Server{"rm:1": {Handler: func(*rpctest.Call) (proto.Message, error) {
					seen.Add(1)
					return nil, rpctest.Exception(class, "because")
				}}})
				proxy := n.proxy(t, yarnrpc.Policy{MaxWait: -1, BaseDelay: time.Second, MaxFailovers: 2}, "rm:1")
				_, err := ask(t.Context(), proxy, method, 1)
				var remote *yarnrpc.RemoteError
				if !errors.As(err, &remote) || seen.Load() != tries {
					t.Errorf("%d tries, want %d: %v", seen.Load(), tries, err)
				}
			})
		})
	}
}

// One host with a wrong keytab or clock must not end calls that the other host would answer. If it
// is the only host, it must not keep callers waiting.
func TestAHostThatDoesNotLogUsInIsPassedOver(t *testing.T) {
	refuse := func(*rpctest.Call) (proto.Message, error) {
		return nil, rpctest.Exception("javax.security.sasl.SaslException", "GSS initiate failed")
	}
	for name, tc := range map[string]struct {
		servers map[string]*rpctest.Server
		dials   int
		want    error
	}{
		"the other one answers":          {map[string]*rpctest.Server{"rm1:1": {Handler: refuse}, "rm2:1": {Handler: echo}}, 2, nil},
		"the other one does not, either": {map[string]*rpctest.Server{"rm1:1": {Handler: refuse}, "rm2:1": {Handler: refuse}}, 2, yarnrpc.ErrSASL},
		"the other one is away":          {map[string]*rpctest.Server{"rm1:1": {Handler: refuse}}, 3, yarnrpc.ErrSASL},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNetwork(t, tc.servers)
				proxy := n.proxy(t, patient, "rm1:1", "rm2:1")
				began := time.Now()
				if _, err := ask(t.Context(), proxy, method, 1); !errors.Is(err, tc.want) || yarnrpc.MaybeSent(err) {
					t.Errorf("got %v", err)
				}
				if dials := n.dials["rm1:1"] + n.dials["rm2:1"]; dials != tc.dials || time.Since(began) != 0 {
					t.Errorf("%v in %v, want %d", n.dials, time.Since(began), tc.dials)
				}
			})
		})
	}
}

// A caller may have asked for the token just before it was rolled over.
func TestARefusedTokenIsAskedForOnceMore(t *testing.T) {
	for name, tc := range map[string]struct {
		valid  string
		logins int
		want   error
	}{
		"a newer one is there": {"new", 2, nil},
		"none will do":         {"newest", 2, yarnrpc.ErrInvalidToken},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNetwork(t, map[string]*rpctest.Server{"rm:1": {Handler: echo, Passwords: func(identifier []byte) ([]byte, error) {
					if string(identifier) != tc.valid {
						return nil, errors.New("unknown key")
					}
					return identifier, nil
				}}})
				o := options()
				o.Dial = n.dial
				logins := 0
				o.Token = func(context.Context, string) (*creds.Token, error) {
					logins++
					if logins == 1 {
						return token("old", "old"), nil
					}
					return token("new", "new"), nil
				}
				proxy := yarnrpc.NewProxy([]string{"rm:1"}, o, patient)
				defer closeOrFail(t, proxy)
				if _, err := ask(t.Context(), proxy, method, 1); !errors.Is(err, tc.want) || logins != tc.logins {
					t.Errorf("%d logins: %v", logins, err)
				}
			})
		})
	}
}

// The last answer alone would say that nothing was executed.
func TestARefusalAfterALostAnswerLeavesTheDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t, map[string]*rpctest.Server{"rm:1": {Handler: func(call *rpctest.Call) (proto.Message, error) {
			if call.Call.Retry == 0 {
				call.Conn.Close() // the answer is lost
				return nil, nil
			}
			return nil, rpctest.Exception("org.apache.hadoop.yarn.exceptions.ApplicationNotFoundException", "unknown")
		}}})
		proxy := n.proxy(t, patient, "rm:1")
		if _, err := ask(t.Context(), proxy, method, 1); !errors.Is(err, yarnrpc.ErrApplicationNotFound) || !yarnrpc.MaybeSent(err) {
			t.Errorf("got %v", err)
		}
	})
}

func TestResetUsesTheNewestTokenForNewCallsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		current := "old"
		n := newNetwork(t, map[string]*rpctest.Server{"rm:1": {
			Passwords: func(identifier []byte) ([]byte, error) { return identifier, nil },
			Handler: func(call *rpctest.Call) (proto.Message, error) {
				if number(call) == 1 {
					time.Sleep(5 * time.Second)
				}
				if want := map[int32]string{1: "old", 2: "new"}[number(call)]; call.User != want {
					t.Errorf("call %d came from %s, want %s", number(call), call.User, want)
				}
				return echo(call)
			},
		}})
		o := options()
		o.Dial = n.dial
		o.Token = func(context.Context, string) (*creds.Token, error) { return token(current, current), nil }
		proxy := yarnrpc.NewProxy([]string{"rm:1"}, o, yarnrpc.Policy{})
		defer closeOrFail(t, proxy)
		var callers sync.WaitGroup
		callers.Go(func() {
			if got, err := ask(t.Context(), proxy, method, 1); err != nil || got != 1 {
				t.Errorf("the call before: %d, %v", got, err)
			}
		})
		synctest.Wait()
		current = "new"
		proxy.Reset()
		if got, err := ask(t.Context(), proxy, method, 2); err != nil || got != 2 {
			t.Errorf("the call after: %d, %v", got, err)
		}
		callers.Wait()
		synctest.Wait()
		if open := n.servers["rm:1"].Open(); open != 1 {
			t.Errorf("%d connections open, want the new one alone", open)
		}
	})
}

// If the context of one caller ends, the other callers must keep the connection for which they
// wait.
func TestCallersShareADialButNotTheirContexts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t, map[string]*rpctest.Server{"rm:1": {Handler: echo}})
		o := options()
		o.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			select {
			case <-time.After(3 * time.Second):
				return n.dial(ctx, network, address)
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		proxy := yarnrpc.NewProxy([]string{"rm:1"}, o, yarnrpc.Policy{})
		defer closeOrFail(t, proxy)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var callers sync.WaitGroup
		callers.Go(func() {
			if _, err := ask(ctx, proxy, method, 0); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("impatient caller: %v", err)
			}
		})
		synctest.Wait()
		for i := range int32(3) {
			callers.Go(func() {
				if got, err := ask(t.Context(), proxy, method, i); err != nil || got != i {
					t.Errorf("got %d, %v, want %d", got, err, i)
				}
			})
		}
		callers.Wait()
		if n.dials["rm:1"] != 1 {
			t.Errorf("%d connections", n.dials["rm:1"])
		}
	})
}

func TestCloseEndsWhateverAProxyDoes(t *testing.T) {
	for name, o := range map[string]func(*network) yarnrpc.Options{
		"while it dials": func(*network) yarnrpc.Options {
			o := options()
			o.Dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return o
		},
		"while it looks for a token": func(*network) yarnrpc.Options {
			o := options()
			o.Token = func(ctx context.Context, _ string) (*creds.Token, error) {
				<-ctx.Done()
				return nil, errors.New("look up of the service ended")
			}
			return o
		},
		"while it waits to try again": func(n *network) yarnrpc.Options {
			o := options()
			o.Dial = func(ctx context.Context, network, _ string) (net.Conn, error) { return n.dial(ctx, network, "nowhere") }
			return o
		},
		"while it waits for an answer": func(n *network) yarnrpc.Options {
			o := options()
			o.Dial = n.dial
			return o
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNetwork(t, map[string]*rpctest.Server{"rm:1": {Handler: hang}})
				proxy := yarnrpc.NewProxy([]string{"rm:1"}, o(n), yarnrpc.Policy{MaxWait: -1, BaseDelay: time.Hour})
				began := time.Now()
				var callers sync.WaitGroup
				for range 3 {
					callers.Go(func() {
						if _, err := ask(t.Context(), proxy, method, 1); !errors.Is(err, yarnrpc.ErrClosed) {
							t.Errorf("got %v, want ErrClosed", err)
						}
					})
				}
				synctest.Wait()
				closeOrFail(t, proxy)
				callers.Wait()
				if took := time.Since(began); took != 0 {
					t.Errorf("took %v", took)
				}
				if _, err := ask(t.Context(), proxy, method, 1); !errors.Is(err, yarnrpc.ErrClosed) || yarnrpc.MaybeSent(err) {
					t.Errorf("a call after it: %v", err)
				}
				closeOrFail(t, proxy) // once more
			})
		})
	}
}

// The choice of a token may need a look-up. The caller's time also limits that look-up.
func TestACallersTimeBoundsTheChoiceOfATokenToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := options()
		o.Token = func(ctx context.Context, _ string) (*creds.Token, error) {
			<-ctx.Done()
			return nil, &net.DNSError{Err: "canceled", Name: "rm"}
		}
		proxy := yarnrpc.NewProxy([]string{"rm:1"}, o, patient)
		defer closeOrFail(t, proxy)
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		began := time.Now()
		if _, err := ask(ctx, proxy, method, 1); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 500*time.Millisecond {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	})
}

// The connection closes at the moment of the call.
func TestCallsThatMeetTheIdleCloseAreMade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t, map[string]*rpctest.Server{"rm:1": {Handler: echo}})
		proxy := n.proxy(t, yarnrpc.Policy{}, "rm:1")
		for want := range int32(100) {
			if got, err := ask(t.Context(), proxy, method, want); err != nil || got != want {
				t.Fatalf("got %d, %v, want %d", got, err, want)
			}
			time.Sleep(10 * time.Second)
		}
		if n.dials["rm:1"] < 2 {
			t.Errorf("%d connections: none was ever idle", n.dials["rm:1"])
		}
	})
}

func TestAProxyWithoutAddressesSaysSo(t *testing.T) {
	proxy := yarnrpc.NewProxy(nil, options(), patient)
	defer closeOrFail(t, proxy)
	if _, err := ask(t.Context(), proxy, method, 1); err == nil || !strings.Contains(err.Error(), "no address") {
		t.Errorf("got %v", err)
	}
}
