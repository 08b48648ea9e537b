package hdfs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"net"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/hdfspb"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
	"github.com/bobbin-yarn/bobbin/yarnrpc/sasl"
)

const (
	someUser   = "an identifier"
	someSecret = "a password"
)

// known is a DataNode that knows the token of someUser.
func known(qops ...sasl.QOP) *dataNode {
	return &dataNode{qops: qops, secrets: map[string]string{sasl.EncodeCredential([]byte(someUser)): someSecret}}
}

// tapped records the bytes on a DataNode's socket.
type tapped struct {
	net.Conn
	got, sent *bytes.Buffer
}

func (c tapped) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.got.Write(b[:n])
	return n, err
}

func (c tapped) Write(b []byte) (int, error) {
	c.sent.Write(b)
	return c.Conn.Write(b)
}

// Under integrity and privacy without AES, the library itself reads wrong bytes. Here the
// bytes would be wrong if the end of a wrapper ended a read, or if the keys of the
// directions were exchanged.
func TestAConnectionIsProtectedAsWasAgreed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ours, theirs []sasl.QOP
		aes          bool // the DataNode has it
		inClear      bool
	}{
		"authentication":                    {[]sasl.QOP{sasl.QOPAuthentication}, []sasl.QOP{sasl.QOPAuthentication}, false, true},
		"integrity":                         {[]sasl.QOP{sasl.QOPIntegrity}, []sasl.QOP{sasl.QOPIntegrity}, false, true},
		"privacy":                           {[]sasl.QOP{sasl.QOPPrivacy}, []sasl.QOP{sasl.QOPPrivacy}, false, false},
		"privacy with AES":                  {[]sasl.QOP{sasl.QOPPrivacy}, []sasl.QOP{sasl.QOPPrivacy}, true, false},
		"ours come first":                   {[]sasl.QOP{sasl.QOPPrivacy, sasl.QOPAuthentication}, []sasl.QOP{sasl.QOPAuthentication, sasl.QOPPrivacy}, true, false},
		"no AES where there is no privacy":  {[]sasl.QOP{sasl.QOPIntegrity, sasl.QOPPrivacy}, []sasl.QOP{sasl.QOPIntegrity}, false, true},
		"of several what the DataNode does": {[]sasl.QOP{sasl.QOPPrivacy, sasl.QOPIntegrity}, []sasl.QOP{sasl.QOPAuthentication, sasl.QOPIntegrity}, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			node := known(c.theirs...)
			node.aes = c.aes && slices.Contains(c.theirs, sasl.QOPPrivacy)
			op := operation(t, opWriteBlock, blockTokenOf(someUser, someSecret))
			up, down := pattern(t, 300_001), pattern(t, 200_003)
			var got, sent bytes.Buffer
			server := func(conn net.Conn) error {
				opened, err := node.accept(tapped{conn, &got, &sent})
				if err != nil {
					return err
				}
				if err := expect(opened, op); err != nil {
					return err
				}
				if err := expect(opened, up); err != nil {
					return err
				}
				for rest := down; len(rest) > 0; { // in pieces of all sizes
					part := rest[:min(len(rest), 1+len(rest)/3)]
					if _, err := opened.Write(part); err != nil {
						return err
					}
					rest = rest[len(part):]
				}
				return nil
			}
			_, conn, err := connect(t, DataTransfer{QOPs: c.ours, AES: true}, "dn:9866", server)
			if err != nil {
				t.Fatal(err)
			}
			for _, b := range [][]byte{op, up} {
				if n, err := conn.Write(b); n != len(b) || err != nil {
					t.Fatalf("wrote %d of %d bytes: %v", n, len(b), err)
				}
			}
			if err := expect(conn, down); err != nil {
				t.Fatal(err)
			}
			if n, err := conn.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("after the end: %d bytes, %v", n, err)
			}
			conn.Close()
			for direction, b := range map[string][]byte{"up": got.Bytes(), "down": sent.Bytes()} {
				sample := up[1000:1100]
				if direction == "down" {
					sample = down[1000:1100]
				}
				if bytes.Contains(b, sample) != c.inClear {
					t.Errorf("%s: in the clear: %t, want %t", direction, !c.inClear, c.inClear)
				}
			}
		})
	}
}

// pattern returns bytes that do not repeat.
func pattern(t testing.TB, n int) []byte {
	t.Helper()
	b := make([]byte, n)
	rand.New(rand.NewSource(int64(n))).Read(b) // the same for each run
	return b
}

func expect(r io.Reader, want []byte) error {
	got := make([]byte, len(want))
	if n, err := io.ReadFull(r, got); err != nil {
		return fmt.Errorf("only %d of %d bytes came: %w", n, len(want), err)
	}
	if !bytes.Equal(got, want) {
		return errors.New("other bytes came than were sent")
	}
	return nil
}

// A login must not begin with half a token, nor again for the operations that follow.
func TestAnOperationMayComeInPiecesAndOthersFollow(t *testing.T) {
	t.Parallel()
	node := known(sasl.QOPIntegrity)
	token := blockTokenOf(someUser, someSecret)
	operations := [][]byte{operation(t, opBlockChecksum, token), operation(t, opReadBlock, token), operation(t, opWriteBlock, token)}
	_, conn, err := connect(t, DataTransfer{QOPs: node.qops}, "dn:9866", func(conn net.Conn) error {
		opened, err := node.accept(conn)
		if err != nil {
			return err
		}
		for i, op := range operations {
			if err := expect(opened, op); err != nil {
				return err
			}
			if _, err := opened.Write([]byte{byte(i)}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, op := range operations {
		for _, b := range op {
			if n, err := conn.Write([]byte{b}); n != 1 || err != nil {
				t.Fatalf("wrote %d: %v", n, err)
			}
		}
		if err := expect(conn, []byte{byte(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if node.logins != 1 {
		t.Errorf("%d logins", node.logins)
	}
}

// It would wait for ever otherwise, because the DataNode waits for the login.
func TestAReadBeforeAnyOperationIsAnError(t *testing.T) {
	t.Parallel()
	_, conn, err := connect(t, DataTransfer{QOPs: []sasl.QOP{sasl.QOPIntegrity}}, "dn:9866", func(conn net.Conn) error {
		return expect(conn, []byte("nothing must come"))
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Read(make([]byte, 1)); err == nil || !strings.Contains(err.Error(), "dn:9866") {
		t.Errorf("error is %v", err)
	}
}

// A NameNode may require more of some clients than DataNodes require of all.
func TestTheNameNodesWordInATokenIsPassedOn(t *testing.T) {
	t.Parallel()
	both := []sasl.QOP{sasl.QOPAuthentication, sasl.QOPPrivacy}
	for name, c := range map[string]struct {
		identifier []byte
		want       string
	}{
		"as most NameNodes write it":      {unhex(t, legacyIdentifier+legacyMessage), "auth-conf"},
		"as others write it":              {unhex(t, protoIdentifier+protoMessage), "auth-conf"},
		"where it says nothing":           {unhex(t, legacyIdentifier), "auth"},
		"where the other says nothing":    {unhex(t, protoIdentifier), "auth"},
		"where it is cut short":           {unhex(t, legacyIdentifier+legacyMessage)[:66], "auth"},
		"in what is no identifier at all": {[]byte{1, 2, 3}, "auth"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			node := &dataNode{qops: both, secrets: map[string]string{sasl.EncodeCredential(c.identifier): someSecret}}
			op := operation(t, opWriteBlock, blockTokenOf(string(c.identifier), someSecret))
			var got, sent bytes.Buffer
			done := make(chan struct{})
			_, conn, err := connect(t, DataTransfer{QOPs: both}, "dn:9866", func(conn net.Conn) error {
				defer close(done)
				opened, err := node.accept(tapped{conn, &got, &sent})
				if err != nil {
					return err
				}
				return expect(opened, op)
			})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := conn.Write(op); err != nil {
				t.Fatal(err)
			}
			<-done
			if chosen := regexp.MustCompile(`,qop=([a-z-]*)`).FindStringSubmatch(got.String()); chosen == nil || chosen[1] != c.want {
				t.Errorf("the client chooses %q, want %s", chosen, c.want)
			}
		})
	}
}

// Otherwise the client would treat each of these connections as if it had the required
// protection.
func TestALoginThatIsNotWhatWasAskedForIsRefused(t *testing.T) {
	t.Parallel()
	privacy, integrity := []sasl.QOP{sasl.QOPPrivacy}, []sasl.QOP{sasl.QOPIntegrity}
	aes := func(forge func(*hdfspb.CipherOptionProto)) func(*dataNode) {
		return func(n *dataNode) {
			n.aes, n.forge = true, func(m *message) { forge(m.GetCipherOption()[0]) }
		}
	}
	for name, c := range map[string]struct {
		qops []sasl.QOP
		node func(*dataNode)
		want error
		text string
	}{
		"less protection": {privacy, func(n *dataNode) { n.qops = integrity }, sasl.ErrProtection, ""},
		"a DataNode that does not know the password": {integrity, func(n *dataNode) {
			n.forge = func(m *message) { m.Payload = []byte("rspauth=00000000000000000000000000000000") }
		}, sasl.ErrMismatch, ""},
		"a DataNode that proves nothing": {integrity, func(n *dataNode) {
			n.forge = func(m *message) { m.Payload = nil }
		}, sasl.ErrChallenge, ""},
		"a DataNode that hangs up":           {integrity, func(n *dataNode) { n.deaf = true }, io.ErrUnexpectedEOF, "dfs.data.transfer.protection"},
		"a password that is not the token's": {integrity, func(n *dataNode) { n.secrets[sasl.EncodeCredential([]byte(someUser))] = "another" }, errRefused, ""},
		"a cipher under integrity": {integrity, func(n *dataNode) {
			n.forge = func(m *message) {
				m.CipherOption = []*hdfspb.CipherOptionProto{{Suite: hdfspb.CipherSuiteProto_AES_CTR_NOPADDING.Enum()}}
			}
		}, sasl.ErrChallenge, ""},
		"a cipher that was not offered": {privacy, aes(func(o *hdfspb.CipherOptionProto) {
			o.Suite = hdfspb.CipherSuiteProto_SM4_CTR_NOPADDING.Enum()
		}), sasl.ErrChallenge, "not offered"},
		"a key in the clear": {privacy, aes(func(o *hdfspb.CipherOptionProto) { o.InKey = make([]byte, 32) }), sasl.ErrTampered, ""},
		"no key":             {privacy, aes(func(o *hdfspb.CipherOptionProto) { o.OutKey = nil }), sasl.ErrChallenge, ""},
		"half a counter":     {privacy, aes(func(o *hdfspb.CipherOptionProto) { o.OutIv = o.OutIv[:8] }), sasl.ErrChallenge, ""},
		"keys swapped":       {privacy, aes(func(o *hdfspb.CipherOptionProto) { o.InKey, o.OutKey = o.OutKey, o.InKey }), sasl.ErrTampered, ""},
		"a token refused": {integrity, func(n *dataNode) {
			n.forge = func(m *message) {
				m.Message, m.AccessTokenError = proto.String("expired\n\tat a.b.C"), proto.Bool(true)
				m.Status = hdfspb.DataTransferEncryptorMessageProto_ERROR.Enum()
			}
		}, ErrBlockToken, `"expired"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			node := known(c.qops...)
			c.node(node)
			_, conn, err := connect(t, DataTransfer{QOPs: c.qops, AES: true}, "dn:9866", func(conn net.Conn) error {
				if opened, err := node.accept(conn); err == nil {
					return expect(opened, []byte("nothing must come"))
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			_, err = conn.Write(operation(t, opReadBlock, blockTokenOf(someUser, someSecret)))
			if err == nil || !errors.Is(err, c.want) || !strings.Contains(err.Error(), "dn:9866") || !strings.Contains(err.Error(), c.text) {
				t.Fatalf("error is %v, want %v, the DataNode's address and %s", err, c.want, c.text)
			}
			if _, again := conn.Write([]byte("x")); !errors.Is(again, c.want) {
				t.Errorf("write after a failed login: %v", again)
			}
			if _, again := conn.Read(make([]byte, 1)); !errors.Is(again, c.want) {
				t.Errorf("read after a failed login: %v", again)
			}
		})
	}
}

// A refused user must learn under which name the login failed. Only the token has that
// name.
func TestALoginThatFailsNamesItsUser(t *testing.T) {
	t.Parallel()
	for _, identifier := range []string{legacyIdentifier, legacyIdentifier + legacyMessage, protoIdentifier} {
		_, conn, err := connect(t, DataTransfer{QOPs: []sasl.QOP{sasl.QOPPrivacy}}, "dn:9866", func(conn net.Conn) error {
			_, err := known(sasl.QOPIntegrity).accept(conn)
			if err == nil {
				return errors.New("the login did not fail")
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		_, err = conn.Write(operation(t, opReadBlock, blockTokenOf(string(unhex(t, identifier)), someSecret)))
		if err == nil || !strings.Contains(err.Error(), `user "alice"`) {
			t.Errorf("the error is %v, want it to name alice", err)
		}
	}
}

// A damaged wrapper must not show as other bytes, as fewer bytes, or as a regular end.
func TestAWrapperThatIsNotAsItWasSentEndsReading(t *testing.T) {
	t.Parallel()
	for _, qop := range []sasl.QOP{sasl.QOPIntegrity, sasl.QOPPrivacy} {
		for name, change := range map[string]func(frames [][]byte) [][]byte{
			"changed":   func(f [][]byte) [][]byte { f[1][20] ^= 1; return f },
			"repeated":  func(f [][]byte) [][]byte { return [][]byte{f[0], f[0], f[1]} },
			"lost":      func(f [][]byte) [][]byte { return [][]byte{f[0], f[2]} },
			"swapped":   func(f [][]byte) [][]byte { return [][]byte{f[0], f[2], f[1]} },
			"cut":       func(f [][]byte) [][]byte { return [][]byte{f[0], f[1][:len(f[1])/2]} },
			"too long":  func(f [][]byte) [][]byte { return [][]byte{f[0], {0x7f, 0xff, 0xff, 0xff, 1, 2, 3}} },
			"too short": func(f [][]byte) [][]byte { return [][]byte{f[0], {0, 0, 0, 1, 7}} },
		} {
			t.Run(string(qop)+"/"+name, func(t *testing.T) {
				t.Parallel()
				node := known(qop)
				parts := [][]byte{pattern(t, 5000), pattern(t, 6000), pattern(t, 7000)}
				_, conn, err := connect(t, DataTransfer{QOPs: node.qops}, "dn:9866", func(conn net.Conn) error {
					opened, err := node.accept(conn)
					if err != nil {
						return err
					}
					if err := expect(opened, operation(t, opWriteBlock, blockTokenOf(someUser, someSecret))); err != nil {
						return err
					}
					var frames [][]byte
					sink := &wrappedConn{Conn: frameSink{conn, &frames}, layer: opened.(*wrappedConn).layer}
					for _, part := range parts {
						if _, err := sink.Write(part); err != nil {
							return err
						}
					}
					_, err = conn.Write(slices.Concat(change(frames)...))
					return err
				})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := conn.Write(operation(t, opWriteBlock, blockTokenOf(someUser, someSecret))); err != nil {
					t.Fatal(err)
				}
				got, err := io.ReadAll(conn)
				if !bytes.Equal(got, parts[0]) {
					t.Errorf("%d bytes were read, not the %d of the wrapper that was good", len(got), len(parts[0]))
				}
				if !errors.Is(err, sasl.ErrTampered) && !(name == "cut" && errors.Is(err, io.ErrUnexpectedEOF)) {
					t.Errorf("error is %v", err)
				}
				if n, again := conn.Read(make([]byte, 1)); n != 0 || !errors.Is(again, err) {
					t.Errorf("the next read gives %d bytes and %v", n, again)
				}
			})
		}
	}
}

// frameSink keeps what is written to it.
type frameSink struct {
	net.Conn
	frames *[][]byte
}

func (s frameSink) Write(b []byte) (int, error) {
	*s.frames = append(*s.frames, bytes.Clone(b))
	return len(b), nil
}

// As with the Java client, a login that the DataNode does not expect is an error there.
func TestWhereNoLoginIsWantedNoneIsSent(t *testing.T) {
	t.Parallel()
	op := operation(t, opWriteBlock, blockTokenOf(someUser, someSecret))
	without := operation(t, opWriteBlock, nil)
	integrity := []sasl.QOP{sasl.QOPIntegrity}
	for name, c := range map[string]struct {
		options DataTransfer
		address string
		send    []byte
	}{
		"no protection is configured":            {DataTransfer{}, "dn:9866", op},
		"only root can listen there":             {DataTransfer{QOPs: integrity}, "dn:1004", op},
		"an open cluster, by the client's leave": {DataTransfer{QOPs: integrity, AllowSimpleFallback: true}, "dn:9866", without},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, conn, err := connect(t, c.options, c.address, func(conn net.Conn) error {
				if err := expect(conn, c.send); err != nil {
					return err
				}
				_, err := conn.Write([]byte("an answer"))
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := conn.Write(c.send); err != nil {
				t.Fatal(err)
			}
			if err := expect(conn, []byte("an answer")); err != nil {
				t.Error(err)
			}
		})
	}
	t.Run("but not by a server's", func(t *testing.T) {
		t.Parallel()
		_, conn, err := connect(t, DataTransfer{QOPs: integrity}, "dn:9866", func(conn net.Conn) error {
			return expect(conn, []byte("nothing must come"))
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Write(without); err == nil || !strings.Contains(err.Error(), "ipc.client.fallback-to-simple-auth-allowed") {
			t.Errorf("error is %v", err)
		}
	})
	t.Run("nor for what is no operation", func(t *testing.T) {
		t.Parallel()
		for _, bad := range [][]byte{{0, 27, opReadBlock, 0}, {0, transferVersion, 99, 2, 10, 0}, {0, transferVersion, opReadBlock, 1, 8}} {
			_, conn, err := connect(t, DataTransfer{QOPs: integrity}, "dn:9866", func(conn net.Conn) error {
				return expect(conn, []byte("nothing must come"))
			})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := conn.Write(bad); !errors.Is(err, errOperation) {
				t.Errorf("%v: error is %v", bad, err)
			}
		}
	})
}

func TestWhatAConfigurationSaysOfDataTransfer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		properties map[string]string
		want       DataTransfer
		refused    string
	}{
		"nothing": {},
		"an open cluster logs in nowhere": {properties: map[string]string{
			"hadoop.security.authentication": "simple", "dfs.data.transfer.protection": "privacy",
		}},
		"Kerberos alone does not protect": {properties: map[string]string{"hadoop.security.authentication": "kerberos"}},
		"several in their order": {properties: map[string]string{
			"hadoop.security.authentication": "kerberos", "dfs.data.transfer.protection": "privacy, integrity",
			"ipc.client.fallback-to-simple-auth-allowed": "true",
		}, want: DataTransfer{QOPs: []sasl.QOP{sasl.QOPPrivacy, sasl.QOPIntegrity}, AllowSimpleFallback: true}},
		"a protection that is none": {properties: map[string]string{
			"hadoop.security.authentication": "kerberos", "dfs.data.transfer.protection": "secrecy",
		}, refused: "dfs.data.transfer.protection"},
		"AES where it is asked for": {properties: map[string]string{
			"hadoop.security.authentication": "kerberos", "dfs.data.transfer.protection": "privacy",
			"dfs.encrypt.data.transfer.cipher.suites": "AES/CTR/NoPadding",
		}, want: DataTransfer{QOPs: []sasl.QOP{sasl.QOPPrivacy}, AES: true}},
		"AES on an open cluster whose NameNode has keys": {properties: map[string]string{
			"dfs.encrypt.data.transfer.cipher.suites": "AES/CTR/NoPadding",
		}, want: DataTransfer{AES: true}},
		"a cipher that we do not have": {properties: map[string]string{"dfs.encrypt.data.transfer.cipher.suites": "SM4/CTR/NoPadding"}},
		"a cipher that is none": {properties: map[string]string{
			"dfs.encrypt.data.transfer.cipher.suites": "AES/GCM/NoPadding",
		}, refused: "dfs.encrypt.data.transfer.cipher.suites"},
		"a class that trusts channels": {properties: map[string]string{
			"dfs.trustedchannel.resolver.class": "org.example.Trusting",
		}, refused: "dfs.trustedchannel.resolver.class"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := dataTransferFrom(confOf(t, c.properties))
			if c.refused != "" {
				if invalid, ok := errors.AsType[*hadoopconf.ValueError](err); !ok || invalid.Name != c.refused {
					t.Fatalf("error is %v, want one of %s", err, c.refused)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func confOf(t *testing.T, properties map[string]string) *hadoopconf.Conf {
	t.Helper()
	var site strings.Builder
	for name, value := range properties {
		fmt.Fprintf(&site, "<property><name>%s</name><value>%s</value></property>", name, value)
	}
	conf, err := hadoopconf.Parse([]byte("<configuration>" + site.String() + "</configuration>"))
	if err != nil {
		t.Fatal(err)
	}
	return conf
}
