package hdfs

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"google.golang.org/protobuf/encoding/protodelim"
	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/hdfspb"
)

// ErrUnreachable says that no DataNode of a block is known or reachable. The DataNodes may just be
// starting, or be lost.
var ErrUnreachable = errors.New("no DataNode with the block can be reached")

// clientName is the client name that is sent to DataNodes.
const clientName = "bobbin"

// BlockReader reads a block (DFSInputStream, BlockReaderRemote). It reads from the nearest
// DataNode. If that fails, it goes on with the next one, until it has tried each once. It returns
// only bytes whose checksum is right. Only one goroutine may use it.
type BlockReader struct {
	dialer *Dialer
	life   context.Context //nolint:containedctx // of the reader, not of a call: its end ends a waiting Read
	end    context.CancelFunc
	block  Block
	offset int64    // of the next byte, in the block
	nodes  []string // addresses: the DataNode in use, then those not tried yet
	met    bool     // a DataNode has failed after the client connected to it
	last   error    // of the DataNode that failed last

	conn   *blockConn  // nil: none
	leave  func() bool // after it, the end of life no longer closes conn
	reused bool        // conn has served another reader, and may have ended since
	rest   []byte      // of a packet, not returned yet
}

// ReadBlock returns a reader of a block from NameNode.Locate or NameNode.Open, from an offset in
// the block. The reader connects with the first Read, and ends with ctx.
func (d *Dialer) ReadBlock(ctx context.Context, block Block, offset int64) *BlockReader {
	r := &BlockReader{dialer: d, block: block, offset: offset, nodes: d.nodes.inOrder(block.located.GetLocs())}
	r.life, r.end = context.WithCancel(ctx)
	return r
}

// Read reads bytes of the block, at most those of one packet. At the end of the block the error is
// io.EOF. If all DataNodes have failed, it is the error of the last one, with ErrUnreachable if none
// was reachable. Otherwise it is the cause of the context's end, or an error of the NameNode, which
// Read asks whether data transfer is encrypted.
func (r *BlockReader) Read(b []byte) (int, error) {
	for len(r.rest) == 0 {
		if r.offset >= r.block.Length {
			return 0, io.EOF
		}
		if err := r.fill(); err != nil {
			return 0, err
		}
	}
	n := copy(b, r.rest)
	r.rest, r.offset = r.rest[n:], r.offset+int64(n)
	if r.offset >= r.block.Length {
		r.finish()
	}
	return n, nil
}

// Close ends the reader's connection. If the block was read to its end, the connection may be
// reused instead. Close may be called twice.
func (r *BlockReader) Close() error {
	if r.conn != nil {
		r.drop()
	}
	r.end()
	return nil
}

// fill gets the next packet, and changes the DataNode if necessary.
func (r *BlockReader) fill() error {
	for {
		if err := context.Cause(r.life); err != nil {
			return err
		}
		if len(r.nodes) == 0 {
			return r.failure()
		}
		if err := r.dialer.transfer.learn(r.life); err != nil {
			return err
		}
		var began time.Time // zero: the block flows already
		if r.conn == nil {
			began = time.Now()
		}
		err := r.ask()
		if err == nil {
			if !began.IsZero() {
				r.dialer.options.Observe(Transfer{Address: r.nodes[0], Took: time.Since(began)})
			}
			r.dialer.nodes.note(r.nodes[0], false)
			return nil
		}
		stale := r.conn != nil && r.reused && !answers(err)
		if r.conn != nil {
			r.drop()
		}
		if stale || r.life.Err() != nil { // not a failure of the DataNode
			continue
		}
		r.dialer.options.Observe(Transfer{Address: r.nodes[0], Err: err, Later: began.IsZero()})
		_, away := errors.AsType[connectError](err)
		r.met = r.met || !away
		r.dialer.nodes.note(r.nodes[0], true)
		r.nodes, r.last = r.nodes[1:], err
	}
}

// answers reports whether an error is the DataNode's answer, or says that it does not answer. A new
// connection would get the same error.
func answers(err error) bool {
	return errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, ErrRefused) || errors.Is(err, ErrBlockToken)
}

// ask gets the next packet from the current DataNode.
func (r *BlockReader) ask() error {
	if r.conn == nil {
		if err := r.connect(); err != nil {
			return err
		}
	}
	r.reused = false // the DataNode has answered, so the kept connection had not ended
	at, data, err := r.conn.packet()
	if err != nil {
		return err
	}
	return r.take(at, data)
}

// connect requests the rest of the block.
func (r *BlockReader) connect() (err error) {
	address := r.nodes[0]
	conn := r.dialer.idle.take(address)
	r.reused = conn != nil
	if conn == nil {
		if conn, err = r.dialer.openDataNode(r.life, "tcp", address); err != nil {
			return err
		}
	}
	r.conn, r.leave = conn, context.AfterFunc(r.life, func() { conn.Close() })
	err = r.send(append(binary.BigEndian.AppendUint16(nil, transferVersion), opReadBlock), &hdfspb.OpReadBlockProto{
		Header: &hdfspb.ClientOperationHeaderProto{
			BaseHeader: &hdfspb.BaseHeaderProto{Block: r.block.located.GetB(), Token: r.block.located.GetBlockToken()},
			ClientName: proto.String(clientName),
		},
		Offset: proto.Uint64(uint64(r.offset)), Len: proto.Uint64(uint64(r.block.Length - r.offset)),
	})
	if err == nil {
		err = conn.accepted()
	}
	return err
}

func (r *BlockReader) send(before []byte, m proto.Message) error {
	b := bytes.NewBuffer(before)
	if _, err := protodelim.MarshalTo(b, m); err != nil {
		return err
	}
	_, err := r.conn.Write(b.Bytes())
	return err
}

// take accepts the data of a packet. Packets begin at a checksum chunk, which may be before the
// requested offset.
func (r *BlockReader) take(at int64, data []byte) error {
	skip := r.offset - at
	if skip < 0 || skip >= int64(len(data)) {
		return fmt.Errorf("%w: %d bytes at offset %d, but the read is at offset %d of %d", errPacket, len(data), at, r.offset, r.block.Length)
	}
	r.rest = data[skip:min(int64(len(data)), r.block.Length-at)]
	return nil
}

// finish ends the exchange with the DataNode after the block was read to its end.
func (r *BlockReader) finish() {
	defer r.Close()
	if r.conn == nil {
		return
	}
	_, data, err := r.conn.packet() // the empty packet at the block's end
	if err != nil || len(data) > 0 {
		return
	}
	if r.send(nil, &hdfspb.ClientReadStatusProto{Status: hdfspb.Status_CHECKSUM_OK.Enum()}) != nil {
		return
	}
	conn := r.conn
	if r.leave() {
		r.conn = nil
		r.dialer.idle.keep(conn)
	}
}

// drop closes the connection.
func (r *BlockReader) drop() {
	r.leave()
	r.conn.Close()
	r.conn, r.rest, r.reused = nil, nil, false
}

func (r *BlockReader) failure() error {
	id := r.block.located.GetB().GetBlockId()
	switch {
	case r.last == nil:
		return fmt.Errorf("read block %d: %w: the NameNode lists none", id, ErrUnreachable)
	case !r.met:
		return fmt.Errorf("read block %d: %w: %w", id, ErrUnreachable, r.last)
	default:
		return fmt.Errorf("read block %d: %w", id, r.last)
	}
}
