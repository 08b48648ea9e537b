package jobs

import (
	"io"
	"net"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
)

// TestHostsExchangeWithoutTLSIfToldTo would catch security.ssl.internal.enabled=false without effect, or hosts that
// cannot connect with it. The answer of a host to an unknown client shows which protocol it uses.
func TestHostsExchangeWithoutTLSIfToldTo(t *testing.T) {
	cluster.Thorough(t)
	t.Parallel()
	alice := suite.User(t, bobbintest.Alice)
	for name, c := range map[string]struct {
		flags []string
		plain bool
	}{
		"as they do by default": {nil, false}, // without this case the other one proves nothing
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

// magic is the beginning of each side's first message, in the clear or within TLS.
const magic = "BOBX"

// greeted returns the beginning of a host's answer to a greeting with an unknown version.
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
