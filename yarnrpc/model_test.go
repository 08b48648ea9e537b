package yarnrpc_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/testing/rpctest"
)

// fault is an action of a server against a connection or a call, at any point of it.
type fault int

const (
	works           fault = iota
	refuses               // no server listens
	hangsConnecting       // packets are dropped
	closesAtOnce          // a connection that dies before it is of use
	isStandby
	isBusy
	forbids
	losesRequest // the connection dies before the call is executed
	losesAnswer  // and after
	isSilent     // the call is executed and nothing ever comes
	isSlow       // the answer comes after some seconds
	faults
)

func (f fault) String() string {
	return [...]string{
		"works", "refuses", "hangs connecting", "closes at once", "is standby", "is busy", "forbids",
		"loses the request", "loses the answer", "is silent", "is slow",
	}[f]
}

// world is the naive model: servers that take their next actions from a script. After its
// end they work normally. They count how often each call was executed.
type world struct {
	mu       sync.Mutex
	script   []fault
	executed map[int32]int
	servers  []*rpctest.Server
}

func (w *world) next(connecting bool) fault {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.script) == 0 {
		return works
	}
	f := w.script[0]
	if atConnection := f == refuses || f == hangsConnecting || f == closesAtOnce; atConnection != connecting {
		return works
	}
	w.script = w.script[1:]
	return f
}

func (w *world) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	switch w.next(true) {
	case refuses:
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	case hangsConnecting:
		<-ctx.Done()
		return nil, ctx.Err()
	case closesAtOnce:
		client, served := net.Pipe()
		served.Close()
		return client, nil
	default:
		client, served := net.Pipe()
		server := &rpctest.Server{Handler: w.handle}
		w.mu.Lock()
		w.servers = append(w.servers, server)
		w.mu.Unlock()
		server.Serve(served)
		return client, nil
	}
}

func (w *world) handle(call *rpctest.Call) (proto.Message, error) {
	f := w.next(false)
	switch f {
	case isStandby:
		return standby(call)
	case isBusy:
		return nil, rpctest.Exception("org.apache.hadoop.ipc.RetriableException", "busy")
	case forbids:
		return nil, rpctest.Exception("org.apache.hadoop.security.AccessControlException", "no")
	case losesRequest:
		call.Conn.Close()
		return nil, nil
	}
	w.mu.Lock()
	w.executed[number(call)]++
	w.mu.Unlock()
	switch f {
	case losesAnswer:
		call.Conn.Close()
		return nil, nil
	case isSilent:
		return hang(call)
	case isSlow:
		select {
		case <-time.After(3 * time.Second):
		case <-call.Gone:
		}
	}
	return echo(call)
}

// Whatever servers do, at whatever point: a call ends within its caller's time. A call
// that must not be repeated is executed at most once. Each caller gets its own answer. If
// an error says that the call cannot have been executed, that is true. A repeatable call
// succeeds if the faults end before its time.
func TestCallsEndAsTheirErrorsSay(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		script := rapid.SliceOfN(rapid.Custom(func(r *rapid.T) fault {
			return fault(rapid.IntRange(1, int(faults)-1).Draw(r, "fault"))
		}), 0, 6).Draw(r, "script")
		servers := rapid.IntRange(1, 3).Draw(r, "servers")
		callers := rapid.IntRange(1, 5).Draw(r, "callers")
		once := rapid.Bool().Draw(r, "once") // the method must not be repeated
		limit := rapid.SampledFrom([]time.Duration{time.Millisecond, 2 * time.Second, time.Hour}).Draw(r, "limit")
		var complaints []string
		synctest.Test(t, func(t *testing.T) {
			complaints = (&trial{script: script, servers: servers, callers: callers, once: once, limit: limit}).run(t)
		})
		for _, complaint := range complaints {
			r.Error(complaint)
		}
	})
}

type trial struct {
	script  []fault
	servers int
	callers int
	once    bool
	limit   time.Duration // of each caller
}

// run returns what went wrong.
func (tr *trial) run(t *testing.T) (complaints []string) {
	w := &world{script: tr.script, executed: make(map[int32]int)}
	o := options()
	o.Dial, o.RPCTimeout = w.dial, 20*time.Second
	var addresses []string
	for i := range tr.servers {
		addresses = append(addresses, fmt.Sprintf("rm%d:1", i))
	}
	proxy := yarnrpc.NewProxy(addresses, o, yarnrpc.Policy{MaxWait: 30 * time.Minute, BaseDelay: time.Second, MaxDelay: 8 * time.Second})
	name := method
	if tr.once {
		name = "signalToContainer"
	}
	errs := make([]error, tr.callers)
	got := make([]int32, tr.callers)
	took := make([]time.Duration, tr.callers)
	var callers sync.WaitGroup
	for i := range tr.callers {
		callers.Go(func() {
			began := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), tr.limit)
			defer cancel()
			got[i], errs[i] = ask(ctx, proxy, name, int32(i))
			took[i] = time.Since(began)
		})
	}
	callers.Wait()
	closeOrFail(t, proxy)
	for _, server := range w.servers {
		server.Close()
	}
	for i, err := range errs {
		if fault := tr.judge(err, got[i] == int32(i), w.executed[int32(i)]); fault != "" {
			complaints = append(complaints, fmt.Sprintf("call %d (executed %d times, %v): %s", i, w.executed[int32(i)], err, fault))
		}
		if took[i] > tr.limit {
			complaints = append(complaints, fmt.Sprintf("call %d took %v, its caller had %v", i, took[i], tr.limit))
		}
	}
	return complaints
}

// judge returns what is wrong with the end of a call. own says that the answer is the
// call's own.
func (tr *trial) judge(err error, own bool, executed int) string {
	remote, answered := errors.AsType[*yarnrpc.RemoteError](err)
	switch {
	case tr.once && executed > 1:
		return "it must not be repeated"
	case err == nil && (executed == 0 || !own):
		return "it has an answer that it cannot have"
	case err == nil:
		return ""
	case executed > 0 && !yarnrpc.MaybeSent(err):
		return "it was executed, and the error says that it was not"
	case answered && yarnrpc.Judge(remote).Execution == yarnrpc.Answered: // forbidden, which is an answer
		return ""
	case errors.Is(err, context.DeadlineExceeded) && tr.limit < time.Hour:
		return ""
	case !tr.once:
		return "it could have been repeated until it succeeded"
	case !yarnrpc.MaybeSent(err):
		return "nothing was against another try"
	default:
		return ""
	}
}
