package hdfs

import (
	"bytes"
	"io"
	"net"
	"testing"

	"google.golang.org/protobuf/encoding/protodelim"

	"github.com/bobbin-yarn/bobbin/hadoopproto/hdfspb"
	"github.com/bobbin-yarn/bobbin/yarnrpc/sasl"
)

// script is a server that sends given bytes, whatever it receives.
type script struct {
	net.Conn
	says *bytes.Reader
}

func (s script) Read(b []byte) (int, error)  { return s.says.Read(b) }
func (s script) Write(b []byte) (int, error) { return len(b), nil }
func (s script) Close() error                { return nil }

// FuzzDataNodeLogin reads arbitrary messages of a DataNode. It would catch a connection
// without a login that knows the password.
func FuzzDataNodeLogin(f *testing.F) {
	server := &sasl.DigestMD5Server{URI: transferURI, QOPs: []sasl.QOP{sasl.QOPAuthentication, sasl.QOPIntegrity, sasl.QOPPrivacy}}
	aes := []*hdfspb.CipherOptionProto{{Suite: hdfspb.CipherSuiteProto_AES_CTR_NOPADDING.Enum(), InKey: make([]byte, 32), InIv: make([]byte, 16)}}
	for _, last := range []*message{
		{Status: hdfspb.DataTransferEncryptorMessageProto_SUCCESS.Enum(), Payload: []byte("rspauth=00000000000000000000000000000000"), CipherOption: aes},
		{Status: hdfspb.DataTransferEncryptorMessageProto_ERROR_UNKNOWN_KEY.Enum()},
		{Status: hdfspb.DataTransferEncryptorMessageProto_ERROR.Enum()},
	} {
		var says bytes.Buffer
		for _, m := range []*message{{Status: hdfspb.DataTransferEncryptorMessageProto_SUCCESS.Enum(), Payload: server.Challenge()}, last} {
			if _, err := protodelim.MarshalTo(&says, m); err != nil {
				f.Fatal(err)
			}
		}
		f.Add(says.Bytes())
	}
	f.Fuzz(func(t *testing.T, says []byte) {
		login := transferLogin{user: "u", secret: []byte("s"), qops: server.QOPs}
		if conn, err := login.run(script{says: bytes.NewReader(says)}); err == nil {
			t.Errorf("logged in: %T", conn)
		}
	})
}

// FuzzWrappedRead reads arbitrary bytes as wrappers. It would catch returned bytes without a
// right checksum, and memory beyond the received bytes.
func FuzzWrappedRead(f *testing.F) {
	f.Add([]byte{0, 0, 0, 0, 0, 0, 0, 17, 'x'}, true)
	f.Add(append([]byte{0, 0, 0, 17}, "x0123456789\x00\x01\x00\x00\x00\x00"...), false)
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 1}, true)
	f.Add([]byte{0, 0xff, 0xff, 0xff, 1}, false)
	f.Fuzz(func(t *testing.T, says []byte, seal bool) {
		qop := sasl.QOPIntegrity
		if seal {
			qop = sasl.QOPPrivacy
		}
		layer, _ := layers(t, qop)
		c := &wrappedConn{Conn: script{says: bytes.NewReader(says)}, layer: layer}
		got, err := io.ReadAll(c)
		if len(got) > 0 {
			t.Errorf("%d bytes were read that nobody wrapped: %v", len(got), err)
		}
		if limit := 2*len(says) + step + 512; cap(c.wrapper) > limit {
			t.Errorf("%d bytes are kept of %d", cap(c.wrapper), len(says))
		}
	})
}

// layers returns the layers of both sides after a successful login.
func layers(t testing.TB, qop sasl.QOP, ciphers ...string) (client, server sasl.Layer) {
	t.Helper()
	secret := sasl.EncodeCredential([]byte("s"))
	far := &sasl.DigestMD5Server{
		URI: transferURI, QOPs: []sasl.QOP{qop},
		Password: func(string) (string, error) { return secret, nil },
	}
	near := &sasl.DigestMD5{User: "u", Password: secret, URI: transferURI, QOPs: far.QOPs, Ciphers: ciphers}
	response, err := near.Next(far.Challenge())
	if err != nil {
		t.Fatal(err)
	}
	_, proof, server, err := far.Verify(response)
	if err != nil {
		t.Fatal(err)
	}
	if client, err = near.Finish(proof); err != nil {
		t.Fatal(err)
	}
	return client, server
}

// FuzzBlockAccess reads the token, and the token's contents, from arbitrary bytes. It would
// catch a complete operation whose result changes with further bytes.
func FuzzBlockAccess(f *testing.F) {
	for _, code := range []byte{opReadBlock, opWriteBlock, opBlockChecksum} {
		op := operation(f, code, blockTokenOf("identifier", "password"))
		f.Add(op)
		f.Add(op[:len(op)-1])
		f.Add(operation(f, code, nil))
	}
	for _, identifier := range []string{legacyIdentifier + legacyMessage, protoIdentifier + protoMessage} {
		f.Add(operation(f, opReadBlock, blockTokenOf(string(unhex(f, identifier)), "")))
	}
	f.Add([]byte{0, transferVersion, opReadBlock, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		shown, err := access(b)
		if shown == nil {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if user, told := shown.holder(); len(user)+len(told) > len(shown.token.Identifier) {
			t.Fatalf("user %q told %q by %q", user, told, shown.token.Identifier)
		}
		again, err := access(append(bytes.Clone(b), "a packet"...))
		if err != nil || again.pool != shown.pool || !bytes.Equal(again.token.Identifier, shown.token.Identifier) ||
			!bytes.Equal(again.token.Password, shown.token.Password) {
			t.Errorf("with a packet after it: %v, %v", again, err)
		}
	})
}
