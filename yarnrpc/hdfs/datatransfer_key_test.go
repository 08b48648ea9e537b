package hdfs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/hdfspb"
	"github.com/bobbin-yarn/bobbin/yarnrpc/sasl"
)

// keyMaker is a NameNode with encrypted data transfer. Each of its keys is valid for an hour.
type keyMaker struct {
	off       bool
	algorithm string

	mu    sync.Mutex // guards given
	given int
}

func (m *keyMaker) Call(_ context.Context, method string, _, response proto.Message) error {
	switch answer := response.(type) {
	case *hdfspb.GetServerDefaultsResponseProto:
		answer.ServerDefaults = serverDefaults(!m.off)
		return nil
	case *hdfspb.GetDataEncryptionKeyResponseProto:
		if m.off {
			return nil
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		m.given++
		answer.DataEncryptionKey = &hdfspb.DataEncryptionKeyProto{
			KeyId: proto.Uint32(uint32(0xffffffff)), BlockPoolId: proto.String("BP-1"), Nonce: []byte{byte(m.given)},
			EncryptionKey: fmt.Appendf(nil, "key %d", m.given), ExpiryDate: proto.Uint64(uint64(time.Now().Add(time.Hour).UnixMilli())),
		}
		if m.algorithm != "" {
			answer.DataEncryptionKey.EncryptionAlgorithm = proto.String(m.algorithm)
		}
		return nil
	default:
		return errors.New("no such method: " + method)
	}
}

func serverDefaults(encrypt bool) *hdfspb.FsServerDefaultsProto {
	return &hdfspb.FsServerDefaultsProto{
		BlockSize: proto.Uint64(1), BytesPerChecksum: proto.Uint32(2), WritePacketSize: proto.Uint32(3),
		Replication: proto.Uint32(4), FileBufferSize: proto.Uint32(5), EncryptDataTransfer: proto.Bool(encrypt),
	}
}

// user returns the user of a login with the n-th key.
func (m *keyMaker) user(n int) string {
	return (&dataEncryptionKey{ID: -1, BlockPool: "BP-1", Nonce: []byte{byte(n)}}).login().user
}

// encrypting returns a Dialer whose library has asked for the NameNode's defaults, and the answer.
func encrypting(t *testing.T, maker *keyMaker, o DataTransfer, server func(net.Conn) error) (*Dialer, *hdfspb.FsServerDefaultsProto) {
	t.Helper()
	d := serve(t, o, server)
	d.transfer = newTransfer(o, maker)
	var answer hdfspb.GetServerDefaultsResponseProto
	if err := d.transfer.caller(maker).Call(t.Context(), methodServerDefaults, nil, &answer); err != nil {
		t.Fatal(err)
	}
	return d, answer.GetServerDefaults()
}

// The library must not begin its own login. All other settings must reach it unchanged.
func TestTheLibraryHearsNothingOfEncryption(t *testing.T) {
	t.Parallel()
	for _, off := range []bool{false, true} {
		maker := &keyMaker{off: off}
		d, defaults := encrypting(t, maker, DataTransfer{}, nil)
		if defaults.GetEncryptDataTransfer() || defaults.GetFileBufferSize() != 5 {
			t.Errorf("the library gets %v", defaults)
		}
		if d.transfer.encrypted.Load() == off {
			t.Errorf("encrypted: %t of a NameNode that says %t", off, !off)
		}
		if err := d.transfer.caller(maker).Call(t.Context(), "delete", nil, nil); err == nil || !strings.Contains(err.Error(), "delete") {
			t.Errorf("another call gives %v", err)
		}
	}
}

// The key may be too old for a restarted DataNode. The writing of a file must not fail because of
// that.
func TestTheKeyIsFetchedOnceAndAgainWhenADataNodeNoLongerKnowsIt(t *testing.T) {
	t.Parallel()
	maker := &keyMaker{}
	node := &dataNode{qops: []sasl.QOP{sasl.QOPPrivacy}, secrets: map[string]string{maker.user(1): "key 1"}}
	d, _ := encrypting(t, maker, DataTransfer{}, func(conn net.Conn) error {
		opened, err := node.accept(conn)
		if errors.Is(err, errNoSuchKey) {
			return nil
		}
		if err != nil {
			return err
		}
		_, err = io.Copy(opened, opened)
		return err
	})
	echo := func() error {
		conn, err := d.DialDataNode(t.Context(), "tcp", "dn:1004") // the port does not matter
		if err != nil {
			return err
		}
		defer conn.Close()
		if _, err := conn.Write([]byte("some bytes")); err != nil {
			return err
		}
		return expect(conn, []byte("some bytes"))
	}
	for range 3 {
		if err := echo(); err != nil {
			t.Fatal(err)
		}
	}
	if maker.given != 1 || node.logins != 3 {
		t.Errorf("%d keys for %d connections, want 1 for 3", maker.given, node.logins)
	}
	node.secrets = map[string]string{maker.user(2): "key 2"}
	if err := echo(); err != nil {
		t.Fatal(err)
	}
	if want := []string{maker.user(1), maker.user(1), maker.user(1), maker.user(2)}; !slices.Equal(node.users, want) {
		t.Errorf("logged in: %q, want %q", node.users, want)
	}
	node.secrets = nil
	if err := echo(); !errors.Is(err, errUnknownKey) || maker.given != 3 {
		t.Errorf("a DataNode that knows no key: %v after %d keys", err, maker.given)
	}
}

// It would catch a read that waits minutes for a DataNode that is up and has refused the login.
func TestADataNodeThatRefusesTheLoginIsNotAway(t *testing.T) {
	t.Parallel()
	node := &dataNode{qops: []sasl.QOP{sasl.QOPPrivacy}} // a DataNode without keys
	d, _ := encrypting(t, &keyMaker{}, DataTransfer{}, func(conn net.Conn) error {
		if _, err := node.accept(conn); !errors.Is(err, errNoSuchKey) {
			return err
		}
		return nil
	})
	read := func() error {
		r := d.ReadBlock(t.Context(), Block{Length: 10, located: located(0, 10, false, "a", "b")}, 0)
		defer r.Close()
		_, err := io.ReadAll(r)
		return err
	}
	if err := read(); !errors.Is(err, errUnknownKey) || errors.Is(err, ErrUnreachable) {
		t.Errorf("the login is refused: %v", err)
	}
	d.options.RPC.Dial = func(context.Context, string, string) (net.Conn, error) { return nil, syscall.ECONNREFUSED }
	if err := read(); !errors.Is(err, syscall.ECONNREFUSED) || !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), "connect to") {
		t.Errorf("nobody is there: %v", err)
	}
}

func TestAKeyIsNotUsedOnceItHasExpired(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		maker := &keyMaker{}
		ring := &newTransfer(DataTransfer{}, maker).keys
		for n, wait := range []time.Duration{0, 59 * time.Minute, time.Minute} {
			<-time.After(wait)
			key, err := ring.get(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if want := fmt.Sprintf("key %d", 1+n/2); string(key.Key) != want {
				t.Errorf("after %s more: %s, want %s", wait, key.Key, want)
			}
		}
	})
}

// An administrator may have reasons to choose 3des, or to choose rc4.
func TestTheNameNodeChoosesTheCipher(t *testing.T) {
	t.Parallel()
	for algorithm, want := range map[string]string{"3des": "3des", "rc4": "rc4", "": "rc4"} {
		maker := &keyMaker{algorithm: algorithm}
		node := &dataNode{qops: []sasl.QOP{sasl.QOPPrivacy}, secrets: map[string]string{maker.user(1): "key 1"}}
		var got, sent bytes.Buffer
		d, _ := encrypting(t, maker, DataTransfer{}, func(conn net.Conn) error {
			_, err := node.accept(tapped{conn, &got, &sent})
			return err
		})
		if _, err := d.DialDataNode(t.Context(), "tcp", "dn:9866"); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(got.String(), `cipher="`+want+`"`) {
			t.Errorf("want %s; the client says %q", want, got.String())
		}
	}
}

func TestANameNodeThatEncryptsNothingHasNoKeys(t *testing.T) {
	t.Parallel()
	if _, err := NewNameNode(&keyMaker{off: true}).newDataEncryptionKey(t.Context()); !errors.Is(err, errNotEncrypted) {
		t.Errorf("error is %v", err)
	}
	d, _ := encrypting(t, &keyMaker{}, DataTransfer{}, nil)
	d.transfer.keys.fetch = NewNameNode(&keyMaker{off: true}).newDataEncryptionKey
	if _, err := d.DialDataNode(t.Context(), "tcp", "dn:9866"); !errors.Is(err, errNotEncrypted) {
		t.Errorf("connect: error is %v", err)
	}
}

// A key in a log opens every block.
func TestAKeyIsNeverPrinted(t *testing.T) {
	t.Parallel()
	key := &dataEncryptionKey{ID: 7, BlockPool: "BP-1", Nonce: []byte("nonce"), Key: []byte("secret")}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x", "%d"} {
		for _, value := range []any{key, *key} {
			if got := fmt.Sprintf(verb, value); got != "data encryption key 7 of BP-1" {
				t.Errorf("%s prints %s", verb, got)
			}
		}
	}
}

// A silent DataNode must not keep a program from ending.
func TestTheDialersEndEndsALoginThatWaits(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{}, 2) // two logins
	silent := func(conn net.Conn) error {
		if err := expect(conn, []byte{0xde, 0xad, 0xbe, 0xef}); err != nil {
			return err
		}
		asked <- struct{}{}
		_, err := io.Copy(io.Discard, conn)
		return err
	}
	t.Run("by a block token", func(t *testing.T) {
		d, conn, err := connect(t, DataTransfer{QOPs: []sasl.QOP{sasl.QOPIntegrity}}, "dn:9866", silent)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			<-asked
			d.Close()
		}()
		if _, err := conn.Write(operation(t, opReadBlock, blockTokenOf(someUser, someSecret))); !errors.Is(err, ErrDialerClosed) {
			t.Errorf("error is %v", err)
		}
	})
	t.Run("by the NameNode's key", func(t *testing.T) {
		d, _ := encrypting(t, &keyMaker{}, DataTransfer{}, silent)
		go func() {
			<-asked
			d.Close()
		}()
		if _, err := d.DialDataNode(t.Context(), "tcp", "dn:9866"); !errors.Is(err, ErrDialerClosed) {
			t.Errorf("error is %v", err)
		}
	})
}
