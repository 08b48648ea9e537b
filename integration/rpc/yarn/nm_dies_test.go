package yarn

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/nmclient"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// paused is a connection whose server is paused right before a call of signalled is written. An earlier pause could
// prevent the connection.
type paused struct {
	net.Conn
	pause func()
	calls *atomic.Int32
}

// signalled is the method of Signal.
const signalled = "signalToContainer"

func (c paused) Write(b []byte) (int, error) {
	if !bytes.Contains(b, []byte(signalled)) {
		return c.Conn.Write(b)
	}
	c.pause()
	n, err := c.Conn.Write(b)
	c.calls.Add(1)
	return n, err
}

// TestANodeManagerThatDiesLeavesNoCallUnexplained would catch an error that does not say whether the NodeManager may
// have executed the call. The ApplicationMaster needs this to decide what to do.
func TestANodeManagerThatDiesLeavesNoCallUnexplained(t *testing.T) {
	c := clusters.Change(t, clusters.Victim, "kills a NodeManager")
	m, _ := rpctest.Unmanaged(t, c, rpctest.Client(t, c, rpctest.Me(t)))
	it := allocate(t, m, 1)[0]
	name := fmt.Sprintf("nodemanager%d", 1+slices.Index(c.NodeManagers(), it.Node.Host))
	var calls atomic.Int32
	pause := func() {
		if err := c.Pause(t.Context(), name); err != nil {
			t.Error(err)
		}
	}
	nodes := rpctest.Closing(t, nmclient.New(nmclient.Options{
		RPC: yarnrpc.Options{Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, address)
			return paused{conn, pause, &calls}, err
		}},
		Policy: yarnrpc.Policy{MaxWait: 2 * time.Second, BaseDelay: 200 * time.Millisecond, MaxDelay: time.Second},
	}))
	nodes.SetTokens(m.RM.NMTokens())
	command := rpctest.Sleep()
	if err := nodes.Start(t.Context(), it, run("exec "+command)); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the process runs", func() bool { return len(rpctest.Processes(t, command)) == 1 })

	outcome := make(chan error, 1)
	go func() {
		outcome <- nodes.Signal(t.Context(), it.Node, it.ID, records.SignalThreadDump)
	}()
	wait.Until(t, "the call is sent", func() bool { return calls.Load() > 0 })
	if err := c.Kill(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	if err := <-outcome; err == nil || !yarnrpc.MaybeSent(err) || !strings.Contains(err.Error(), it.ID.String()) {
		t.Errorf("a call that was under way: %v", err)
	}
	if err := nodes.Restart(t.Context(), it.Node, it.ID); err == nil || yarnrpc.MaybeSent(err) {
		t.Errorf("a call to a NodeManager that has ended: %v", err)
	}
	if failed, _ := errors.AsType[nmclient.Failures](nodes.StopAll(t.Context(), it)); len(failed) != 1 || yarnrpc.MaybeSent(failed[0]) {
		t.Errorf("a stop at a NodeManager that has ended: %v", failed)
	}

	if err := c.Restart(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	// If a container is stopped before the restarted NodeManager has recovered it, its process remains
	// (ContainerCleanup).
	if err := m.AwaitRunning(t.Context(), it); err != nil {
		t.Fatal(err)
	}
	statuses, err := m.NM.Statuses(t.Context(), it.Node, it.ID)
	if err != nil || len(statuses) != 1 || statuses[0].State != records.ContainerRunning || len(rpctest.Processes(t, command)) != 1 {
		t.Errorf("after the NodeManager has come back: %+v, %v", statuses, err)
	}
	// The NodeManager reports RUNNING a moment before it knows the process. A stop in between would not end the
	// process, and a signal would be lost.
	wait.For(t, "the process has ended", func() (bool, error) {
		if len(rpctest.Processes(t, command)) == 0 {
			return true, nil
		}
		return false, m.NM.Signal(t.Context(), it.Node, it.ID, records.SignalGracefulShutdown)
	})
	end(t, m, it.ID)
}
