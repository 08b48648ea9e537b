package doctor

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jcmturner/gokrb5/v8/iana/errorcode"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"

	"github.com/bobbin-yarn/bobbin/client/doctor"
	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
)

// wrongClock puts a relay before the KDC, which changes the time in its answers. For the client this is like a wrong
// clock of its own.
func wrongClock(t *testing.T, alice *bobbintest.User, args []string) {
	e := examine(t, alice.With("KRB5_CONFIG="+clockedConf(t, alice.Cluster)), args...)
	e.wants(t, "kdc", doctor.Failed, "is 20m ahead of this machine's; 5m are allowed", "NTP")
	e.wants(t, "login", doctor.Skipped, `the check "KDCs and clocks" has failed`, "")
}

// clockedConf returns a krb5.conf that names a relay whose clock is 20 minutes ahead, and some seconds, because KDCs
// send whole seconds.
func clockedConf(t *testing.T, c *cluster.Cluster) string {
	t.Helper()
	kdc, _ := rewritten(t, c, "")
	_, conf := rewritten(t, c, relay(t, kdc, 20*time.Minute+10*time.Second))
	return conf
}

// rewritten makes a krb5.conf with another address of the KDC, and returns the old address and the file.
func rewritten(t *testing.T, c *cluster.Cluster, address string) (kdc, path string) {
	t.Helper()
	text, err := os.ReadFile(c.Krb5Conf())
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "\tkdc = ")
	kdc, _, _ = strings.Cut(after, "\n")
	path = filepath.Join(t.TempDir(), "krb5.conf")
	other := strings.ReplaceAll(string(text), "\tkdc = "+kdc, "\tkdc = "+address)
	if err := os.WriteFile(path, []byte(other), 0o600); err != nil {
		t.Fatal(err)
	}
	return kdc, path
}

// relay passes requests to a KDC, and advances the clock in its refusals. It refuses logins, like a KDC with such a
// clock.
func relay(t *testing.T, kdc string, ahead time.Duration) string {
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var tasks sync.WaitGroup
	tasks.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			if err := relayOne(t.Context(), client, kdc, ahead); err != nil {
				t.Error(err)
			}
			client.Close()
		}
	})
	t.Cleanup(func() {
		listener.Close() // ends the task
		tasks.Wait()
	})
	return listener.Addr().String()
}

func relayOne(ctx context.Context, client net.Conn, kdc string, ahead time.Duration) error {
	request, err := readMessage(client)
	if err != nil {
		return err
	}
	server, err := new(net.Dialer).DialContext(ctx, "tcp", kdc)
	if err != nil {
		return err
	}
	defer server.Close()
	if err := writeMessage(server, request); err != nil {
		return err
	}
	reply, err := readMessage(server)
	if err != nil {
		return err
	}
	var refusal messages.KRBError
	if refusal.Unmarshal(reply) != nil { // it contains the time that proves the client's key
		realm := types.PrincipalName{NameString: []string{"krbtgt", cluster.Realm}}
		refusal = messages.NewKRBError(realm, cluster.Realm, errorcode.KRB_AP_ERR_SKEW, "Clock skew too great")
	}
	refusal.STime = refusal.STime.Add(ahead)
	if reply, err = refusal.Marshal(); err != nil {
		return err
	}
	return writeMessage(client, reply)
}

func readMessage(r io.Reader) ([]byte, error) {
	var length [4]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return nil, err
	}
	message := make([]byte, min(binary.BigEndian.Uint32(length[:]), 64<<10))
	_, err := io.ReadFull(r, message)
	return message, err
}

func writeMessage(w io.Writer, message []byte) error {
	_, err := w.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(message))), message...))
	return err
}
