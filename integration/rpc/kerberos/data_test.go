package kerberos

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	colinmarc "github.com/colinmarc/hdfs/v2"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hdfs"
)

// blockSize is the block size of the files: the smallest multiple of a packet.
const blockSize = 128 << 10

// fileSizes are sizes around the borders of packets, wrappers and blocks.
func fileSizes() []int {
	sizes := []int{0, 1, 64<<10 - 1, 64 << 10, 64<<10 + 1, blockSize, blockSize + 1, 3 * blockSize}
	random := rand.New(rand.NewSource(1)) // the same for each run
	for range 3 {
		sizes = append(sizes, random.Intn(8*blockSize))
	}
	return sizes
}

// content returns the bytes of a file with this size and name.
func content(name string, size int) []byte {
	seed := int64(size)
	for _, c := range name {
		seed = seed*31 + int64(c)
	}
	b := make([]byte, size)
	rand.New(rand.NewSource(seed)).Read(b)
	return b
}

// leg is one way to protect the data transfer.
type leg struct {
	name               string
	nameNode, dataNode map[string]string // new settings of the servers
	protection         string            // the client's dfs.data.transfer.protection
	login              string            // the client's messages during the login
	asks               bool              // the client requests AES
	aes                bool              // the DataNode's choice
	readable           bool              // on the socket
}

// The order of the legs matters: each keeps the settings of those before it.
func legs() []leg {
	const encrypt, algorithm, suites = "dfs.encrypt.data.transfer", "dfs.encrypt.data.transfer.algorithm", "dfs.encrypt.data.transfer.cipher.suites"
	type settings map[string]string
	return []leg{
		{name: "authentication", protection: "authentication", login: "qop=auth\x00\x1c", readable: true}, // then an operation
		{name: "integrity", protection: "integrity", login: "qop=auth-int", readable: true},
		{name: "privacy", protection: "privacy,integrity", login: "qop=auth-conf"},
		{
			name: "privacy-with-AES", protection: "privacy", login: "qop=auth-conf", asks: true, aes: true,
			dataNode: settings{suites: "AES/CTR/NoPadding"},
		},
		{name: "privacy-where-only-the-datanode-has-AES", protection: "privacy", login: "qop=auth-conf"},
		{
			name: "encrypted-with-AES", protection: "authentication", login: `cipher="3des"`, asks: true, aes: true,
			nameNode: settings{encrypt: "true", algorithm: "3des"}, dataNode: settings{encrypt: "true"},
		},
		{
			name: "encrypted", protection: "integrity", login: `cipher="rc4"`,
			nameNode: settings{algorithm: "rc4"}, dataNode: settings{suites: ""},
		},
	}
}

// TestFilesUnderPrivacy lets Java and our client read each other's files from a real DataNode. It would catch mixed
// bytes, a wrong protection, and a protection of only one direction.
func TestFilesUnderPrivacy(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Secure)
	p := newExchange(t, c)
	privacy := leg{name: "privacy-with-AES", protection: "privacy", login: "qop=auth-conf", asks: true, aes: true}
	privacy.run(t, c, p.dir)
	p.javaReads(t, privacy)
}

// TestFilesUnderEachProtectionOfTheirBlocks does the same with each protection. The servers get these settings one
// after the other.
func TestFilesUnderEachProtectionOfTheirBlocks(t *testing.T) {
	cluster.Long(t)
	t.Parallel()
	c := cluster.ForTest(t, cluster.Config{ // not clusters.Own, whose blocks are encrypted with AES
		NodeManagers: 1, Users: []string{alice}, Kerberos: &cluster.Kerberos{Protection: "authentication,integrity,privacy"},
	})
	p := newExchange(t, c)
	var old *colinmarc.Client // from before the last settings
	var oldSocket bobbintest.Tap
	for _, leg := range legs() {
		if leg.nameNode != nil && old == nil {
			// Before the restart of the DataNode, because this test changes its offers to all clients until then
			// (SaslDataTransferServer changes the map of all connections).
			t.Run("as-the-namenode-says", func(t *testing.T) { asTheNameNodeSays(t, c, p.dir) })
		}
		leg.configure(t, c)
		t.Run(leg.name, func(t *testing.T) { leg.run(t, c, p.dir) })
		if leg.nameNode == nil {
			continue
		}
		// Restarted servers do not know the keys of a client that continues.
		if old == nil {
			old = rpctest.Library(t, leg.dialer(t, c, &oldSocket), c.NameNodeAddress(), alice)
		}
		name := path.Join(p.dir, "go", leg.name, "late")
		if err := create(old, name, content("late", blockSize+1)); err != nil {
			t.Fatal(err)
		}
		if err := differs(old, name, content("late", blockSize+1)); err != nil {
			t.Error(err)
		}
	}
	if _, got := oldSocket.Saw("encryption key for nonce"); !got {
		t.Error("no DataNode has refused an old key: the test no longer shows that a new one is fetched")
	}
	p.javaReads(t, legs()...)
}

// exchange is a folder of alice into which Java and our client write for each other.
type exchange struct {
	c   *cluster.Cluster
	dir string // on HDFS: java has Java's files, go has ours
}

func newExchange(t *testing.T, c *cluster.Cluster) exchange {
	t.Helper()
	files := rpctest.FS(t, rpctest.FSOptions(t, c, alice))
	p := exchange{c, "/user/" + alice + "/exchange-" + strconv.FormatInt(time.Now().UnixNano(), 36)}
	if err := files.MkdirAll(t.Context(), p.dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := files.RemoveAll(wait.Context(t), p.dir); err != nil {
			t.Error(err)
		}
	})
	local := filepath.Join(t.TempDir(), "java")
	for _, size := range fileSizes() {
		write(t, filepath.Join(local, fmt.Sprint(size)), content("java", size))
	}
	p.java(t, "-D", fmt.Sprintf("dfs.blocksize=%d", blockSize), "-put", local, p.dir)
	return p
}

// java runs a command on files as alice.
func (p exchange) java(t *testing.T, args ...string) {
	t.Helper()
	rpctest.Java(t, p.c, rpctest.Identity(t, p.c, alice), cluster.FsShell, args...)
}

// javaReads checks what Java reads from the files written in these legs.
func (p exchange) javaReads(t *testing.T, legs ...leg) {
	t.Helper()
	local := t.TempDir()
	p.java(t, "-get", path.Join(p.dir, "go"), local)
	for _, leg := range legs {
		for _, size := range fileSizes() {
			got, err := os.ReadFile(filepath.Join(local, "go", leg.name, fmt.Sprint(size)))
			if err != nil || !bytes.Equal(got, content(leg.name, size)) {
				t.Errorf("%s: java reads %d other bytes than the %d we wrote: %v", leg.name, len(got), size, err)
			}
		}
	}
}

// configure restarts servers, the one that makes the keys first.
func (l leg) configure(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	if l.nameNode != nil {
		if err := c.Reconfigure(t.Context(), "namenode", l.nameNode); err != nil {
			t.Fatal(err)
		}
	}
	if l.dataNode != nil {
		if err := c.Reconfigure(t.Context(), "datanode", l.dataNode); err != nil {
			t.Fatal(err)
		}
	}
}

// proof is the end of a DataNode's part of a login. Field 4, its choice of a cipher, or something else follows.
var proof = regexp.MustCompile(`(?s)rspauth=[0-9a-f]{32}(.)`)

// run reads and writes files of all sizes.
func (l leg) run(t *testing.T, c *cluster.Cluster, home string) {
	t.Helper()
	var socket bobbintest.Tap
	dialer := l.dialer(t, c, &socket)
	client := rpctest.Library(t, dialer, c.NameNodeAddress(), alice)
	dir := path.Join(home, "go", l.name)
	if err := client.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, size := range fileSizes() {
		theirs, ours := path.Join(home, "java", fmt.Sprint(size)), path.Join(dir, fmt.Sprint(size))
		if err := differs(client, theirs, content("java", size)); err != nil {
			t.Errorf("what java wrote: %v", err)
		}
		if err := create(client, ours, content(l.name, size)); err != nil {
			t.Fatal(err)
		}
		if err := differs(client, ours, content(l.name, size)); err != nil {
			t.Errorf("what we wrote: %v", err)
		}
	}
	operationsFollow(t, c, dialer, path.Join(home, "java", "1"), content("java", 1))
	if l.nameNode == nil { // otherwise the token does not open the connection
		expiredTokensAreRefused(t, c, dialer, path.Join(home, "java", "1"))
	}
	if sent, _ := socket.Saw(l.login); !sent {
		t.Errorf("nobody logged in by %s", l.login)
	}
	if proofs := proof.FindAllSubmatch(socket.Got(), -1); len(proofs) < 2*len(fileSizes()) {
		t.Errorf("DataNodes have proved themselves %d times", len(proofs))
	} else {
		for _, p := range proofs {
			if aes := string(p[1]) == "\""; aes != l.aes {
				t.Errorf("AES is used: %t, want %t", aes, l.aes)
			}
		}
	}
	for name, writes := range map[string]bool{l.name: true, "java": false} {
		sent, got := socket.Saw(string(content(name, 3*blockSize)[1000:1032]))
		if sent != (writes && l.readable) || got != l.readable {
			t.Errorf("a file of %s is in the requests: %t, in the answers: %t", name, sent, got)
		}
	}
}

// dialer makes the connections of a client with this configuration.
func (l leg) dialer(t *testing.T, c *cluster.Cluster, socket *bobbintest.Tap) *hdfs.Dialer {
	t.Helper()
	properties := map[string]string{"dfs.data.transfer.protection": l.protection, "dfs.encrypt.data.transfer.cipher.suites": ""}
	if l.asks {
		properties["dfs.encrypt.data.transfer.cipher.suites"] = "AES/CTR/NoPadding"
	}
	return dialerAt(t, c, c.NameNodeAddress(), properties, socket)
}

// asTheNameNodeSays reads and writes with the protection that the client has with the NameNode, at a port that requires
// it, although DataNodes and the client's own configuration would accept less.
func asTheNameNodeSays(t *testing.T, c *cluster.Cluster, home string) {
	port := strconv.Itoa(bobbintest.FreePort(t))
	if err := c.Reconfigure(t.Context(), "namenode", map[string]string{
		"dfs.namenode.rpc-address.auxiliary-ports": port, "dfs.namenode.send.qop.enabled": "true",
	}); err != nil {
		t.Fatal(err)
	}
	var socket bobbintest.Tap
	dialer := dialerAt(t, c, "localhost:"+port, map[string]string{
		"hadoop.rpc.protection": "privacy", "dfs.data.transfer.protection": "authentication,privacy",
	}, &socket)
	client := rpctest.Library(t, dialer, c.NameNodeAddress(), alice)
	name := path.Join(home, "as-the-namenode-says")
	if err := create(client, name, content("said", blockSize)); err != nil {
		t.Fatal(err)
	}
	if err := differs(client, name, content("said", blockSize)); err != nil {
		t.Error(err)
	}
	if sent, got := socket.Saw(string(content("said", blockSize)[1000:1032])); sent || got {
		t.Errorf("the file is in the requests: %t, in the answers: %t", sent, got)
	}
	if private, _ := socket.Saw("qop=auth-conf"); !private {
		t.Error("nobody has logged in at a DataNode")
	}
}

// library returns the HDFS library for alice with our connections.
func library(t *testing.T, c *cluster.Cluster, protection string, socket *bobbintest.Tap) *colinmarc.Client {
	t.Helper()
	return rpctest.Library(t, dataDialer(t, c, protection, socket), c.NameNodeAddress(), alice)
}

// dataDialer makes the connections of a client with this dfs.data.transfer.protection.
func dataDialer(t *testing.T, c *cluster.Cluster, protection string, socket *bobbintest.Tap) *hdfs.Dialer {
	t.Helper()
	return dialerAt(t, c, c.NameNodeAddress(), map[string]string{"dfs.data.transfer.protection": protection}, socket)
}

func dialerAt(t *testing.T, c *cluster.Cluster, nameNode string, properties map[string]string, socket *bobbintest.Tap) *hdfs.Dialer {
	t.Helper()
	o, err := hdfs.FromConf(rpctest.Conf(t, c).With("the test", properties), nameNode, alice)
	if err != nil {
		t.Fatal(err)
	}
	o.RPC.Login, o.RPC.Dial = rpctest.FromKeytab(t, c, alice), socket.Dial
	return rpctest.Closing(t, hdfs.NewDialer(o))
}

func write(t *testing.T, file string, b []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

// create writes a file in writes of odd sizes.
func create(client *colinmarc.Client, name string, b []byte) error {
	file, err := client.CreateFile(name, 1, blockSize, 0o644)
	if err != nil {
		return err
	}
	for rest := b; len(rest) > 0; {
		part := rest[:min(len(rest), 1+len(rest)/3)]
		if _, err := file.Write(part); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
		rest = rest[len(part):]
	}
	return wait.Poll(context.Background(), "the NameNode to hear of the last block of "+name, func() error {
		err := file.Close()
		if err != nil && !colinmarc.IsErrReplicating(err) {
			return fmt.Errorf("%w: %w", wait.ErrGivenUp, err)
		}
		return err
	})
}

// differs returns the difference between a file and its expected content.
func differs(client *colinmarc.Client, name string, want []byte) error {
	file, err := client.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	got, err := io.ReadAll(file)
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	if !bytes.Equal(got, want) {
		return fmt.Errorf("%s: %d other bytes instead of %d", name, len(got), len(want))
	}
	if len(want) < 3 {
		return nil
	}
	middle := make([]byte, len(want)/3)
	if _, err := file.ReadAt(middle, int64(len(want)/3)); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read %s from the middle: %w", name, err)
	}
	if !bytes.Equal(middle, want[len(want)/3:][:len(middle)]) {
		return fmt.Errorf("%s: other bytes from the middle", name)
	}
	return nil
}
