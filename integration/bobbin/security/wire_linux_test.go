package security

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jcmturner/gokrb5/v8/keytab"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/capture"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
)

// mark begins every word of the text of TestNothingCanBeReadOnTheWireOrInLogs, and nothing else.
const mark = "zinnober"

// TestNothingCanBeReadOnTheWireOrInLogs records all data between the processes of a job and of its cluster, from the
// upload to the aggregated logs, and reads these logs. Other jobs of the cluster may run meanwhile. It does not record
// other clusters. It would catch one connection without encryption, whichever process opens it, and a line of a log
// that contains a secret.
//
// It cannot look for keys that no file holds. Kerberos and TLS make keys for one connection. The authority, the
// ApplicationMaster and task hosts keep their keys in memory. Passwords of tokens also come after a container's start:
// by heartbeat (NodeManagers' tokens, new ones for the ResourceManager and for HDFS), with each block, or for one
// container. And servers have keys with which they make passwords. The other data on the same connections shows that
// these are encrypted.
func TestNothingCanBeReadOnTheWireOrInLogs(t *testing.T) {
	cluster.Thorough(t)
	t.Parallel()
	alice := suite.User(t, bobbintest.Alice)
	dataNode := dataNodeAddress(t, alice)
	recording, err := capture.Start(t.TempDir(), scopeOf(t, alice.Cluster))
	if err != nil {
		t.Fatal(err)
	}
	const control = "what goes over a connection in the clear"
	sayInTheClear(t, control)

	text, size := marked(t)
	d := suite.DawdleOver(t, alice, text, slices.Concat(keytabOptions(alice), option("logging.level", "debug"), []string{"-p", "2", "-s", "1"})...)
	patterns := []capture.Pattern{{Name: "control", Text: []byte(control)}, {Name: "a word of the input", Text: []byte(mark)}}
	patterns = append(patterns, secrets(t, d)...)
	least := map[netip.AddrPort]int64{dataNode: size} // number of bytes to this port
	for _, role := range []bobbintest.Role{bobbintest.ApplicationMaster, bobbintest.TaskHost} {
		for _, at := range listening(t, d, role) {
			least[at] = 1
		}
	}
	d.CheckSucceeds(t)
	alice.WaitLogs(t, d.Application)

	found, err := recording.Stop(patterns)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d frames with %d MB recorded, none missing, searched for %d patterns", found.Frames, found.Bytes>>20, len(patterns))
	if _, seen := found.Places["control"]; !seen {
		t.Error("the recording lacks the text that was sent in the clear")
	}
	delete(found.Places, "control")
	for at, want := range least { // otherwise a search without findings proves nothing
		if got := found.To[at]; got < want {
			t.Errorf("%d bytes to %s are recorded, want at least %d", got, at, want)
		}
	}
	for name, where := range found.Places {
		t.Errorf("%s is readable on the wire, %s", name, where)
	}
	checkLogs(t, d, patterns)
}

// scopeOf selects all data to and from a cluster's daemons, and all data between ports that belong to no cluster,
// because processes of applications listen on ports that the kernel chooses.
func scopeOf(t *testing.T, c *cluster.Cluster) capture.Scope {
	t.Helper()
	first, last, err := c.Ports()
	if err != nil {
		t.Fatal(err)
	}
	lowest, highest := cluster.AllPorts()
	return capture.Scope{
		Own:    capture.Ports{First: uint16(first), Last: uint16(last)},
		Others: capture.Ports{First: uint16(lowest), Last: uint16(highest)},
	}
}

// listening returns the addresses at which a job's processes of a role accept connections.
func listening(t *testing.T, d *bobbintest.Dawdler, role bobbintest.Role) (all []netip.AddrPort) {
	t.Helper()
	for _, p := range d.Processes(t, role) {
		all = append(all, p.Listens(t)...)
	}
	if len(all) == 0 {
		t.Errorf("no %s listens", role)
	}
	return all
}

// checkLogs searches for secrets in the logs of a job's processes, and in the output of its client.
func checkLogs(t *testing.T, d *bobbintest.Dawdler, patterns []capture.Pattern) {
	t.Helper()
	got := d.User.Run(t, "logs", d.Application)
	if got.Code != 0 {
		t.Fatal(got)
	}
	for _, file := range []string{"jobmanager.log", "taskmanager.log", "level=debug"} {
		if !strings.Contains(got.Stdout, file) { // otherwise a search without findings proves little
			t.Errorf("the logs have no %s: %.2000s", file, got)
		}
	}
	for where, text := range map[string]string{"the logs": got.Stdout, "what the client says": d.Run.Seen().String()} {
		for _, p := range patterns {
			if strings.Contains(text, string(p.Text)) {
				t.Errorf("%s can be read in %s", p.Name, where)
			}
		}
	}
}

// marked returns a text in which every word begins with the mark, and its length in bytes.
func marked(t *testing.T) (dir string, size int64) {
	t.Helper()
	dir = t.TempDir()
	for file := range 4 {
		var content strings.Builder
		for line := range 5000 { // otherwise the job could end during the search for its secrets
			fmt.Fprintf(&content, "%s%d %s-other\n", mark, (file*5000+line)%700, mark)
		}
		size += int64(content.Len())
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("text-%d.txt", file)), []byte(content.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir, size
}

func dataNodeAddress(t *testing.T, u *bobbintest.User) netip.AddrPort {
	t.Helper()
	settings, err := u.Cluster.Settings(t.Context(), "datanode")
	if err != nil {
		t.Fatal(err)
	}
	address, err := netip.ParseAddrPort(settings["dfs.datanode.address"])
	if err != nil {
		t.Fatal(err)
	}
	return address
}

// sayInTheClear sends a text without encryption over a connection of its own, in two pieces.
func sayInTheClear(t *testing.T, text string) {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	speaker, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer speaker.Close()
	hearer, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer hearer.Close()
	for _, piece := range []string{text[:9], text[9:]} {
		if _, err := io.WriteString(speaker, piece); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(hearer, make([]byte, len(piece))); err != nil {
			t.Fatal(err)
		}
	}
}

// secrets returns the secrets of a running application: the passwords of its tokens, the keys of its processes, the
// credentials with which its owner uses REST, and the owner's own keys.
func secrets(t *testing.T, d *bobbintest.Dawdler) []capture.Pattern {
	t.Helper()
	var all []capture.Pattern
	add := func(name string, secret []byte) {
		t.Helper()
		patterns, err := capture.Secret(name, secret)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, patterns...)
	}
	add("the owner's bearer token", []byte(d.Master.Access.Token))
	known := make(map[string]bool)
	for _, role := range []bobbintest.Role{bobbintest.ApplicationMaster, bobbintest.TaskExecutor} {
		for _, p := range bobbintest.ProcessesIn(t, d.Application, role) {
			held := p.Credentials(t)
			for _, token := range held.Tokens {
				if !known[string(token.Password)] {
					known[string(token.Password)] = true
					add(fmt.Sprintf("the password of %s's %s", role, token.Kind), token.Password)
				}
			}
			for alias, secret := range held.Secrets {
				block, _ := pem.Decode(secret)
				if block == nil {
					add(fmt.Sprintf("the secret %s of %s", alias, role), secret)
					continue
				}
				name := fmt.Sprintf("the key %s of %s", alias, role)
				add(name, scalar(t, block))
				// In PEM, line breaks divide the key. The second line holds most of it.
				add(name, bytes.Split(pem.EncodeToMemory(block), []byte("\n"))[2])
			}
		}
	}
	if len(known) < 2 {
		t.Fatalf("only %d tokens are found: there are one for YARN and one for HDFS at least", len(known))
	}
	keys, err := keytab.Load(d.User.Cluster.Keytab(d.User.Name))
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range keys.Entries {
		add("a key of alice's keytab", entry.Key.KeyValue)
	}
	return all
}

// scalar returns the secret part of a private key: the number, without the public key beside it.
func scalar(t *testing.T, block *pem.Block) []byte {
	t.Helper()
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	key, ok := parsed.(*ecdsa.PrivateKey)
	if !ok {
		t.Fatalf("a key of type %T", parsed)
	}
	number, err := key.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	return number
}
