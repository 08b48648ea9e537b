package yarnrpc_test

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/testing/rpctest"
)

// With only one call at a time, a test would not notice an answer that goes to the wrong
// call.
func TestCallsFromManyGoroutinesGetTheirOwnAnswers(t *testing.T) {
	server := &rpctest.Server{Handler: echo}
	c := dial(t, server.Listen(t), options())
	var callers sync.WaitGroup
	for g := range int32(32) {
		callers.Go(func() {
			for i := range int32(25) {
				want := g*1000 + i
				if got, err := ask(t.Context(), c, method, want); err != nil || got != want {
					t.Errorf("asked with %d, got %d, %v", want, got, err)
				}
			}
		})
	}
	callers.Wait()
	if server.Logins() != 1 {
		t.Errorf("%d connections, want 1", server.Logins())
	}
}

func TestAnswersComeInAnyOrder(t *testing.T) {
	second := make(chan struct{})
	server := &rpctest.Server{Handler: func(call *rpctest.Call) (proto.Message, error) {
		if number(call) == 1 {
			<-second // the first call is answered after the second
		}
		return echo(call)
	}}
	c := dial(t, server.Listen(t), options())
	var callers sync.WaitGroup
	callers.Go(func() {
		if got, err := ask(t.Context(), c, method, 1); err != nil || got != 1 {
			t.Errorf("first: got %d, %v", got, err)
		}
	})
	if got, err := ask(t.Context(), c, method, 2); err != nil || got != 2 {
		t.Errorf("second: got %d, %v", got, err)
	}
	close(second)
	callers.Wait()
}

func TestServerIsToldWhoCallsWhat(t *testing.T) {
	server := &rpctest.Server{Handler: func(call *rpctest.Call) (proto.Message, error) {
		if call.User != "alice" || call.Call.Method != method || call.Call.Protocol != yarnrpc.ApplicationClientProtocol ||
			len(call.Call.ClientID) != 16 || call.Call.Retry != 0 {
			t.Errorf("server got %+v of %s", call.Call, call.User)
		}
		return echo(call)
	}}
	c := dial(t, server.Listen(t), options())
	if _, err := ask(t.Context(), c, method, 1); err != nil {
		t.Error(err)
	}
}

// The late answer of a cancelled call must not become the answer of the next call.
func TestACancelledCallLeavesTheOthersAlone(t *testing.T) {
	arrived, release := make(chan struct{}), make(chan struct{})
	server := &rpctest.Server{Handler: func(call *rpctest.Call) (proto.Message, error) {
		if number(call) == 1 {
			close(arrived)
			<-release
		}
		return echo(call)
	}}
	c := dial(t, server.Listen(t), options())
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("the user has left")
	go func() {
		<-arrived
		cancel(reason)
	}()
	_, err := ask(ctx, c, method, 1)
	if !errors.Is(err, context.Canceled) || !errors.Is(err, reason) || !yarnrpc.MaybeSent(err) || yarnrpc.Classify(err) != yarnrpc.Permanent {
		t.Errorf("cancelled call: %v, maybe sent %v, %v", err, yarnrpc.MaybeSent(err), yarnrpc.Classify(err))
	}
	close(release)
	for want := range int32(10) {
		if got, err := ask(t.Context(), c, method, 100+want); err != nil || got != 100+want {
			t.Errorf("call after it: got %d, %v", got, err)
		}
	}
}

// No caller waits for its answer, and the outcome of a call that must not be repeated
// would be unknown.
func TestACallWhoseContextHasEndedIsNotSent(t *testing.T) {
	server := &rpctest.Server{Handler: func(call *rpctest.Call) (proto.Message, error) {
		if number(call) == 1 {
			t.Error("it came to the server")
		}
		return echo(call)
	}}
	c := dial(t, server.Listen(t), options())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := ask(ctx, c, method, 1); !errors.Is(err, context.Canceled) || yarnrpc.MaybeSent(err) {
		t.Errorf("got %v, maybe sent %v", err, yarnrpc.MaybeSent(err))
	}
	if got, err := ask(t.Context(), c, method, 2); err != nil || got != 2 { // after it, if it was sent
		t.Errorf("a call after it: %d, %v", got, err)
	}
}

// slowToClose is a connection whose Close sends a last message, as TLS does, to a peer
// that does not read.
type slowToClose struct{ net.Conn }

func (c slowToClose) Close() error {
	time.Sleep(5 * time.Second)
	return c.Conn.Close()
}

func TestNobodyButCloseWaitsForTheConnectionToClose(t *testing.T) {
	for name, tc := range map[string]struct {
		rpcTimeout, within time.Duration
		leaves             func(call *rpctest.Call) (proto.Message, error)
	}{
		"a call's time passes": {time.Second, time.Second, hang},
		"a server hangs up": {time.Minute, 0, func(call *rpctest.Call) (proto.Message, error) {
			call.Conn.Close() // the test needs a broken connection
			return hang(call)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := &rpctest.Server{Handler: tc.leaves}
				defer server.Close()
				o := piped(server)
				o.RPCTimeout = tc.rpcTimeout
				pipe := o.Dial
				o.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
					conn, err := pipe(ctx, network, address)
					return slowToClose{conn}, err
				}
				c, err := yarnrpc.Dial(t.Context(), "server:1", o)
				if err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				_, err = ask(t.Context(), c, method, 1)
				if took := time.Since(began); took != tc.within || yarnrpc.Classify(err) != yarnrpc.FailOver {
					t.Errorf("%v after %v, want %v", err, took, tc.within)
				}
				closeOrFail(t, c)
				if took := time.Since(began); took != tc.within+5*time.Second {
					t.Errorf("Close returned after %v, before the connection was closed", took)
				}
			})
		})
	}
}

// passed is a context whose deadline has passed, and whose timer has not run yet: its process has just continued after a stop.
type passed struct{ context.Context } //nolint:containedctx // it is a context itself

func (passed) Deadline() (time.Time, bool) { return time.Now(), true }

// An ApplicationMaster that was replaced while it was stopped would still start a container.
func TestNoCallBeginsAfterItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &rpctest.Server{Handler: func(call *rpctest.Call) (proto.Message, error) {
			t.Error("the call was executed")
			return echo(call)
		}}
		defer server.Close()
		c, err := yarnrpc.Dial(t.Context(), "server:1", piped(server))
		if err != nil {
			t.Fatal(err)
		}
		defer closeOrFail(t, c)
		if _, err := ask(passed{t.Context()}, c, method, 1); !errors.Is(err, context.DeadlineExceeded) || yarnrpc.MaybeSent(err) {
			t.Error(err)
		}
	})
}

func TestACallThatNeverLeftIsNotMaybeSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// The server reads the handshake and nothing more. So the writer blocks with the
		// first call, and the second stays in the queue.
		client, served := net.Pipe()
		handshake := make(chan struct{})
		go func() {
			buffer := make([]byte, 4096)
			served.Read(buffer) // the test fails without it
			close(handshake)
		}()
		o := options()
		o.Dial = func(context.Context, string, string) (net.Conn, error) { return client, nil }
		c, err := yarnrpc.Dial(t.Context(), "server:1", o)
		if err != nil {
			t.Fatal(err)
		}
		<-handshake
		var callers sync.WaitGroup
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		for i := range int32(2) {
			callers.Go(func() {
				time.Sleep(time.Duration(i) * time.Millisecond)
				_, err := ask(ctx, c, method, i)
				if sent := i == 0; !errors.Is(err, context.DeadlineExceeded) || yarnrpc.MaybeSent(err) != sent {
					t.Errorf("call %d: %v, maybe sent %v, want %v", i, err, yarnrpc.MaybeSent(err), sent)
				}
			})
		}
		callers.Wait()
		closeOrFail(t, c)
		closeOrFail(t, served)
	})
}

func TestABrokenConnectionFailsItsCallsAndSaysTheyMayHaveRun(t *testing.T) {
	arrived := make(chan struct{})
	server := &rpctest.Server{Handler: func(call *rpctest.Call) (proto.Message, error) {
		if number(call) == 0 {
			close(arrived)
		} else {
			<-arrived         // both calls have been sent
			call.Conn.Close() // the test needs a broken connection
		}
		return hang(call)
	}}
	c := dial(t, server.Listen(t), options())
	var callers sync.WaitGroup
	for i := range int32(2) {
		callers.Go(func() {
			_, err := ask(t.Context(), c, method, i)
			var call *yarnrpc.CallError
			if !errors.As(err, &call) || !call.MaybeSent || call.Method != method || yarnrpc.Classify(err) != yarnrpc.FailOver {
				t.Errorf("call %d: %v, %v", i, err, yarnrpc.Classify(err))
			}
		})
	}
	callers.Wait()
	<-c.Done()
	_, err := ask(t.Context(), c, method, 3)
	if err == nil || yarnrpc.MaybeSent(err) || !errors.Is(err, c.Err()) {
		t.Errorf("call after it: %v, maybe sent %v, want %v", err, yarnrpc.MaybeSent(err), c.Err())
	}
}

func TestCloseFailsTheCallsThatWait(t *testing.T) {
	arrived := make(chan struct{})
	server := &rpctest.Server{Handler: func(call *rpctest.Call) (proto.Message, error) {
		close(arrived)
		return hang(call)
	}}
	c := dial(t, server.Listen(t), options())
	go func() {
		<-arrived
		c.Close() // dial's cleanup looks
	}()
	if _, err := ask(t.Context(), c, method, 1); !errors.Is(err, yarnrpc.ErrClosed) || !yarnrpc.MaybeSent(err) {
		t.Errorf("got %v, maybe sent %v", err, yarnrpc.MaybeSent(err))
	}
}

// Without the ping, a client would wait for ever for a server that has lost power.
func TestASilentServerThatOwesAnAnswerIsPinged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &rpctest.Server{Handler: func(call *rpctest.Call) (proto.Message, error) {
			time.Sleep(150 * time.Second)
			return echo(call)
		}}
		defer server.Close()
		o := piped(server)
		o.RPCTimeout = -1
		c, err := yarnrpc.Dial(t.Context(), "server:1", o)
		if err != nil {
			t.Fatal(err)
		}
		defer closeOrFail(t, c)
		if got, err := ask(t.Context(), c, method, 1); err != nil || got != 1 {
			t.Errorf("got %d, %v", got, err)
		}
		if server.Pings() != 2 {
			t.Errorf("%d pings in 150 s, want 2", server.Pings())
		}
	})
}

func TestAConnectionThatNobodyUsesCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &rpctest.Server{Handler: func(call *rpctest.Call) (proto.Message, error) {
			time.Sleep(45 * time.Second) // a call that waits is use
			return echo(call)
		}}
		defer server.Close()
		c, err := yarnrpc.Dial(t.Context(), "server:1", piped(server))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ask(t.Context(), c, method, 1); err != nil {
			t.Fatal(err)
		}
		answered := time.Now()
		<-c.Done()
		if idle := time.Since(answered); idle != 10*time.Second {
			t.Errorf("closed %v after the last answer, want 10s", idle)
		}
		if _, err := ask(t.Context(), c, method, 2); !errors.Is(err, yarnrpc.ErrClosed) || yarnrpc.MaybeSent(err) {
			t.Errorf("a call after it: %v", err)
		}
		closeOrFail(t, c)
	})
}

// A stopped server (SIGSTOP, a frozen machine) keeps its connections open and sends
// nothing. A slow server answers other calls meanwhile. Only the first ends the
// connection.
func TestTimeoutsEndTheConnectionIfTheServerIsSilent(t *testing.T) {
	for name, silent := range map[string]bool{"silent server": true, "server that answers others": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := &rpctest.Server{Handler: func(call *rpctest.Call) (proto.Message, error) {
					if number(call) == 1 {
						return hang(call)
					}
					return echo(call)
				}}
				defer server.Close()
				c, err := yarnrpc.Dial(t.Context(), "server:1", piped(server))
				if err != nil {
					t.Fatal(err)
				}
				defer closeOrFail(t, c)
				if !silent {
					time.AfterFunc(100*time.Second, func() {
						if _, err := ask(t.Context(), c, method, 2); err != nil {
							t.Error(err)
						}
					})
				}
				began := time.Now()
				_, err = ask(t.Context(), c, method, 1)
				if took := time.Since(began); took != 120*time.Second {
					t.Errorf("took %v, want the 120 s of ipc.client.rpc-timeout.ms", took)
				}
				if !errors.Is(err, yarnrpc.ErrTimeout) || !yarnrpc.MaybeSent(err) || yarnrpc.Classify(err) != yarnrpc.FailOver {
					t.Errorf("got %v, %v", err, yarnrpc.Classify(err))
				}
				synctest.Wait()
				if ended := c.Err() != nil; ended != silent {
					t.Errorf("connection ended: %v (%v), want %v", ended, c.Err(), silent)
				}
			})
		})
	}
}

func TestCallsBeyondTheLimitWaitForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var seen []int32
		server := &rpctest.Server{Handler: func(call *rpctest.Call) (proto.Message, error) {
			mu.Lock()
			seen = append(seen, number(call))
			mu.Unlock()
			time.Sleep(10 * time.Second)
			return echo(call)
		}}
		defer server.Close()
		o := piped(server)
		o.MaxCalls = 2
		c, err := yarnrpc.Dial(t.Context(), "server:1", o)
		if err != nil {
			t.Fatal(err)
		}
		defer closeOrFail(t, c)
		began := time.Now()
		var callers sync.WaitGroup
		for i := range int32(4) {
			callers.Go(func() {
				if got, err := ask(t.Context(), c, method, i); err != nil || got != i {
					t.Errorf("got %d, %v, want %d", got, err, i)
				}
			})
		}
		synctest.Wait()
		mu.Lock()
		if len(seen) != 2 {
			t.Errorf("%d calls at the server, want 2", len(seen))
		}
		mu.Unlock()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := ask(ctx, c, method, 9); !errors.Is(err, context.DeadlineExceeded) || yarnrpc.MaybeSent(err) {
			t.Errorf("a call without room: %v, maybe sent %v", err, yarnrpc.MaybeSent(err))
		}
		callers.Wait()
		if took := time.Since(began); took != 20*time.Second {
			t.Errorf("four calls of 10 s, two at a time, took %v", took)
		}
	})
}

func TestExceptionsArriveAsRemoteErrors(t *testing.T) {
	class := "org.apache.hadoop.yarn.exceptions.ApplicationNotFoundException"
	server := &rpctest.Server{Handler: func(call *rpctest.Call) (proto.Message, error) {
		if number(call) == 1 {
			return nil, rpctest.Exception(class, "no such application\n\tat org.apache.hadoop.X.y(X.java:1)\n")
		}
		return echo(call)
	}}
	address := server.Listen(t)
	c := dial(t, address, options())
	_, err := ask(t.Context(), c, method, 1)
	var remote *yarnrpc.RemoteError
	if !errors.As(err, &remote) || remote.Class != class || remote.Message != "no such application" || remote.Address != address || remote.Method != method {
		t.Errorf("got %#v", err)
	}
	if want := method + " on " + address + ": ApplicationNotFoundException: no such application"; err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
	if !errors.Is(err, yarnrpc.ErrApplicationNotFound) || yarnrpc.MaybeSent(err) {
		t.Error("the error does not say what it is")
	}
	if _, err := ask(t.Context(), c, method, 2); err != nil {
		t.Errorf("the connection did not survive an exception: %v", err)
	}
}

func TestAFatalAnswerEndsTheConnection(t *testing.T) {
	first := make(chan struct{})
	server := &rpctest.Server{Handler: func(call *rpctest.Call) (proto.Message, error) {
		if number(call) == 1 {
			close(first)
			return hang(call)
		}
		<-first
		return nil, rpctest.Fatal("org.apache.hadoop.ipc.RetriableException", "Server too busy - disconnecting")
	}}
	c := dial(t, server.Listen(t), options())
	var callers sync.WaitGroup
	callers.Go(func() {
		if _, err := ask(t.Context(), c, method, 1); !yarnrpc.MaybeSent(err) || yarnrpc.Classify(err) != yarnrpc.RetrySame {
			t.Errorf("the other call: %v, %v", err, yarnrpc.Classify(err))
		}
	})
	if _, err := ask(t.Context(), c, method, 2); !errors.Is(err, yarnrpc.ErrRetriable) || yarnrpc.MaybeSent(err) {
		t.Errorf("the call itself: %v", err)
	}
	callers.Wait()
	<-c.Done()
}

func TestAServerThatIsNotThereIsNamed(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	closeOrFail(t, listener)
	_, err = yarnrpc.Dial(t.Context(), address, options())
	if err == nil || yarnrpc.Classify(err) != yarnrpc.FailOver {
		t.Errorf("got %v, %v", err, yarnrpc.Classify(err))
	}
	if want := "connect to " + address; err != nil && err.Error()[:len(want)] != want {
		t.Errorf("%q does not begin with %q", err, want)
	}
}

func TestConnectingHasATimeLimit(t *testing.T) {
	for name, wait := range map[string]func(ctx context.Context) (net.Conn, error){
		"nobody answers the call": func(ctx context.Context) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		},
		"nobody answers the handshake": func(context.Context) (net.Conn, error) {
			client, served := net.Pipe()
			go io.Copy(io.Discard, served) // ends when Dial closes the other end
			return client, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := withToken(options(), token("me", "secret"))
				o.Dial = func(ctx context.Context, _, _ string) (net.Conn, error) { return wait(ctx) }
				began := time.Now()
				_, err := yarnrpc.Dial(t.Context(), "server:1", o)
				if took := time.Since(began); took != 20*time.Second {
					t.Errorf("took %v, want the 20 s of ipc.client.connect.timeout", took)
				}
				if !errors.Is(err, yarnrpc.ErrConnectTimeout) || yarnrpc.Classify(err) != yarnrpc.FailOver {
					t.Errorf("got %v, %v", err, yarnrpc.Classify(err))
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				if _, err := yarnrpc.Dial(ctx, "server:1", o); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("with a context that ends sooner: %v", err)
				}
			})
		})
	}
}

// The caller's Dial function may have its own time limit. That limit does not end the
// call: another server may answer in time.
func TestADialThatGivesUpByItselfIsNoEndOfTheCall(t *testing.T) {
	o := options()
	o.Dial = (&net.Dialer{Timeout: time.Nanosecond}).DialContext
	_, err := yarnrpc.Dial(t.Context(), "127.0.0.1:1", o)
	if !errors.Is(err, yarnrpc.ErrConnectTimeout) || yarnrpc.Classify(err) != yarnrpc.FailOver {
		t.Errorf("got %v, %v", err, yarnrpc.Classify(err))
	}
}
