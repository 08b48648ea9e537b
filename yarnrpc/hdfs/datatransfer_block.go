package hdfs

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"sync"
	"syscall"

	"google.golang.org/protobuf/encoding/protodelim"
	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/hdfspb"
)

// ErrPipeline says that the connection to a DataNode broke while a file was written. The
// library's Close of the file ends its goroutines for the block. Close fails because not all
// packets were acknowledged.
var ErrPipeline = errors.New("the block was not written completely")

// ErrChecksum says that a block differs from the bytes that were written. The library then reads
// from another DataNode, if there is one.
var ErrChecksum = errors.New("the block does not match its checksums")

// ErrRefused says that a DataNode refuses to send a block: it does not have the block, or has it
// from before the last write. If it refuses the token, the error is ErrBlockToken.
var ErrRefused = errors.New("the DataNode refuses to send the block")

// blockConn is what the library takes for a connection to a DataNode. Its errors say which
// DataNode. Of a block that is read no byte is given out before its packet was compared with
// the checksums: the library, too, compares them, but passes on what is wrong, and what it
// got of a packet that broke off. One goroutine may read while another writes.
//
// The first operation says whether it is reads that are answered. Others may follow if they
// are of its kind; the library makes one on each connection.
type blockConn struct {
	net.Conn
	address string
	noLogin bool // none was made or will be

	writing sync.Mutex // guards begun, lost
	begun   []byte     // version and code of the first operation, as far as they are written
	lost    bool       // a packet of a block could not be sent

	reading sync.Mutex // guards what follows
	block   blockStream
	heard   bool // the DataNode has said something
	failed  error
}

func newBlockConn(conn net.Conn, address string) *blockConn {
	return &blockConn{Conn: conn, address: address, block: blockStream{from: conn}}
}

// Write sends b. The library ends a block's goroutines after its last packet, and with the
// error of the acknowledgements, but leaves them where that packet cannot be sent. So packets
// seem to be sent when the connection is lost, but for the first full one: these come
// before the end of a block, and the file must not be written on for nothing.
func (c *blockConn) Write(b []byte) (int, error) {
	packet, lost := c.note(b)
	if lost {
		return len(b), nil
	}
	n, err := c.Conn.Write(b)
	switch {
	case err == nil:
		return n, nil
	case packet:
		c.Conn.Close() // the acknowledgement that is missing must be found to be
		c.writing.Lock()
		c.lost = true
		c.writing.Unlock()
		if len(b) < fullPacket {
			return len(b), nil
		}
		return n, fmt.Errorf("write to DataNode %s: %w: %w", c.address, ErrPipeline, err)
	default:
		return n, fmt.Errorf("write to DataNode %s: %w", c.address, err)
	}
}

// fullPacket is less than the length of a packet of a block that is not its end. The
// library sends each with one Write.
const fullPacket = 64 << 10

// note takes in what is written: whether it is a packet of a block, and whether one was lost.
func (c *blockConn) note(b []byte) (packet, lost bool) {
	c.writing.Lock()
	defer c.writing.Unlock()
	packet = bytes.Equal(c.begun, []byte{0, transferVersion, opWriteBlock})
	c.begun = append(c.begun, b[:min(len(b), opPrefix-len(c.begun))]...)
	return packet, c.lost
}

// Read reads what has come, or of a block what was found right. A failure ends the
// connection, and so does a refusal: the library would leave it open.
func (c *blockConn) Read(b []byte) (n int, err error) {
	c.reading.Lock()
	defer c.reading.Unlock()
	if c.failed != nil {
		return 0, c.failed
	}
	if c.readsBlocks() {
		n, err = c.block.Read(b)
	} else {
		n, err = c.Conn.Read(b)
	}
	c.took(n > 0, err)
	return n, c.failed
}

// accepted reads the answer to OpReadBlock, of which a refusal is an error. Whoever uses it, and
// packet, does not use Read.
func (c *blockConn) accepted() error {
	c.reading.Lock()
	defer c.reading.Unlock()
	if c.failed != nil {
		return c.failed
	}
	err := c.block.answer()
	if err == nil {
		err = c.block.refusal
	}
	c.took(err == nil, err)
	return c.failed
}

// packet gives the next packet of the block that was accepted: where it begins in the block, and
// its data, which is valid until the next call. No data is the block's end.
func (c *blockConn) packet() (at int64, data []byte, err error) {
	c.reading.Lock()
	defer c.reading.Unlock()
	if c.failed != nil || c.block.sums == nil {
		return 0, nil, c.failed
	}
	err = c.block.packet()
	c.took(err == nil, err)
	return c.block.at, c.block.data, c.failed
}

// took notes what came of a read. c.reading is held.
func (c *blockConn) took(some bool, err error) {
	c.heard = c.heard || some
	if err != nil {
		c.failed = fmt.Errorf("read from DataNode %s: %w", c.address, c.explain(err))
	}
	if c.failed != nil || c.block.refusal != nil && len(c.block.rest) == 0 {
		c.Conn.Close()
	}
}

func (c *blockConn) readsBlocks() bool {
	c.writing.Lock()
	defer c.writing.Unlock()
	return bytes.Equal(c.begun, []byte{0, transferVersion, opReadBlock})
}

// explain says why a DataNode may have hung up at the first operation: where it wants a
// login, it takes the operation for one.
func (c *blockConn) explain(err error) error {
	if c.noLogin && !c.heard && hungUp(err) {
		return fmt.Errorf("%w: perhaps the DataNode requires a login: %w", err, ErrOtherProtection)
	}
	return err
}

// hungUp is the error of a conn that the other side has ended.
func hungUp(err error) bool {
	return errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET)
}

// blockStream reads the answers to OpReadBlock (BlockSender, PacketReceiver), and gives them
// out in pieces that were checked:
//
//	length: varint │ BlockOpResponseProto, which has the kind of checksums
//
// and unless that is a refusal, packets, the last of which says that it is:
//
//	length, of itself, checksums and data: 4 │ length of header: 2 │ PacketHeaderProto │ checksums │ data
type blockStream struct {
	from    io.Reader
	sums    *checksums // of the packets that come; nil: an answer comes
	refusal error      // what the last answer was; nil: a block
	piece   []byte     // as it came
	rest    []byte     // of it, not given out yet
	data    []byte     // of the piece, where that is a packet: what it has of the block
	at      int64      // where data begins in the block
}

const (
	// maxAnswer bounds what a DataNode says before a block, in bytes.
	maxAnswer = 64 << 10
	// maxPacket bounds checksums and data of a packet, in bytes
	// (dfs.data.transfer.max.packet.size). DataNodes send 64 KiB of data in each.
	maxPacket = 16 << 20
)

// errPacket is in the error for what is not the answer to OpReadBlock.
var errPacket = errors.New("not a packet of a block")

// Read reads what was checked. After an error the rest cannot be read.
func (s *blockStream) Read(b []byte) (int, error) {
	for len(s.rest) == 0 {
		next := s.answer
		if s.sums != nil {
			next = s.packet
		}
		if err := next(); err != nil {
			return 0, err
		}
		s.rest = s.piece
	}
	n := copy(b, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

func (s *blockStream) answer() (err error) {
	var answer hdfspb.BlockOpResponseProto
	raw := bytes.NewBuffer(s.piece[:0])
	options := protodelim.UnmarshalOptions{MaxSize: maxAnswer}
	if err := options.UnmarshalFrom(unbuffered{io.TeeReader(s.from, raw)}, &answer); err != nil {
		return err
	}
	s.piece, s.refusal = raw.Bytes(), nil
	switch status := answer.GetStatus(); status {
	case hdfspb.Status_SUCCESS:
		s.sums, err = checksumsOf(answer.GetReadOpChecksumInfo().GetChecksum())
	case hdfspb.Status_ERROR_ACCESS_TOKEN:
		s.refusal = fmt.Errorf("%w: it says %q", ErrBlockToken, answer.GetMessage())
	default:
		s.refusal = fmt.Errorf("%w: %s, it says %q", ErrRefused, status, answer.GetMessage())
	}
	return err
}

func (s *blockStream) packet() (err error) {
	const itself, lengths = 4, 4 + 2
	if s.piece, err = appendRead(s.piece[:0], s.from, lengths); err != nil {
		return err
	}
	body := int(binary.BigEndian.Uint32(s.piece)) - itself
	begin := lengths + int(binary.BigEndian.Uint16(s.piece[itself:]))
	if body < 0 || body > maxPacket {
		return fmt.Errorf("%w: %d bytes, not between 0 and %d", errPacket, body, maxPacket)
	}
	if s.piece, err = appendRead(s.piece, s.from, begin-lengths+body); err != nil {
		return err
	}
	var header hdfspb.PacketHeaderProto
	if err := proto.Unmarshal(s.piece[lengths:begin], &header); err != nil {
		return fmt.Errorf("%w: %w", errPacket, err)
	}
	length := int(header.GetDataLen())
	if length < 0 || s.sums.size(length)+length != body {
		return fmt.Errorf("%w: %d bytes of checksums and data for %d bytes of the block", errPacket, body, length)
	}
	sums, data := s.piece[begin:len(s.piece)-length], s.piece[len(s.piece)-length:]
	if !s.sums.fit(sums, data) {
		return fmt.Errorf("%w: in the %d bytes from offset %d", ErrChecksum, length, header.GetOffsetInBlock())
	}
	s.at, s.data = header.GetOffsetInBlock(), data
	if header.GetLastPacketInBlock() {
		s.sums = nil
	}
	return nil
}

// checksums are those of a block's chunks.
type checksums struct {
	chunk int          // length of each but the last of a packet, in bytes
	table *crc32.Table // nil: there are none
}

func checksumsOf(p *hdfspb.ChecksumProto) (*checksums, error) {
	c := &checksums{chunk: int(p.GetBytesPerChecksum())}
	switch p.GetType() {
	case hdfspb.ChecksumTypeProto_CHECKSUM_NULL:
	case hdfspb.ChecksumTypeProto_CHECKSUM_CRC32:
		c.table = crc32.IEEETable
	case hdfspb.ChecksumTypeProto_CHECKSUM_CRC32C:
		c.table = crc32.MakeTable(crc32.Castagnoli)
	}
	if c.chunk < 1 {
		return nil, fmt.Errorf("%w: one checksum for %d bytes", errPacket, c.chunk)
	}
	return c, nil
}

// size is the length of the checksums of so many bytes.
func (c *checksums) size(data int) int {
	if c.table == nil {
		return 0
	}
	return (data + c.chunk - 1) / c.chunk * crc32.Size
}

// fit says whether sums, of the size for data, were made of it.
func (c *checksums) fit(sums, data []byte) bool {
	for ; len(sums) > 0; sums = sums[crc32.Size:] {
		chunk := data[:min(len(data), c.chunk)]
		if crc32.Checksum(chunk, c.table) != binary.BigEndian.Uint32(sums) {
			return false
		}
		data = data[len(chunk):]
	}
	return true
}
