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

// TestNothingCanBeReadOnTheWireOrInLogs listens to everything that passes between all
// processes of a job and of its cluster, from its upload to the aggregated logs, and reads these logs.
// Other jobs of the cluster may run meanwhile; what other clusters do it does not hear.
// It would catch one connection that is not encrypted, whoever opens it, and a line of a log that tells a secret.
//
// It cannot look for keys that no file holds: those that are made for one connection, by Kerberos or TLS; the keys of the
// application's authority, of the ApplicationMaster and of task hosts; the passwords of tokens that come later
// than a container's start, by heartbeat (NodeManagers', new ones for the ResourceManager and for HDFS), with each block, or
// for one container; and the keys by which servers make passwords. That connections under which these travel are
// encrypted is shown by the others that travel there.
func TestNothingCanBeReadOnTheWireOrInLogs(t *testing.T) {
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
	least := map[netip.AddrPort]int64{dataNode: size} // bytes that pass there
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
	for at, want := range least { // or it proves nothing that nothing is found
		if got := found.To[at]; got < want {
			t.Errorf("%d bytes to %s are recorded, want at least %d", got, at, want)
		}
	}
	for name, where := range found.Places {
		t.Errorf("%s is readable on the wire, %s", name, where)
	}
	checkLogs(t, d, patterns)
}

// scopeOf is all that a cluster's daemons take part in, and all that passes between others that are no cluster's: processes of
// applications listen where the kernel puts them.
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

// listening is where a job's processes of a role take connections.
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

// checkLogs looks for secrets in what a job's processes have logged, and in what its client has said.
func checkLogs(t *testing.T, d *bobbintest.Dawdler, patterns []capture.Pattern) {
	t.Helper()
	got := d.User.Run(t, "logs", d.Application)
	if got.Code != 0 {
		t.Fatal(got)
	}
	for _, file := range []string{"jobmanager.log", "taskmanager.log", "level=debug"} {
		if !strings.Contains(got.Stdout, file) { // or it proves little that nothing is found
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

// marked is a text of which every word begins with the mark, and how many bytes it has.
func marked(t *testing.T) (dir string, size int64) {
	t.Helper()
	dir = t.TempDir()
	for file := range 4 {
		var content strings.Builder
		for line := range 5000 { // or the job could end while its secrets are looked for
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

// sayInTheClear sends a text over a connection of its own, in two pieces.
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

// secrets are those of a running application: the passwords of its tokens, the
// keys of its processes, what lets its owner to REST, and the owner's own keys.
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
				// In PEM it is torn apart by the end of a line; the second holds most of it.
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

// scalar is what is secret of a private key: the number, without the public key that
// stands beside it.
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
