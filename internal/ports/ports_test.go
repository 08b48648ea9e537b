package ports

import (
	"errors"
	"net"
	"syscall"
	"testing"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// TestListenGoesOnToTheNextPort would catch a range whose other ports are not tried, and a wrong address
// whose error blames the ports.
func TestListenGoesOnToTheNextPort(t *testing.T) {
	t.Parallel()
	taken, err := Listen(t.Context(), "127.0.0.1", config.Ports{{}})
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	port := taken.Addr().(*net.TCPAddr).Port
	next, err := Listen(t.Context(), "127.0.0.1", config.Ports{{First: port, Last: port}, {}})
	if err != nil {
		t.Fatal(err)
	}
	defer next.Close()
	if _, err := Listen(t.Context(), "127.0.0.1", config.Ports{{First: port, Last: port}}); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("taken port: got %v", err)
	}
	if _, err := Listen(t.Context(), "192.0.2.1", config.Ports{{First: 50000, Last: 60000}}); !errors.Is(err, syscall.EADDRNOTAVAIL) {
		t.Errorf("address of another host: got %v", err)
	}
	if _, err := Listen(t.Context(), "127.0.0.1", nil); !errors.Is(err, errNoPort) {
		t.Errorf("no ports: got %v", err)
	}
}
