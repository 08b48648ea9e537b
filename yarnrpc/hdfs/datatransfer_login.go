package hdfs

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protodelim"
	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/hdfspb"
	"github.com/bobbin-yarn/bobbin/yarnrpc/sasl"
)

// The login at a DataNode (SaslDataTransferClient.doSaslHandshake); each message is a
// DataTransferEncryptorMessageProto after its varint length:
//
//	client → DataNode   DE AD BE EF, a message that is empty or has the protection in the token
//	DataNode → client   challenge
//	client → DataNode   response; AES, if it is to be offered and there may be privacy
//	DataNode → client   proof; AES, if offered and known to the DataNode, with keys that SASL encrypts
//
// Then come operations and packets: as they are, in SASL's wrappers, or encrypted with AES.
const (
	loginMagic = 0xDEADBEEF
	// transferURI is the service of every DataNode (SaslParticipant).
	transferURI = "hdfs/0"
	// maxLoginMessage bounds a DataNode's messages during the login, in bytes.
	maxLoginMessage = 16 << 10
)

// transferLogin is the login over one connection.
type transferLogin struct {
	user   string
	secret []byte
	qops   []sasl.QOP
	cipher string // SASL's cipher; empty: any, in package sasl's order
	aes    bool   // use AES instead of cipher, if the DataNode has it
	// told is the protection that the NameNode has put into the token of pool, if any.
	told []byte
	pool string
}

// run logs in, and returns the connection for what follows. After an error conn is unusable, and the caller
// closes it. Closing conn ends a run.
func (l transferLogin) run(conn net.Conn) (net.Conn, error) {
	digest := &sasl.DigestMD5{
		User: l.user, Password: sasl.EncodeCredential(l.secret),
		URI: transferURI, QOPs: l.qops,
	}
	if l.cipher != "" {
		digest.Ciphers = []string{l.cipher}
	}
	magic := binary.BigEndian.AppendUint32(nil, loginMagic)
	hello := &hdfspb.DataTransferEncryptorMessageProto{Payload: []byte{}}
	if len(l.told) > 0 {
		hello.HandshakeSecret = &hdfspb.HandshakeSecretProto{Secret: l.told, Bpid: proto.String(l.pool)}
	}
	challenge, err := exchange(conn, magic, hello)
	if hungUp(err) { // a DataNode without logins takes loginMagic for a version that it does not know
		return nil, fmt.Errorf("%w: perhaps the DataNode expects no login: %w", err, ErrOtherProtection)
	}
	if err != nil {
		return nil, err
	}
	response, err := digest.Next(challenge.GetPayload())
	if err != nil {
		return nil, err
	}
	answer := &hdfspb.DataTransferEncryptorMessageProto{Payload: response}
	if l.aes && slices.Contains(l.qops, sasl.QOPPrivacy) {
		answer.CipherOption = []*hdfspb.CipherOptionProto{{Suite: hdfspb.CipherSuiteProto_AES_CTR_NOPADDING.Enum()}}
	}
	proof, err := exchange(conn, nil, answer)
	if err != nil {
		return nil, err
	}
	layer, err := digest.Finish(proof.GetPayload())
	if err != nil {
		return nil, err
	}
	if chosen := proof.GetCipherOption(); len(chosen) > len(answer.GetCipherOption()) {
		return nil, fmt.Errorf("%w: the DataNode chose cipher suite %v, which was not offered", sasl.ErrChallenge, chosen[0].GetSuite())
	}
	return protect(conn, layer, proof.GetCipherOption())
}

// protect returns the protected connection. options are the ciphers that the DataNode has chosen.
func protect(conn net.Conn, layer sasl.Layer, options []*hdfspb.CipherOptionProto) (net.Conn, error) {
	switch qop := sasl.Protects(layer); {
	case len(options) > 0 && qop != sasl.QOPPrivacy:
		return nil, fmt.Errorf("%w: the DataNode chose a cipher for protection %s", sasl.ErrChallenge, qop)
	case len(options) > 0:
		return newCipherConn(conn, layer, options[0])
	case layer != nil:
		return &wrappedConn{Conn: conn, layer: layer}, nil
	default:
		return conn, nil
	}
}

// exchange sends a message, after the bytes of before, and reads the answer.
func exchange(conn net.Conn, before []byte, m *hdfspb.DataTransferEncryptorMessageProto) (*hdfspb.DataTransferEncryptorMessageProto, error) {
	m.Status = hdfspb.DataTransferEncryptorMessageProto_SUCCESS.Enum()
	out := bytes.NewBuffer(before)
	if _, err := protodelim.MarshalTo(out, m); err != nil {
		return nil, err
	}
	if _, err := conn.Write(out.Bytes()); err != nil {
		return nil, err
	}
	var reply hdfspb.DataTransferEncryptorMessageProto
	options := protodelim.UnmarshalOptions{MaxSize: maxLoginMessage}
	if err := options.UnmarshalFrom(unbuffered{conn}, &reply); err != nil {
		return nil, err
	}
	return &reply, refusal(&reply)
}

// refusal returns the error in a DataNode's answer; nil: the answer is no refusal.
func refusal(reply *hdfspb.DataTransferEncryptorMessageProto) error {
	message, _, _ := strings.Cut(reply.GetMessage(), "\n")
	switch {
	case reply.GetStatus() == hdfspb.DataTransferEncryptorMessageProto_SUCCESS:
		return nil
	case reply.GetStatus() == hdfspb.DataTransferEncryptorMessageProto_ERROR_UNKNOWN_KEY:
		return fmt.Errorf("%w: it says %q", errUnknownKey, message)
	case reply.GetAccessTokenError():
		return fmt.Errorf("%w: it says %q", ErrBlockToken, message)
	default:
		return fmt.Errorf("%w: it says %q", errRefused, message)
	}
}

// errRefused is wrapped by the error if a DataNode gives no more specific reason.
var errRefused = errors.New("the DataNode refused the login")

// unbuffered reads no byte beyond a message, because other code reads what follows.
type unbuffered struct{ io.Reader }

// ReadByte reads the next byte.
func (u unbuffered) ReadByte() (byte, error) {
	var one [1]byte
	_, err := io.ReadFull(u.Reader, one[:])
	return one[0], err
}
