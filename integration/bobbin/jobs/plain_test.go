package jobs

import (
	"io"
	"net"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
)

// TestHostsExchangeWithoutTLSIfToldTo would catch security.ssl.internal.enabled=false that changes nothing, or with which
// hosts do not find each other. What a host says to a stranger tells which it speaks.
func TestHostsExchangeWithoutTLSIfToldTo(t *testing.T) {
	t.Parallel()
	alice := suite.User(t, bobbintest.Alice)
	for name, c := range map[string]struct {
		flags []string
		plain bool
	}{
		"as they do by default": {nil, false}, // without which the other proves nothing
		"without":               {[]string{"-D", "security.ssl.internal.enabled=false"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := suite.Dawdle(t, alice, append(c.flags, "-p", "2", "-s", "1")...)
			for _, host := range d.Processes(t, bobbintest.TaskHost) {
				for _, at := range host.Listens(t) {
					if said := greeted(t, at.String()); (said == magic) != c.plain {
						t.Errorf("%v answers a greeting in the clear with %q, want the answer in the clear: %t", host, said, c.plain)
					}
				}
			}
			d.CheckSucceeds(t)
		})
	}
}

// magic is how each side begins to speak, in the clear or within TLS.
const magic = "BOBX"

// greeted gives how a host's answer begins to a greeting, of a version that there isn't.
func greeted(t *testing.T, address string) string {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, magic+"\xff\xff\x00\x00\x00"); err != nil {
		t.Fatal(err)
	}
	answer := make([]byte, len(magic))
	n, _ := io.ReadFull(conn, answer) // an alert may be shorter
	return string(answer[:n])
}
