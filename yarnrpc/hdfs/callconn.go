package hdfs

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/bobbin-yarn/bobbin/hadoopproto/hdfspb"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/pause"
	"github.com/bobbin-yarn/bobbin/yarnrpc/wire"
)

// callConn is the library's connection to a NameNode. It is no network connection: it makes
// each call that the library writes through a Caller, and the library then reads the answer.
// So the Caller logs in, protects calls, bounds their time, and repeats them at another
// NameNode, even in the middle of a file. The library cannot take an answer for that of
// another call.
//
// The library writes a call and reads its answer before it writes the next.
type callConn struct {
	rpc     yarnrpc.Caller
	nodes   *dataNodes
	address string
	life    context.Context //nolint:containedctx // of the connection, not of a call: the library's calls have no context
	end     context.CancelCauseFunc

	mu      sync.Mutex // guards what follows; held during a call
	opened  bool       // the preamble was written
	written []byte     // the beginning of an incomplete frame
	calls   []wire.Request
	answer  []byte // the part that was not read yet
	writer  bool   // a file may have been opened for writing
	renewed time.Time
	last    map[uint64]*hdfspb.ExtendedBlockProto // last block of each file that may be incomplete, by file id
}

// Methods of the library's calls that callConn must recognize.
const (
	methodCreate            = "create"
	methodAppend            = "append"
	methodTruncate          = "truncate"
	methodRenewLease        = "renewLease"
	methodAddBlock          = "addBlock"
	methodComplete          = "complete"
	methodGetBlockLocations = "getBlockLocations"
)

// leaseInterval is the time between two renewals of leases. The library would renew each
// second, even without open files. Hadoop's clients renew every 30 s (LeaseRenewer), half of
// the time after which another client may take over a file.
const leaseInterval = 20 * time.Second

// leaseTime bounds a renewal, because other calls wait for it.
const leaseTime = 5 * time.Second

// Number of further tries to get a file's next block, and the wait before the first of them.
// Each later wait is twice as long. The NameNode refuses the next block until DataNodes have
// reported the block before it (dfs.client.block.write.locateFollowingBlock.retries,
// .initial.delay.ms).
const (
	followingBlockRetries = 5
	followingBlockWait    = 400 * time.Millisecond
)

func newCallConn(life context.Context, rpc yarnrpc.Caller, nodes *dataNodes, address string) *callConn {
	c := &callConn{rpc: rpc, nodes: nodes, address: address, last: make(map[uint64]*hdfspb.ExtendedBlockProto)}
	c.life, c.end = context.WithCancelCause(life)
	return c
}

// Write accepts the library's preamble, which is sent nowhere, and its calls.
func (c *callConn) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := context.Cause(c.life); err != nil {
		return 0, err
	}
	c.written = append(c.written, b...)
	for {
		more, err := c.take()
		if err != nil {
			c.end(err)
			return 0, err
		}
		if !more {
			return len(b), nil
		}
	}
}

// take handles the next piece of the written bytes. It returns false if the piece is
// incomplete.
func (c *callConn) take() (more bool, err error) {
	const preamble, prefix = 7, 4
	if !c.opened {
		if len(c.written) < preamble {
			return false, nil
		}
		if _, err := wire.ReadPreamble(bytes.NewReader(c.written)); err != nil {
			return false, err
		}
		c.opened, c.written = true, c.written[preamble:]
		return true, nil
	}
	if len(c.written) < prefix {
		return false, nil
	}
	length := binary.BigEndian.Uint32(c.written)
	if length > wire.MaxFrame {
		return false, &wire.FrameError{Length: int64(length), Limit: wire.MaxFrame}
	}
	if len(c.written) < prefix+int(length) {
		return false, nil
	}
	request, err := wire.ParseRequest(c.written[prefix : prefix+int(length)])
	if err != nil {
		return false, err
	}
	c.written = c.written[prefix+int(length):]
	if len(c.written) == 0 {
		c.written = nil // the request keeps the array; the next Write makes another one
	}
	if request.ID >= 0 { // otherwise it is a connection context, and the Caller has its own
		c.calls = append(c.calls, request)
	}
	return true, nil
}

// Read makes the written call and reads its answer. An error is that of the call, such as a
// *yarnrpc.CallError, or says that callConn refuses the call: ErrEncryptionZone or
// ErrErasureCoded. After an error the next call may succeed.
func (c *callConn) Read(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.answer) == 0 {
		if len(c.calls) == 0 {
			return 0, fmt.Errorf("read from NameNode %s: no call waits for an answer", c.address)
		}
		call := c.calls[0]
		c.calls = c.calls[1:]
		var err error
		if c.answer, err = c.call(call); err != nil {
			return 0, err
		}
	}
	n := copy(b, c.answer)
	c.answer = c.answer[n:]
	return n, nil
}

// call makes a call and returns the frame that answers it.
func (c *callConn) call(request wire.Request) ([]byte, error) {
	ctx, method := c.life, request.Call.Method
	switch method {
	case methodCreate, methodAppend, methodTruncate:
		c.writer = true
	case methodRenewLease:
		if !c.writer || time.Since(c.renewed) < leaseInterval {
			return wire.AppendResponse(nil, request.ID, request.Call.ClientID, new(emptypb.Empty), nil)
		}
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, leaseTime)
		defer cancel()
	}
	answered := answerTo(method)
	var err error
	switch answered := answered.(type) {
	case *hdfspb.CompleteResponseProto:
		err = c.complete(ctx, request, answered)
	case *hdfspb.AddBlockResponseProto:
		err = c.addBlock(ctx, request, answered)
	default:
		err = c.callPlain(ctx, request, answered)
	}
	failure, err := exception(err)
	if err != nil {
		return nil, err
	}
	if method == methodRenewLease {
		c.renewed = time.Now()
	}
	return wire.AppendResponse(nil, request.ID, request.Call.ClientID, answered, failure)
}

// complete makes the call that closes a file. The NameNode commits the last block only after
// DataNodes have reported the blocks before it. Until then the library's Close fails, and the
// program calls Close again. But the library names the last block only in its first call.
// complete adds the name to the later calls; otherwise the NameNode would never close the
// file.
func (c *callConn) complete(ctx context.Context, request wire.Request, completed *hdfspb.CompleteResponseProto) error {
	var asked hdfspb.CompleteRequestProto
	if err := request.Decode(&asked); err != nil {
		return err
	}
	file := asked.GetFileId()
	if asked.Last != nil {
		c.last[file] = asked.Last
	}
	asked.Last = c.last[file]
	err := c.rpc.Call(ctx, methodComplete, &asked, completed)
	if completed.GetResult() {
		delete(c.last, file)
	}
	return err
}

// addBlock makes the call that begins a block. It excludes DataNodes that have failed lately, as
// Hadoop's DataStreamer does; the library does not. If the NameNode finds no other ones, it gets its
// choice.
func (c *callConn) addBlock(ctx context.Context, request wire.Request, added *hdfspb.AddBlockResponseProto) error {
	var asked hdfspb.AddBlockRequestProto
	if err := request.Decode(&asked); err != nil {
		return err
	}
	asked.ExcludeNodes = c.nodes.avoided()
	err := c.askForBlock(ctx, &asked, added)
	if _, refused := errors.AsType[*yarnrpc.RemoteError](err); refused && !notReplicatedYet(err) && len(asked.ExcludeNodes) > 0 {
		asked.ExcludeNodes = nil
		err = c.askForBlock(ctx, &asked, added)
	}
	if err == nil {
		c.nodes.places(added.GetBlock().GetLocs())
	}
	return err
}

// askForBlock asks again while the last block is not replicated yet.
func (c *callConn) askForBlock(ctx context.Context, asked *hdfspb.AddBlockRequestProto, added *hdfspb.AddBlockResponseProto) error {
	err := c.rpc.Call(ctx, methodAddBlock, asked, added)
	for n := 0; n < followingBlockRetries && notReplicatedYet(err); n++ {
		if err = pause.For(ctx, followingBlockWait<<n); err == nil {
			err = c.rpc.Call(ctx, methodAddBlock, asked, added)
		}
	}
	return err
}

// notReplicatedYet reports whether a NameNode refuses a next block only for now. After such a
// refusal the library would give up writing the file.
func notReplicatedYet(err error) bool {
	remote, is := errors.AsType[*yarnrpc.RemoteError](err)
	return is && remote.Class == "org.apache.hadoop.hdfs.server.namenode.NotReplicatedYetException"
}

// exception returns the NameNode's refusal of a call as its answer. Other errors stay
// errors, and so does StandbyException. After such an answer the library would not use this
// connection for five seconds, but only this connection knows whether there are leases.
func exception(err error) (*wire.Failure, error) {
	if err == nil {
		return nil, nil
	}
	remote, is := errors.AsType[*yarnrpc.RemoteError](err)
	if _, unanswered := errors.AsType[*yarnrpc.CallError](err); unanswered || !is || errors.Is(err, yarnrpc.ErrStandby) {
		return nil, err
	}
	return &wire.Failure{Class: remote.Class, Message: remote.Message, Detail: remote.Detail}, nil
}

// Close ends the connection and a running call.
func (c *callConn) Close() error {
	c.end(net.ErrClosed)
	return nil
}

// LocalAddr returns the name that was dialled, because the connection has no local address.
func (c *callConn) LocalAddr() net.Addr { return nowhere(c.address) }

// RemoteAddr returns the name that was dialled.
func (c *callConn) RemoteAddr() net.Addr { return nowhere(c.address) }

// SetDeadline is not supported: the Caller limits the time of calls.
func (c *callConn) SetDeadline(time.Time) error { return os.ErrNoDeadline }

// SetReadDeadline is not supported.
func (c *callConn) SetReadDeadline(time.Time) error { return os.ErrNoDeadline }

// SetWriteDeadline is not supported.
func (c *callConn) SetWriteDeadline(time.Time) error { return os.ErrNoDeadline }

// nowhere is the address of a callConn, which has no network connection.
type nowhere string

func (nowhere) Network() string  { return "hadoop" }
func (n nowhere) String() string { return string(n) }
