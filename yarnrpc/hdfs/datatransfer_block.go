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
	"time"

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

// ErrRefused says that a DataNode refuses to send a block: it does not have the block, or has only a
// version from before the last write. If it refuses the token, the error is ErrBlockToken.
var ErrRefused = errors.New("the DataNode refuses to send the block")

// blockConn is the library's connection to a DataNode. Its errors name the DataNode. It returns no byte
// of a block before it has compared the byte's packet with the checksums. The library compares them too,
// but returns wrong bytes, and the bytes of incomplete packets. One goroutine may read while another
// writes.
//
// The first operation decides whether the answers to reads are checked. Later operations must be of its
// kind; the library makes only one on each connection.
type blockConn struct {
	net.Conn
	address string
	noLogin bool // there is no login on this connection
	// answered is told once what the DataNodes have answered to OpWriteBlock, and for how long that has taken. An error says that
	// they refuse the block, or have not answered. Nil: nobody asks. Only the goroutine that reads uses it.
	answered func(took time.Duration, err error)

	writing sync.Mutex // guards begun, asked, lost
	asked   time.Time  // when the first operation began
	begun   []byte     // written part of version and code of the first operation
	lost    bool       // a packet of a block could not be sent

	reading sync.Mutex // guards what follows
	block   blockStream
	answer  []byte // as received of the answer to OpWriteBlock, while answered waits for it
	heard   bool   // the DataNode has sent something
	failed  error
}

func newBlockConn(conn net.Conn, address string) *blockConn {
	return &blockConn{Conn: conn, address: address, block: blockStream{from: conn}}
}

// Write sends b. The library ends a block's goroutines after the last packet and when it reads a failed
// acknowledgement, but not if it cannot send the last packet. So Write reports packets as sent even if
// the connection is lost. The only exception is the packet whose sending first fails, if it is a full
// one: it is not the last of its block, and its error makes the library stop writing the file.
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
		c.Conn.Close() // so that the library's wait for the acknowledgement ends
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

// fullPacket is less than the length of a packet that is not the last of its block. The library sends
// each packet with one Write.
const fullPacket = 64 << 10

// note looks at written bytes. It returns whether they are a packet of a block, and whether a packet was
// lost.
func (c *blockConn) note(b []byte) (packet, lost bool) {
	c.writing.Lock()
	defer c.writing.Unlock()
	if len(c.begun) == 0 {
		c.asked = time.Now()
	}
	packet = c.writes()
	c.begun = append(c.begun, b[:min(len(b), opPrefix-len(c.begun))]...)
	return packet, c.lost
}

// writes reports whether the first operation is a whole OpWriteBlock. The caller holds writing.
func (c *blockConn) writes() bool {
	return bytes.Equal(c.begun, []byte{0, transferVersion, opWriteBlock})
}

// Read reads received bytes, or checked bytes of a block. A failure ends the connection. A refusal does
// too, because the library would leave it open.
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
	c.listen(b[:n], err)
	c.took(n > 0, err)
	return n, c.failed
}

// errNotReady says that the DataNodes do not take a new block.
var errNotReady = errors.New("the DataNodes are not ready for the block")

// listen looks at what was read, until that is the whole answer to OpWriteBlock: BlockOpResponseProto, after its length as a varint.
func (c *blockConn) listen(b []byte, err error) {
	if c.answered == nil {
		return
	}
	c.writing.Lock()
	writes, asked := c.writes(), c.asked
	c.writing.Unlock()
	if !writes {
		return
	}
	var answer hdfspb.BlockOpResponseProto
	c.answer = append(c.answer, b...)
	decoded := protodelim.UnmarshalOptions{MaxSize: maxAnswer}.UnmarshalFrom(bytes.NewReader(c.answer), &answer)
	switch part := errors.Is(decoded, io.EOF) || errors.Is(decoded, io.ErrUnexpectedEOF); {
	case part && err == nil:
		return
	case part:
		decoded = err
	case decoded == nil && answer.GetStatus() != hdfspb.Status_SUCCESS:
		decoded = fmt.Errorf("%w: %s, it says %q", errNotReady, answer.GetStatus(), answer.GetMessage())
	}
	c.answered(time.Since(asked), decoded)
	c.answered, c.answer = nil, nil
}

// accepted reads the answer to OpReadBlock. A refusal is an error. Do not mix accepted and packet with
// Read.
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

// packet returns the next packet of the accepted block: its offset in the block, and its data, which is
// valid until the next call. A packet without data is the block's end.
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

// took records the result of a read. c.reading is held.
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

// explain adds why a DataNode may have closed the connection at the first operation: a DataNode that
// requires a login takes the operation for a bad login message.
func (c *blockConn) explain(err error) error {
	if c.noLogin && !c.heard && hungUp(err) {
		return fmt.Errorf("%w: perhaps the DataNode requires a login: %w", err, ErrOtherProtection)
	}
	return err
}

// hungUp reports whether err says that the other side has ended a conn.
func hungUp(err error) bool {
	return errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET)
}

// blockStream reads the answers to OpReadBlock (BlockSender, PacketReceiver), and returns them
// in checked pieces:
//
//	length: varint │ BlockOpResponseProto, which has the kind of checksums
//
// Unless that is a refusal, packets follow. The last one is marked:
//
//	length, of itself, checksums and data: 4 │ length of header: 2 │ PacketHeaderProto │ checksums │ data
type blockStream struct {
	from    io.Reader
	sums    *checksums // of the next packets; nil: an answer is next
	refusal error      // in the last answer; nil: a block follows the answer
	piece   []byte     // as received
	rest    []byte     // of piece, not returned yet
	data    []byte     // the block's data in piece, if that is a packet
	at      int64      // where data begins in the block
}

const (
	// maxAnswer bounds a DataNode's answer before a block, in bytes.
	maxAnswer = 64 << 10
	// maxPacket bounds checksums and data of a packet, in bytes
	// (dfs.data.transfer.max.packet.size). DataNodes send 64 KiB of data in each.
	maxPacket = 16 << 20
)

// errPacket is wrapped by errors about bytes that are not an answer to OpReadBlock.
var errPacket = errors.New("not a packet of a block")

// Read returns checked bytes. After an error the rest cannot be read.
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

// size returns the length of the checksums for data bytes.
func (c *checksums) size(data int) int {
	if c.table == nil {
		return 0
	}
	return (data + c.chunk - 1) / c.chunk * crc32.Size
}

// fit reports whether sums, of the right size, match data.
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
