package exchange

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/doorstep"
	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// TestAServerHoldsLittleForStrangers would catch a server, which all jobs share, that anybody can fill: with connections without a
// bound, with bytes before the peer is known, or with peers that never say who they are. They must not keep hosts out either.
func TestAServerHoldsLittleForStrangers(t *testing.T) {
	for name, secure := range map[string]bool{"plain": false, "TLS": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				bubble := NewBubble()
				config := ServerConfig{Host: "w", Logger: quietLog(), Listen: bubble.Listen}
				if secure {
					config.TLS, config.JobOf = new(tls.Config), func(tls.ConnectionState) (ids.JobID, error) { return "", errors.New("unknown") }
				}
				s, err := NewServer(t.Context(), config)
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				var strangers sync.WaitGroup
				stranger := func(behave func(net.Conn)) {
					strangers.Go(func() {
						conn, err := bubble.Dial(t.Context(), "", "")
						if err != nil {
							return
						}
						defer conn.Close()
						strangers.Go(func() { behave(conn) })
						_, _ = io.Copy(io.Discard, conn) // until the server ends it
					})
				}
				for range doorstep.Places {
					stranger(func(net.Conn) {})
					stranger(trickle)
					stranger(func(conn net.Conn) {
						if n := flood(conn); n > doorstep.Bytes {
							t.Errorf("the server takes %d bytes of a stranger", n)
						}
					})
				}
				most := 0
				for range 100 {
					time.Sleep(10 * time.Millisecond)
					synctest.Wait()
					most = max(most, s.strangers())
				}
				if most > doorstep.Places || most < doorstep.Places/2 {
					t.Errorf("the server has %d strangers at a time", most)
				}
				if !secure {
					ctx, cancel := context.WithTimeout(t.Context(), handshakeTimeout)
					conn, err := bubble.Dial(ctx, "", "")
					if err == nil {
						err = greet(conn, greeting{jobgraph.ProtocolVersion, "j", "b", "w"})
						defer conn.Close()
					}
					if err != nil {
						t.Errorf("a host is kept out: %v", err)
					}
					cancel()
				}
				strangers.Wait()
				synctest.Wait()
				if n := s.strangers(); n > 1 || secure && n > 0 {
					t.Errorf("%d connections are left", n)
				}
			})
		})
	}
}

// strangers is the number of connections, also of known hosts.
func (s *Server) strangers() int {
	s.acceptor.mu.Lock()
	defer s.acceptor.mu.Unlock()
	return len(s.acceptor.visitors)
}

// trickle sends a byte of a ClientHello now and then.
func trickle(conn net.Conn) {
	for _, b := range append([]byte{0x16, 3, 1, 0x40, 0, 1, 0, 0xff, 0xff}, make([]byte, 1000)...) {
		if _, err := conn.Write([]byte{b}); err != nil {
			return
		}
		time.Sleep(time.Second)
	}
}

// flood sends a ClientHello that does not end. It returns how many bytes were taken.
func flood(conn net.Conn) (taken int) {
	hello := append([]byte{0x16, 3, 1, 0x40, 0, 1, 0, 0xff, 0xff}, make([]byte, 0x4000-4)...)
	for {
		n, err := conn.Write(hello)
		taken += n
		if err != nil {
			return taken
		}
	}
}
