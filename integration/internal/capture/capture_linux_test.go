package capture

import (
	"io"
	"net"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A recording that misses what passed before Start has returned, or just before
// Stop, would pass a test by being late.
func TestWhatPassesIsRecorded(t *testing.T) {
	c, err := Start(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	const text = "this passed the loopback interface"
	for _, address := range []string{"127.0.0.3:0", "[::1]:0"} {
		send(t, address, text[:10], text[10:])
	}
	found, err := c.Stop([]Pattern{{"it", []byte(text)}, {"another", []byte("this did not pass " + text)}})
	if err != nil {
		t.Fatal(err)
	}
	if found.Places["it"] == "" || found.Places["another"] != "" {
		t.Errorf("found %v", found.Places)
	}
}

// send sends the pieces through a connection of its own, one after the other.
func send(t *testing.T, address string, pieces ...string) {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
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
