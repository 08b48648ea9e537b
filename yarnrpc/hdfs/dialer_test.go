package hdfs

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/bobbin-yarn/bobbin/yarnrpc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func dialledBy(dial func(context.Context, string, string) (net.Conn, error)) yarnrpc.Options {
	return yarnrpc.Options{Dial: dial}
}

// pipe is a Dialer whose connections end at server.
func pipe(t *testing.T) (d *Dialer, client, server net.Conn) {
	t.Helper()
	var far net.Conn
	d = NewDialer(DialerOptions{RPC: dialledBy(func(context.Context, string, string) (net.Conn, error) {
		var near net.Conn
		near, far = net.Pipe()
		return near, nil
	})})
	client, err := d.DialDataNode(t.Context(), "tcp", "dn:1")
	if err != nil {
		t.Fatal(err)
	}
	return d, client, far
}

// Without this the library would send its next call on a connection whose
// last answer may still arrive.
func TestAFailedReadEndsTheConnectionForWritesToo(t *testing.T) {
	t.Parallel()
	_, client, server := pipe(t)
	server.Close()
	if _, err := client.Read(make([]byte, 1)); !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), "dn:1") {
		t.Fatalf("read: %v, want io.ErrUnexpectedEOF of dn:1", err)
	}
	if _, err := client.Write([]byte("x")); !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), "dn:1") {
		t.Errorf("write after a failed read: %v, want the first failure", err)
	}
}

func TestASilentServerIsGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, client, server := pipe(t)
		go func() {
			server.Read(make([]byte, 1))
			<-time.NewTimer(defaultSilence - time.Second).C
			server.Write([]byte("x"))
		}()
		if _, err := client.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		started := time.Now()
		if _, err := client.Read(make([]byte, 1)); err != nil {
			t.Fatalf("an answer within the limit was not waited for: %v", err)
		}
		_, err := client.Read(make([]byte, 1))
		if !errors.Is(err, os.ErrDeadlineExceeded) || !strings.Contains(err.Error(), "dn:1") {
			t.Errorf("read from a silent server: %v", err)
		}
		if waited := time.Since(started); waited != 2*defaultSilence-time.Second {
			t.Errorf("gave up after %s", waited)
		}
		server.Close()
	})
}

// With dfs.client.socket-timeout 0, a cluster waits for its DataNodes without limit.
func TestSilenceMayLastForEver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		d := NewDialer(DialerOptions{Silence: -1, RPC: dialledBy(func(context.Context, string, string) (net.Conn, error) { return near, nil })})
		defer d.Close()
		client, err := d.DialDataNode(t.Context(), "tcp", "dn:1")
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // the first byte restarts the time
			time.AfterFunc(1000*time.Hour, func() { far.Write([]byte("x")) })
			if _, err := client.Read(make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// The timer of a connection may expire before the dialer has released its lock.
func TestSilenceMayPassAtOnce(t *testing.T) {
	t.Parallel()
	d := NewDialer(DialerOptions{Silence: time.Nanosecond, RPC: dialledBy(func(context.Context, string, string) (net.Conn, error) {
		near, _ := net.Pipe()
		return near, nil
	})})
	defer d.Close()
	for range 1000 {
		client, err := d.DialDataNode(t.Context(), "tcp", "dn:1")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("read from a silent server: %v", err)
		}
	}
}

func TestCloseEndsOpenConnectionsAndRefusesNewOnes(t *testing.T) {
	t.Parallel()
	d, client, server := pipe(t)
	defer server.Close()
	d.Close()
	d.Close()
	if _, err := client.Read(make([]byte, 1)); !errors.Is(err, ErrDialerClosed) {
		t.Errorf("read after Close: %v", err)
	}
	for name, dial := range map[string]func(context.Context, string, string) (net.Conn, error){"NameNode": d.DialNameNode, "DataNode": d.DialDataNode} {
		if _, err := dial(t.Context(), "tcp", "nn:1"); !errors.Is(err, ErrDialerClosed) {
			t.Errorf("dial a %s after Close: %v", name, err)
		}
	}
	if err := client.Close(); err != nil {
		t.Errorf("closing a failed connection: %v", err)
	}
}

func TestCloseEndsAConnectThatRuns(t *testing.T) {
	t.Parallel()
	dialling := make(chan struct{}) // closed when the connect runs
	d := NewDialer(DialerOptions{RPC: dialledBy(func(ctx context.Context, _, _ string) (net.Conn, error) {
		close(dialling)
		<-ctx.Done()
		return nil, ctx.Err()
	})})
	go func() {
		<-dialling
		d.Close()
	}()
	if _, err := d.DialDataNode(t.Context(), "tcp", "dn:1"); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
}
