package capture

import (
	"errors"
	"io"
	"net"
	"strconv"
	"syscall"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The test would catch a recording that lacks frames sent right after Start has returned or right before Stop. Such a
// recording would pass a test that looks for secrets.
func TestWhatPassesIsRecorded(t *testing.T) {
	c, err := Start(t.TempDir(), Scope{}) // no ports of others
	if err != nil {
		t.Fatal(err)
	}
	const text = "this passed the loopback interface"
	for _, host := range []string{"127.0.0.3", "::1"} {
		server, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", net.JoinHostPort(host, "0"))
		if err != nil {
			t.Fatal(err)
		}
		send(t, server, text[:10], text[10:])
	}
	found, err := c.Stop([]Pattern{{"it", []byte(text)}, {"another", []byte("this did not pass " + text)}})
	if err != nil {
		t.Fatal(err)
	}
	if found.Places["it"] == "" || found.Places["another"] != "" {
		t.Errorf("found %v", found.Places)
	}
	if found.Frames == 0 {
		t.Error("no frame is counted")
	}
}

// If a filter dropped too much, a test could not find secrets in the dropped frames. If it dropped too little, the
// recorder would get the traffic of other clusters.
func TestTheKernelDropsWhatIsOthers(t *testing.T) {
	around := func(port int, reach [2]int) Ports { return Ports{uint16(port - reach[0]), uint16(port + reach[1])} }
	for name, c := range map[string]struct {
		own, others [2]int // the distance to the server's port, below and above it
		want        bool
	}{
		"the first of its own":                     {[2]int{0, 9}, [2]int{9, 9}, true},
		"the last of its own":                      {[2]int{9, 0}, [2]int{9, 9}, true},
		"just before its own, the first of others": {[2]int{-1, 9}, [2]int{0, 9}, false},
		"just after its own, the last of others":   {[2]int{9, -1}, [2]int{9, 0}, false},
		"just before others":                       {[2]int{-1, 9}, [2]int{-1, 9}, true},
		"just after others":                        {[2]int{9, -1}, [2]int{9, -1}, true},
	} {
		t.Run(name, func(t *testing.T) {
			for _, host := range []string{"127.0.0.3", "::1"} {
				server, port := low(t, host)
				recording, err := Start(t.TempDir(), Scope{Own: around(port, c.own), Others: around(port, c.others)})
				if err != nil {
					t.Fatal(err)
				}
				text := "said at " + server.Addr().String()
				send(t, server, text)
				found, err := recording.Stop([]Pattern{{"it", []byte(text)}})
				if err != nil {
					t.Fatal(err)
				}
				if _, got := found.Places["it"]; got != c.want {
					t.Errorf("what is said at %s is recorded: %t, want %t", server.Addr(), got, c.want)
				}
			}
		})
	}
}

// low listens at a port below those that the kernel gives to clients.
func low(t *testing.T, host string) (listener net.Listener, port int) {
	t.Helper()
	for port = 19000; port < 20000; port++ {
		listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", net.JoinHostPort(host, strconv.Itoa(port)))
		if err == nil {
			return listener, port
		}
		if !errors.Is(err, syscall.EADDRINUSE) {
			t.Fatal(err)
		}
	}
	t.Fatal("all ports that are tried are taken")
	return nil, 0
}

// send sends the pieces over a new connection to a server, and closes the connection.
func send(t *testing.T, listener net.Listener, pieces ...string) {
	t.Helper()
	defer listener.Close()
	client, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	server, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	for _, piece := range pieces {
		if _, err := io.WriteString(client, piece); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(server, make([]byte, len(piece))); err != nil {
			t.Fatal(err)
		}
	}
}
