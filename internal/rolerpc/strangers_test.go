package rolerpc

import (
	"context"
	"io"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/doorstep"
	"github.com/bobbin-yarn/bobbin/internal/testing/doorsteptest"
)

// TestStrangersFillNothing would catch a master whose memory any peer can fill that reaches its
// port: by certificates of 256 KiB, whole or in part, which TLS buffers until they are complete.
// Such peers connect again as soon as they lose their places. Nevertheless a worker of the
// application gets in.
func TestStrangersFillNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds of a processor")
	}
	t.Parallel()
	for name, sent := range map[string]int{"half a certificate": doorstep.Bytes / 2, "a whole one": 3 * doorstep.Bytes, "nothing": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			certificates := newCluster(t)
			role := newAccepting("")
			var mux Mux
			mux.Handle("resourcemanager", role.accept)
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			door := &doorsteptest.Door{Listener: listener}
			server := NewServer(certificates.server(t), &mux)
			served := make(chan error, 1)
			go func() { served <- server.Serve(door) }()

			address := listener.Addr().String()
			end := doorsteptest.Besiege(t.Context(), address, doorstep.Places+16, doorsteptest.Shake(newCluster(t).client(t).TLS, sent))
			conn := dial(t, address, certificates.client(t))
			for { // a worker tries as long as it lives
				if _, err = conn.Open(t.Context(), "resourcemanager", newRecorder()); err == nil || t.Context().Err() != nil {
					break
				}
			}
			if err != nil {
				t.Errorf("a worker is not let in: %v", err)
			}
			end()
			server.Close()
			if err := <-served; err != nil {
				t.Error(err)
			}
			if most := doorstep.Places + 1; door.Most() > most { // with the worker's connection
				t.Errorf("%d connections were open at a time, %d at most should be", door.Most(), most)
			}
			if door.Longest() > doorstep.Bytes {
				t.Errorf("%d bytes were read of one, %d at most should be", door.Longest(), doorstep.Bytes)
			}
		})
	}
}

// TestAWorkerHasItsTurnBehindThousandsOfStrangers would catch a worker that gives up its place in
// the system's queue before all others before it have had their turn, goes to the queue's end, and
// never gets in. Its attempts to open a stream are shorter.
func TestAWorkerHasItsTurnBehindThousandsOfStrangers(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds of a processor")
	}
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const many = 4096
		c := newCable()
		c.connections = make(chan net.Conn, 2*many) // like the system's queue, in order
		var strangers sync.WaitGroup
		t.Cleanup(strangers.Wait)
		for range many {
			strangers.Go(func() {
				for t.Context().Err() == nil {
					near, far := net.Pipe()
					stop := context.AfterFunc(t.Context(), func() { near.Close() })
					c.connections <- far
					_, _ = io.Copy(io.Discard, near)
					stop()
					near.Close()
				}
			})
		}
		synctest.Wait()
		conn, begin := c.connect(t, newAccepting("")), time.Now()
		for {
			opening, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			_, err := conn.Open(opening, "resourcemanager", newRecorder())
			cancel()
			if err == nil {
				break
			}
			if waited := time.Since(begin); waited > connectTimeout {
				t.Fatalf("not let in after %s: %v", waited, err)
			}
			time.Sleep(100 * time.Millisecond) // cluster.registration.initial-timeout
		}
	})
}
