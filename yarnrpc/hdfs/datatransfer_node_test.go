package hdfs

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"

	"google.golang.org/protobuf/encoding/protodelim"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/commonpb"
	"github.com/bobbin-yarn/bobbin/hadoopproto/hdfspb"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/sasl"
)

type message = hdfspb.DataTransferEncryptorMessageProto

// blockTokenOf returns a block token as NameNodes issue them.
func blockTokenOf(identifier, password string) *creds.Token {
	return &creds.Token{Identifier: []byte(identifier), Password: []byte(password), Kind: "HDFS_BLOCK_TOKEN"}
}

// Identifiers of block tokens as BlockTokenIdentifier of Hadoop 3.4.3 writes them, in both
// formats, for alice, to read and write block 2^40 of BP-1 on storage DS-1.
const (
	legacyIdentifier = "8a01a3185c5000fb00000005616c6963650000000442502d318a01000000000002045245414405575249544501044449534b010000000444532d31"
	protoIdentifier  = "0880a0f1c2b13410fbffffff0f1a05616c696365220442502d3128808080808020300130023801420444532d31"
	// The bytes after it, if the message is "auth-conf".
	legacyMessage = "09617574682d636f6e66"
	protoMessage  = "4a09617574682d636f6e66"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// operation returns the beginning of an operation, as the library sends it.
func operation(t testing.TB, code byte, token *creds.Token) []byte {
	t.Helper()
	base := &hdfspb.BaseHeaderProto{
		Block: &hdfspb.ExtendedBlockProto{PoolId: proto.String("BP-1"), BlockId: proto.Uint64(1), GenerationStamp: proto.Uint64(2)},
	}
	if token != nil {
		base.Token = &commonpb.TokenProto{
			Identifier: token.Identifier, Password: token.Password, Kind: proto.String(token.Kind), Service: proto.String(""),
		}
	}
	var header proto.Message = base
	if code != opBlockChecksum {
		header = &hdfspb.ClientOperationHeaderProto{BaseHeader: base, ClientName: proto.String("client")}
	}
	first, err := proto.Marshal(header)
	if err != nil {
		t.Fatal(err)
	}
	body := protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), first)
	body = protowire.AppendVarint(protowire.AppendTag(body, 2, protowire.VarintType), 0) // an offset
	return protowire.AppendBytes([]byte{0, transferVersion, code}, body)
}

// dataNode is a DataNode's login. The test handles what comes after it.
type dataNode struct {
	qops    []sasl.QOP
	aes     bool
	secrets map[string]string // by user
	deaf    bool
	// forge changes the last answer before it is sent.
	forge func(*message)

	mu     sync.Mutex // guards what follows
	logins int
	users  []string
}

// accept logs a client in, and returns the connection for what follows.
func (n *dataNode) accept(conn net.Conn) (net.Conn, error) {
	var magic uint32
	if err := binary.Read(conn, binary.BigEndian, &magic); err != nil {
		return nil, err
	}
	if magic != loginMagic {
		return nil, fmt.Errorf("magic %x", magic)
	}
	var hello, response message
	if err := protodelim.UnmarshalFrom(unbuffered{conn}, &hello); err != nil {
		return nil, err
	}
	if n.deaf {
		return nil, io.EOF
	}
	n.mu.Lock()
	n.logins++
	n.mu.Unlock()
	server := &sasl.DigestMD5Server{URI: transferURI, QOPs: n.qops, Password: n.password}
	if told := hello.GetHandshakeSecret(); told != nil {
		if told.GetBpid() != "BP-1" {
			return nil, fmt.Errorf("the token is of pool %q", told.GetBpid())
		}
		server.QOPs = []sasl.QOP{sasl.QOP(told.GetSecret())}
	}
	challenge := &message{Status: hdfspb.DataTransferEncryptorMessageProto_SUCCESS.Enum(), Payload: server.Challenge()}
	if err := say(conn, challenge); err != nil {
		return nil, err
	}
	if err := protodelim.UnmarshalFrom(unbuffered{conn}, &response); err != nil {
		return nil, err
	}
	user, proof, layer, err := server.Verify(response.GetPayload())
	if err != nil {
		return nil, errors.Join(err, refuse(conn, err))
	}
	n.mu.Lock()
	n.users = append(n.users, user)
	n.mu.Unlock()
	last := &message{Status: hdfspb.DataTransferEncryptorMessageProto_SUCCESS.Enum(), Payload: proof}
	opened := conn
	switch {
	case layer != nil && n.aes && len(response.GetCipherOption()) > 0:
		if opened, err = chooseCipher(conn, layer, last); err != nil {
			return nil, err
		}
	case layer != nil:
		opened = &wrappedConn{Conn: conn, layer: layer}
	}
	if n.forge != nil {
		n.forge(last)
	}
	return opened, say(conn, last)
}

var errNoSuchKey = errors.New("no such key")

func (n *dataNode) password(user string) (string, error) {
	secret, there := n.secrets[user]
	if !there {
		return "", errNoSuchKey
	}
	return sasl.EncodeCredential([]byte(secret)), nil
}

// chooseCipher writes the server's choice into its last message.
func chooseCipher(conn net.Conn, layer sasl.Layer, last *message) (net.Conn, error) {
	stream := func() (wrapped, iv []byte, s cipher.Stream, err error) {
		key := make([]byte, 32)
		iv = make([]byte, aes.BlockSize)
		rand.Read(key) // never fails
		rand.Read(iv)
		block, err := aes.NewCipher(key)
		if err != nil {
			return nil, nil, nil, err
		}
		wrapped, err = layer.AppendWrap(nil, key)
		return wrapped, iv, cipher.NewCTR(block, iv), err
	}
	inKey, inIV, in, err := stream()
	if err != nil {
		return nil, err
	}
	outKey, outIV, out, err := stream()
	last.CipherOption = []*hdfspb.CipherOptionProto{{
		Suite: hdfspb.CipherSuiteProto_AES_CTR_NOPADDING.Enum(),
		InKey: inKey, InIv: inIV, OutKey: outKey, OutIv: outIV,
	}}
	return &cipherConn{Conn: conn, in: in, out: out}, err
}

func refuse(conn net.Conn, reason error) error {
	status := hdfspb.DataTransferEncryptorMessageProto_ERROR
	if errors.Is(reason, errNoSuchKey) {
		status = hdfspb.DataTransferEncryptorMessageProto_ERROR_UNKNOWN_KEY
	}
	return say(conn, &message{Status: status.Enum(), Message: proto.String(reason.Error())})
}

func say(conn net.Conn, m *message) error {
	_, err := protodelim.MarshalTo(conn, m)
	return err
}

// connect returns a connection to a server in a goroutine, for which the test waits.
func connect(t *testing.T, o DataTransfer, address string, server func(net.Conn) error) (*Dialer, net.Conn, error) {
	t.Helper()
	d := serve(t, o, server)
	conn, err := d.DialDataNode(t.Context(), "tcp", address)
	return d, conn, err
}

// serve makes a Dialer. Each of its connections ends at a server in its own goroutine.
func serve(t *testing.T, o DataTransfer, server func(net.Conn) error) *Dialer {
	t.Helper()
	var servers sync.WaitGroup
	d := NewDialer(DialerOptions{DataTransfer: o, RPC: yarnrpc.Options{Dial: func(context.Context, string, string) (net.Conn, error) {
		near, far := net.Pipe()
		servers.Go(func() {
			defer far.Close()
			if err := server(far); err != nil && !gone(err) {
				t.Errorf("DataNode: %v", err)
			}
		})
		return near, nil
	}}})
	t.Cleanup(func() {
		d.Close()
		servers.Wait()
	})
	return d
}

// gone reports whether a client has left.
func gone(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe) || errors.Is(err, io.ErrUnexpectedEOF)
}
