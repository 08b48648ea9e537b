package hdfs

import (
	"bytes"
	"errors"
	"io"
	"net"
	"testing"

	"github.com/bobbin-yarn/bobbin/hadoopproto/hdfspb"
	"github.com/bobbin-yarn/bobbin/yarnrpc/sasl"
)

// bitFlipper is a man in the middle who flips bits of the stream after mask is set.
type bitFlipper struct {
	net.Conn
	mask []byte
}

func (c *bitFlipper) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	used := min(n, len(c.mask))
	for i, flipped := range c.mask[:used] {
		b[i] ^= flipped
	}
	c.mask = c.mask[used:]
	return n, err
}

// TestWhoChangesAFileUnderPrivacyIsNoticed is the attack of a man in the middle who knows the content of a file, for
// example of a published binary. He flips bits on the way to the DataNode. It would catch a client that lets
// DataNodes choose AES in counter mode, with which he gets any file he wants, although the client's configuration
// does not ask for AES.
func TestWhoChangesAFileUnderPrivacyIsNoticed(t *testing.T) {
	t.Parallel()
	for name, dial := range map[string]func(*testing.T, DataTransfer, func(net.Conn) error) (net.Conn, error){
		"by the token of a block": func(t *testing.T, o DataTransfer, server func(net.Conn) error) (net.Conn, error) {
			_, conn, err := connect(t, o, "dn:9866", server)
			return conn, err
		},
		"by the NameNode's key": func(t *testing.T, o DataTransfer, server func(net.Conn) error) (net.Conn, error) {
			d, _ := encrypting(t, &keyMaker{}, o, server)
			return d.DialDataNode(t.Context(), "tcp", "dn:9866")
		},
	} {
		for asked, want := range map[bool]string{
			false: "",                         // no changed byte is accepted
			true:  "#!/bin/sh\nexec ./evil\n", // counter mode does not notice the change
		} {
			op, file := operation(t, opWriteBlock, blockTokenOf(someUser, someSecret)), []byte("#!/bin/sh\nexec ./good\n")
			node := known(sasl.QOPPrivacy)
			node.aes = true
			node.secrets[(&keyMaker{}).user(1)] = "key 1"
			took := make(chan string, 1)
			conn, err := dial(t, DataTransfer{QOPs: []sasl.QOP{sasl.QOPPrivacy}, AES: asked}, func(conn net.Conn) error {
				between := &bitFlipper{Conn: conn}
				opened, err := node.accept(between)
				if err != nil {
					return err
				}
				if err := expect(opened, op); err != nil {
					return err
				}
				between.mask = make([]byte, len(file))
				at := bytes.Index(file, []byte("good"))
				for i := range "good" {
					between.mask[at+i] = "good"[i] ^ "evil"[i]
				}
				got := make([]byte, len(file))
				n, err := io.ReadFull(opened, got)
				took <- string(got[:n])
				if errors.Is(err, sasl.ErrTampered) {
					err = nil
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, b := range [][]byte{op, file} {
				if _, err := conn.Write(b); err != nil {
					t.Fatal(err)
				}
			}
			if got := <-took; got != want {
				t.Errorf("%s, AES asked for: %t: the DataNode takes %q, want %q", name, asked, got, want)
			}
		}
	}
}

// TestNoCipherIsTakenThatWasNotOffered would catch a client that accepts counter mode from a DataNode, or from an
// impostor, without having offered it.
func TestNoCipherIsTakenThatWasNotOffered(t *testing.T) {
	t.Parallel()
	node := known(sasl.QOPPrivacy)
	node.forge = func(m *message) {
		m.CipherOption = []*hdfspb.CipherOptionProto{{Suite: hdfspb.CipherSuiteProto_AES_CTR_NOPADDING.Enum()}}
	}
	_, conn, err := connect(t, DataTransfer{QOPs: node.qops}, "dn:9866", func(conn net.Conn) error {
		opened, err := node.accept(conn)
		if err != nil {
			return err
		}
		return expect(opened, []byte("nothing must come"))
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write(operation(t, opReadBlock, blockTokenOf(someUser, someSecret))); !errors.Is(err, sasl.ErrChallenge) {
		t.Errorf("got %v, want ErrChallenge", err)
	}
}
