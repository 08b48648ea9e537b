package exchange

import (
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestAHostThatIsNotReachedIsToldAsOne would catch a task that fails with the error of a connection
// that its own host has closed. The error must say that the other host was not reached: it was
// frozen for the whole waiting time.
func TestAHostThatIsNotReachedIsToldAsOne(t *testing.T) {
	t.Parallel()
	for name, frozen := range map[string]func(far net.Conn){
		"it takes the greeting": func(far net.Conn) { _, _ = io.Copy(io.Discard, far) },
		"it takes nothing":      func(net.Conn) {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				config := Config{Job: "j", Host: "b", RequestTimeout: 50 * time.Second}
				config.Dial = func(context.Context, string, string) (net.Conn, error) {
					near, far := net.Pipe()
					t.Cleanup(func() { far.Close() })
					go frozen(far) // ends with the connection
					return near, nil
				}
				l := &dialedLink{exchange: &Exchange{config: config}, host: "a", address: "node1:1"}
				began := time.Now()
				_, err := l.dial(t.Context())
				if took := time.Since(began); took > config.RequestTimeout {
					t.Errorf("the host is waited for %s", took)
				}
				if err == nil || !strings.Contains(err.Error(), "was not reached within 50s") {
					t.Errorf("the error is %q", err)
				}
			})
		})
	}
}
