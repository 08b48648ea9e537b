package hdfs

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"

	"github.com/bobbin-yarn/bobbin/hadoopproto/hdfspb"
	"github.com/bobbin-yarn/bobbin/yarnrpc/sasl"
)

const (
	// maxWrapper bounds a received wrapper, in bytes. DataNodes put a packet into each, and
	// accept packets of at most 16 MB (dfs.data.transfer.max.packet.size).
	maxWrapper = 17 << 20
	// step bounds the memory that is allocated before its bytes have come, and the bytes
	// that are encrypted at a time.
	step = 64 << 10
)

// wrappedConn carries bytes in SASL's wrappers, each after its length (SaslInputStream,
// SaslOutputStream). A direction that has failed stays failed: after a changed, lost or
// repeated wrapper no byte can be trusted. One goroutine may read while another writes.
type wrappedConn struct {
	net.Conn
	layer sasl.Layer

	writing  sync.Mutex // guards frame, writeErr and the order of wrappers
	frame    []byte
	writeErr error

	reading sync.Mutex // guards wrapper, plain and readErr
	wrapper []byte     // as received, or unwrapped in place
	plain   []byte     // of wrapper, not read yet
	readErr error
}

func (c *wrappedConn) Write(b []byte) (n int, err error) {
	c.writing.Lock()
	defer c.writing.Unlock()
	for n < len(b) && c.writeErr == nil {
		part := b[n:min(len(b), n+c.layer.MaxMessage())]
		if c.writeErr = c.writeWrapped(part); c.writeErr == nil {
			n += len(part)
		}
	}
	return n, c.writeErr
}

func (c *wrappedConn) writeWrapped(part []byte) (err error) {
	var head [4]byte
	if c.frame, err = c.layer.AppendWrap(append(c.frame[:0], head[:]...), part); err != nil {
		return err
	}
	binary.BigEndian.PutUint32(c.frame, uint32(len(c.frame)-len(head)))
	_, err = c.Conn.Write(c.frame)
	return err
}

func (c *wrappedConn) Read(b []byte) (int, error) {
	c.reading.Lock()
	defer c.reading.Unlock()
	for len(c.plain) == 0 && c.readErr == nil {
		c.plain, c.readErr = c.readWrapped()
	}
	if len(c.plain) == 0 {
		return 0, c.readErr
	}
	n := copy(b, c.plain)
	c.plain = c.plain[n:]
	return n, nil
}

func (c *wrappedConn) readWrapped() (plain []byte, err error) {
	var head [4]byte
	if _, err := io.ReadFull(c.Conn, head[:]); err != nil {
		return nil, err
	}
	length := binary.BigEndian.Uint32(head[:])
	if length > maxWrapper {
		return nil, fmt.Errorf("%w: wrapper of %d bytes, more than %d", sasl.ErrTampered, length, maxWrapper)
	}
	if c.wrapper, err = appendRead(c.wrapper[:0], c.Conn, int(length)); err != nil {
		return nil, err
	}
	return c.layer.Unwrap(c.wrapper)
}

// appendRead adds n bytes of r to b. It allocates memory for the bytes that have come and
// one more step.
func appendRead(b []byte, r io.Reader, n int) ([]byte, error) {
	for end := len(b) + n; len(b) < end; {
		part := min(end-len(b), max(step, cap(b)-len(b)))
		b = slices.Grow(b, part)
		got, err := io.ReadFull(r, b[len(b):len(b)+part])
		b = b[:len(b)+got]
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return b, err
		}
	}
	return b, nil
}

// cipherConn carries bytes under AES in counter mode (CryptoInputStream,
// CryptoOutputStream). AES hides the bytes but does not reveal changes: only the checksums
// of blocks do. A direction that has failed stays failed, because its counter is unknown.
// One goroutine may read while another writes.
type cipherConn struct {
	net.Conn

	writing  sync.Mutex // guards out, sealed and writeErr
	out      cipher.Stream
	sealed   []byte
	writeErr error

	reading sync.Mutex // guards in
	in      cipher.Stream
}

// newCipherConn unwraps the keys that the DataNode has chosen.
func newCipherConn(conn net.Conn, layer sasl.Layer, option *hdfspb.CipherOptionProto) (*cipherConn, error) {
	if suite := option.GetSuite(); suite != hdfspb.CipherSuiteProto_AES_CTR_NOPADDING {
		return nil, fmt.Errorf("%w: the DataNode chose cipher suite %v, which was not offered", sasl.ErrChallenge, suite)
	}
	// In and out are seen from the DataNode. The keys are wrapped in this order.
	out, err := keyStream(layer, option.GetInKey(), option.GetInIv())
	if err != nil {
		return nil, err
	}
	in, err := keyStream(layer, option.GetOutKey(), option.GetOutIv())
	if err != nil {
		return nil, err
	}
	return &cipherConn{Conn: conn, out: out, in: in}, nil
}

func keyStream(layer sasl.Layer, wrapped, iv []byte) (cipher.Stream, error) {
	key, err := layer.Unwrap(wrapped)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", sasl.ErrChallenge, err)
	}
	if len(iv) != block.BlockSize() {
		return nil, fmt.Errorf("%w: initial counter of %d bytes", sasl.ErrChallenge, len(iv))
	}
	return cipher.NewCTR(block, iv), nil
}

func (c *cipherConn) Write(b []byte) (n int, err error) {
	c.writing.Lock()
	defer c.writing.Unlock()
	for n < len(b) && c.writeErr == nil {
		part := b[n:min(len(b), n+step)]
		c.sealed = slices.Grow(c.sealed[:0], len(part))[:len(part)]
		c.out.XORKeyStream(c.sealed, part)
		if _, c.writeErr = c.Conn.Write(c.sealed); c.writeErr == nil {
			n += len(part)
		}
	}
	return n, c.writeErr
}

func (c *cipherConn) Read(b []byte) (int, error) {
	c.reading.Lock()
	defer c.reading.Unlock()
	n, err := c.Conn.Read(b)
	c.in.XORKeyStream(b[:n], b[:n])
	return n, err
}
