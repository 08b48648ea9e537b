package hdfsfake

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"time"

	"google.golang.org/protobuf/encoding/protodelim"
	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/hdfspb"
)

// The data transfer protocol (DataTransferProtocol, Op).
const (
	transferVersion  = 28
	opWriteBlock     = 80
	opReadBlock      = 81
	bytesPerChecksum = 512      // dfs.bytes-per-checksum
	packetBytes      = 64 << 10 // of data
	packetPrefix     = 6
	checksumBytes    = 4
	maxPacketBytes   = 16 << 20
)

var errProtocol = errors.New("hdfsfake: not the data transfer protocol")

// errEnded ends a connection without an error.
var errEnded = errors.New("hdfsfake: nothing follows")

// transfer answers operations on a connection to a DataNode. It closes the connection after one
// operation, unless a client says that it has read a block to its end.
func (f *Fake) transfer(dataNode string, conn net.Conn) {
	in := bufio.NewReader(conn)
	for f.operation(dataNode, conn, in) == nil { // otherwise the client has left, or sees the end of the connection
		_ = conn.SetReadDeadline(time.Now().Add(f.config.KeepAlive)) // a pipe supports deadlines
		if _, err := in.Peek(1); err != nil {
			break
		}
		_ = conn.SetReadDeadline(time.Time{})
	}
	conn.Close()
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.conns, conn)
}

// operation reads a client's operation and executes it:
//
//	version: 2 │ code: 1 │ length: varint │ message
func (f *Fake) operation(dataNode string, conn net.Conn, in *bufio.Reader) error {
	var prefix [3]byte
	if _, err := io.ReadFull(in, prefix[:]); err != nil {
		return err
	}
	if binary.BigEndian.Uint16(prefix[:]) != transferVersion {
		return errProtocol
	}
	switch prefix[2] {
	case opReadBlock:
		var op hdfspb.OpReadBlockProto
		if err := protodelim.UnmarshalFrom(in, &op); err != nil {
			return err
		}
		if err := f.readBlock(dataNode, conn, &op); err != nil {
			return err
		}
		return protodelim.UnmarshalFrom(in, new(hdfspb.ClientReadStatusProto))
	case opWriteBlock:
		var op hdfspb.OpWriteBlockProto
		if err := protodelim.UnmarshalFrom(in, &op); err != nil {
			return err
		}
		if err := f.writeBlock(conn, in, &op); err != nil {
			return err
		}
		return errEnded
	default:
		return errProtocol
	}
}

// block returns a block, and its data so far.
func (f *Fake) block(header *hdfspb.ClientOperationHeaderProto) (*block, []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	b := f.space.blocks[header.GetBaseHeader().GetBlock().GetBlockId()]
	if b == nil {
		return nil, nil
	}
	return b, b.data
}

// readBlock sends a block, beginning with the checksum chunk that holds the offset.
func (f *Fake) readBlock(dataNode string, conn net.Conn, op *hdfspb.OpReadBlockProto) error {
	offset := int64(op.GetOffset())
	f.mu.Lock()
	f.reads = append(f.reads, Read{DataNode: dataNode, Offset: offset})
	f.mu.Unlock()
	fault := f.faults.takeBlock(&f.faults.reads)
	if fault.kind == stall && fault.after < 0 {
		return untilLeft(conn)
	}
	b, data := f.block(op.GetHeader())
	if b == nil || offset > int64(len(data)) || fault.kind == refuse {
		_, err := protodelim.MarshalTo(conn, &hdfspb.BlockOpResponseProto{
			Status: hdfspb.Status_ERROR.Enum(), Message: proto.String("replica is not there"),
		})
		return errors.Join(err, errEnded)
	}
	begin := offset - offset%bytesPerChecksum
	if _, err := protodelim.MarshalTo(conn, &hdfspb.BlockOpResponseProto{
		Status: hdfspb.Status_SUCCESS.Enum(),
		ReadOpChecksumInfo: &hdfspb.ReadOpChecksumInfoProto{
			Checksum:    &hdfspb.ChecksumProto{Type: hdfspb.ChecksumTypeProto_CHECKSUM_CRC32C.Enum(), BytesPerChecksum: proto.Uint32(bytesPerChecksum)},
			ChunkOffset: proto.Uint64(uint64(begin)),
		},
	}); err != nil {
		return err
	}
	return sendPackets(conn, data, begin, fault)
}

// sendPackets sends the rest of a block, and the empty packet that ends it.
func sendPackets(conn net.Conn, data []byte, at int64, fault blockFault) error {
	sent := int64(0)
	for seqno := int64(0); ; seqno++ {
		piece := data[at:min(at+packetBytes, int64(len(data)))]
		packet, dataFrom, err := appendPacket(at, seqno, piece)
		if err != nil {
			return err
		}
		until := sent + int64(len(piece))
		if fault.kind == corrupt { // an existing byte
			until--
		}
		strikes := fault.kind != 0 && fault.after <= until && fault.after >= sent
		if strikes {
			place := dataFrom + int(fault.after-sent)
			switch fault.kind {
			case corrupt:
				packet[place] ^= 1
			case cut, stall, refuse:
				packet = packet[:place]
			}
		}
		if _, err := conn.Write(packet); err != nil {
			return err
		}
		if strikes && fault.kind == stall {
			return untilLeft(conn)
		}
		if strikes && fault.kind != corrupt {
			return errEnded
		}
		if len(piece) == 0 {
			return nil
		}
		at, sent = at+int64(len(piece)), sent+int64(len(piece))
	}
}

// untilLeft waits until the client leaves. The client sends nothing meanwhile.
func untilLeft(conn net.Conn) error {
	_, err := conn.Read(make([]byte, 1))
	return errors.Join(err, errEnded)
}

// appendPacket makes a packet; one without data is the last:
//
//	length, of itself, checksums and data: 4 │ length of header: 2 │ PacketHeaderProto │ checksums │ data
func appendPacket(at, seqno int64, piece []byte) (packet []byte, dataFrom int, err error) {
	header, err := proto.Marshal(&hdfspb.PacketHeaderProto{
		OffsetInBlock: proto.Int64(at), Seqno: proto.Int64(seqno),
		LastPacketInBlock: proto.Bool(len(piece) == 0), DataLen: proto.Int32(int32(len(piece))),
	})
	if err != nil {
		return nil, 0, err
	}
	sums := checksums(piece)
	packet = binary.BigEndian.AppendUint32(packet, uint32(checksumBytes+len(sums)+len(piece)))
	packet = binary.BigEndian.AppendUint16(packet, uint16(len(header)))
	packet = append(append(packet, header...), sums...)
	return append(packet, piece...), len(packet), nil
}

// checksums returns the CRC32C of each chunk.
func checksums(data []byte) []byte {
	var sums []byte
	for len(data) > 0 {
		n := min(len(data), bytesPerChecksum)
		sums = binary.BigEndian.AppendUint32(sums, crc32.Checksum(data[:n], crc32.MakeTable(crc32.Castagnoli)))
		data = data[n:]
	}
	return sums
}

// writeBlock receives packets up to the last one, and acknowledges each.
func (f *Fake) writeBlock(conn net.Conn, in *bufio.Reader, op *hdfspb.OpWriteBlockProto) error {
	fault := f.faults.takeBlock(&f.faults.writes)
	b, _ := f.block(op.GetHeader())
	if b == nil {
		return errProtocol
	}
	if fault.kind == refuse && fault.after < 0 {
		_, err := protodelim.MarshalTo(conn, &hdfspb.BlockOpResponseProto{Status: hdfspb.Status_ERROR.Enum(), Message: proto.String("refused")})
		return err
	}
	if _, err := protodelim.MarshalTo(conn, &hdfspb.BlockOpResponseProto{
		Status: hdfspb.Status_SUCCESS.Enum(), FirstBadLink: proto.String(""),
	}); err != nil {
		return err
	}
	for {
		header, data, err := readPacket(in)
		if err != nil {
			return err
		}
		status := hdfspb.Status_SUCCESS
		if fault.kind != 0 && fault.after < header.GetOffsetInBlock()+int64(len(data)) {
			if fault.kind == cut {
				return nil
			}
			status = hdfspb.Status_ERROR
		} else {
			f.store(b, header.GetOffsetInBlock(), data)
		}
		if _, err := protodelim.MarshalTo(conn, &hdfspb.PipelineAckProto{
			Seqno: header.Seqno, Reply: []hdfspb.Status{status}, DownstreamAckTimeNanos: proto.Uint64(0), Flag: []uint32{0},
		}); err != nil || header.GetLastPacketInBlock() || status != hdfspb.Status_SUCCESS {
			return err
		}
	}
}

// store adds a packet to a block. A heartbeat packet adds nothing.
func (f *Fake) store(b *block, at int64, data []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if at == int64(len(b.data)) {
		b.data = append(b.data, data...)
	}
}

// readPacket reads a packet and compares it with its checksums.
func readPacket(in *bufio.Reader) (*hdfspb.PacketHeaderProto, []byte, error) {
	var prefix [packetPrefix]byte
	if _, err := io.ReadFull(in, prefix[:]); err != nil {
		return nil, nil, err
	}
	length := binary.BigEndian.Uint32(prefix[:])
	if length < checksumBytes || length > maxPacketBytes {
		return nil, nil, fmt.Errorf("%w: packet of %d bytes", errProtocol, length)
	}
	encoded := make([]byte, binary.BigEndian.Uint16(prefix[checksumBytes:]))
	if _, err := io.ReadFull(in, encoded); err != nil {
		return nil, nil, err
	}
	header := new(hdfspb.PacketHeaderProto)
	if err := proto.Unmarshal(encoded, header); err != nil {
		return nil, nil, err
	}
	rest := make([]byte, length-checksumBytes)
	if _, err := io.ReadFull(in, rest); err != nil {
		return nil, nil, err
	}
	sums := int(length) - checksumBytes - int(header.GetDataLen())
	if sums < 0 || sums > len(rest) || string(checksums(rest[sums:])) != string(rest[:sums]) {
		return nil, nil, fmt.Errorf("%w: checksums do not fit", errProtocol)
	}
	return header, rest[sums:], nil
}
