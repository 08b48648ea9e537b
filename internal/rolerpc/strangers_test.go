package rolerpc

import (
	"crypto/tls"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/bobbin-yarn/bobbin/internal/doorstep"
)

// counting is a listener that counts what the server holds.
type counting struct {
	net.Listener

	mu         sync.Mutex // guards what follows
	open, most int        // connections
	longest    int        // bytes that were read of one, at most
}

func (c *counting) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open++
	c.most = max(c.most, c.open)
	return &counted{Conn: conn, by: c}, nil
}

type counted struct {
	net.Conn
	by   *counting
	read int
	once sync.Once
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.by.mu.Lock()
	defer c.by.mu.Unlock()
	c.read += n
	c.by.longest = max(c.by.longest, c.read)
	return n, err
}

func (c *counted) Close() error {
	c.once.Do(func() {
		c.by.mu.Lock()
		defer c.by.mu.Unlock()
		c.by.open--
	})
	return c.Conn.Close()
}

// halting is a connection that swallows what is written after so many bytes.
type halting struct {
	net.Conn
	left int
}

func (h *halting) Write(p []byte) (int, error) {
	n := min(h.left, len(p))
	h.left -= n
	if _, err := h.Conn.Write(p[:n]); err != nil {
		return 0, err
	}
	return len(p), nil
}

// TestStrangersFillNothing would catch a master whose memory anybody fills who
// reaches its port: by certificates of 256 KiB, whole or in part, each of which TLS
// buffers until it has come. They come again as soon as they are sent away, and a
// worker of the application gets in all the same.
func TestStrangersFillNothing(t *testing.T) {
	t.Parallel()
	for name, sent := range map[string]int{"half a certificate": doorstep.Bytes / 2, "a whole one": 1 << 20, "nothing": 0} {
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
			door := &counting{Listener: listener}
			server := NewServer(certificates.server(t), &mux)
			served := make(chan error, 1)
			go func() { served <- server.Serve(door) }()

			stop := make(chan struct{})
			var attackers sync.WaitGroup
			address := listener.Addr().String()
			stranger := newCluster(t).huge(t)
			for range 3 * doorstep.Places {
				attackers.Go(func() { attack(address, stranger, sent, stop) })
			}
			conn := dial(t, address, certificates.client(t))
			for { // a worker tries as long as it lives
				if _, err = conn.Open(t.Context(), "resourcemanager", newRecorder()); err == nil || t.Context().Err() != nil {
					break
				}
			}
			if err != nil {
				t.Errorf("a worker is not let in: %v", err)
			}
			close(stop)
			server.Close() // which ends what the attackers wait for
			if err := <-served; err != nil {
				t.Error(err)
			}
			attackers.Wait()

			door.mu.Lock()
			defer door.mu.Unlock()
			if most := doorstep.Places + 1; door.most > most { // with the worker
				t.Errorf("%d connections were open at a time, %d at most should be", door.most, most)
			}
			if door.longest > doorstep.Bytes {
				t.Errorf("%d bytes were read of one, %d at most should be", door.longest, doorstep.Bytes)
			}
		})
	}
}

// huge is a stranger's TLS with a certificate of 200 KiB.
func (c cluster) huge(t *testing.T) *tls.Config {
	t.Helper()
	config := c.client(t).TLS
	config.VerifyConnection = nil
	for range 4 {
		config.Certificates[0].Certificate = append(config.Certificates[0].Certificate, make([]byte, 50<<10))
	}
	return config
}

// attack opens connections, one after the other, and sends what it may of a handshake.
func attack(address string, config *tls.Config, sent int, stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		default:
		}
		conn, err := net.Dial("tcp", address)
		if err != nil {
			continue // the queue is full, or the server has stopped
		}
		if sent > 0 {
			_ = tls.Client(&halting{conn, sent}, config).Handshake() // it ends with the connection
		}
		_, _ = io.Copy(io.Discard, conn)
		conn.Close()
	}
}
