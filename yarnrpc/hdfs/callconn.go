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

// callConn is what the library takes for a connection to a NameNode. Nothing is
// behind it but a Caller: each call that the library writes is made through that, and
// the answer is there to be read. So the calls are logged in, protected, bounded in
// time and made again at another NameNode as the Caller does it, in the middle of a
// file too, and no answer can be taken for that of another call.
//
// The library writes a call and reads its answer before it writes the next.
type callConn struct {
	rpc     yarnrpc.Caller
	address string
	life    context.Context //nolint:containedctx // of the connection, not of a call: the library's calls have none
	end     context.CancelCauseFunc

	mu      sync.Mutex // guards what follows; held during a call
	opened  bool       // the preamble was written
	written []byte     // what is not a whole frame yet
	calls   []wire.Request
	answer  []byte // what was not read yet
	writer  bool   // a file may have been opened for writing
	renewed time.Time
	last    map[uint64]*hdfspb.ExtendedBlockProto // block of each file that is not known to be complete, by its id
}

// What the library calls, of which the connection has to know.
const (
	methodCreate            = "create"
	methodAppend            = "append"
	methodTruncate          = "truncate"
	methodRenewLease        = "renewLease"
	methodAddBlock          = "addBlock"
	methodComplete          = "complete"
	methodGetBlockLocations = "getBlockLocations"
)

// leaseInterval is how often leases are renewed: the library would each second, idle
// or not. Hadoop's clients do it every 30 s (LeaseRenewer), which is half of the time
// after which somebody else may take a file over.
const leaseInterval = 20 * time.Second

// leaseTime bounds a renewal, as other calls wait for it.
const leaseTime = 5 * time.Second

// How often and after which wait, doubled each time, a next block is asked for again
// while the NameNode has not heard from the DataNodes of the one before
// (dfs.client.block.write.locateFollowingBlock.retries, .initial.delay.ms).
const (
	followingBlockRetries = 5
	followingBlockWait    = 400 * time.Millisecond
)

func newCallConn(life context.Context, rpc yarnrpc.Caller, address string) *callConn {
	c := &callConn{rpc: rpc, address: address, last: make(map[uint64]*hdfspb.ExtendedBlockProto)}
	c.life, c.end = context.WithCancelCause(life)
	return c
}

// Write takes what the library sends: its opening, which goes nowhere, and calls.
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

// take understands the next piece of what was written; false if it is not complete.
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
		c.written = nil // the request has the bytes
	}
	if request.ID >= 0 { // or it is the context of a connection, which has its own
		c.calls = append(c.calls, request)
	}
	return true, nil
}

// Read makes the call that was written, and reads its answer. An error is the
// *yarnrpc.CallError of that call, or refuses it, and the next one may do better.
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

// call makes a call and gives the frame that answers it.
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
	asked, answered := new(emptypb.Empty), answerTo(method) // a message without fields keeps all that it is given
	if err := request.Decode(asked); err != nil {
		return nil, err
	}
	var err error
	if completed, is := answered.(*hdfspb.CompleteResponseProto); is {
		err = c.complete(ctx, request, completed)
	} else {
		err = c.callPlain(ctx, request, asked, answered)
	}
	for n := 0; n < followingBlockRetries && method == methodAddBlock && notReplicatedYet(err); n++ {
		if err = pause.For(ctx, followingBlockWait<<n); err == nil {
			err = c.rpc.Call(ctx, method, asked, answered)
		}
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

// complete has the NameNode close a file. That commits its last block only once it has heard
// of those before, and the library names the last block in its first call alone: the file
// would never be closed.
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

// notReplicatedYet is how a NameNode refuses a next block for the time being, which the
// library takes for the end of the file.
func notReplicatedYet(err error) bool {
	remote, is := errors.AsType[*yarnrpc.RemoteError](err)
	return is && remote.Class == "org.apache.hadoop.hdfs.server.namenode.NotReplicatedYetException"
}

// exception is the NameNode's answer to a call that it refused. Other errors stay, and so
// does the word of one that is standby: the library would leave it for five seconds, and
// with it this connection, which knows whether there are leases.
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

// Close ends the connection and a call that runs.
func (c *callConn) Close() error {
	c.end(net.ErrClosed)
	return nil
}

// LocalAddr is nowhere.
func (c *callConn) LocalAddr() net.Addr { return nowhere(c.address) }

// RemoteAddr is the name that was dialled.
func (c *callConn) RemoteAddr() net.Addr { return nowhere(c.address) }

// SetDeadline is not to be had: how long calls take is the Caller's to say.
func (c *callConn) SetDeadline(time.Time) error { return os.ErrNoDeadline }

// SetReadDeadline is not to be had.
func (c *callConn) SetReadDeadline(time.Time) error { return os.ErrNoDeadline }

// SetWriteDeadline is not to be had.
func (c *callConn) SetWriteDeadline(time.Time) error { return os.ErrNoDeadline }

// nowhere is the address of a connection that is none.
type nowhere string

func (nowhere) Network() string  { return "hadoop" }
func (n nowhere) String() string { return string(n) }
