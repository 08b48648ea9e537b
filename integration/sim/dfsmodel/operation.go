package dfsmodel

import (
	"context"
	"fmt"
	"time"

	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hdfs"
)

// Kind is a kind of call. Those to a NameNode have the name of their method in ClientProtocol.
type Kind string

// Calls to a NameNode.
const (
	GetFileInfo       Kind = "getFileInfo"
	GetListing        Kind = "getListing" // one part of a listing
	GetBlockLocations Kind = "getBlockLocations"
	Mkdirs            Kind = "mkdirs"
	Create            Kind = "create"
	AddBlock          Kind = "addBlock"
	Complete          Kind = "complete"
	Rename            Kind = "rename2"
	Delete            Kind = "delete"
	SetReplication    Kind = "setReplication"
)

// Calls to DataNodes.
const (
	// ReadBlock reads the rest of an open file.
	ReadBlock Kind = "readBlock"
	// WriteBlock writes up to flushBytes.
	WriteBlock Kind = "writeBlock"
	// Load finds a file (getLocatedFileInfo) and reads its block, as one call.
	Load Kind = "load"
)

// Operation describes one call.
type Operation struct {
	Client string // the process, see Options.Client
	Kind   Kind
	Path   string // absolute; of an open file the path at which it was opened
	Target string // of a Rename
	// Recursive is true for a Delete of a whole tree.
	Recursive bool
}

// String returns the operation as one line without the client, for transcripts.
func (o Operation) String() string {
	switch {
	case o.Kind == Rename:
		return fmt.Sprintf("%s %s %s", o.Kind, o.Path, o.Target)
	case o.Recursive:
		return fmt.Sprintf("%s -r %s", o.Kind, o.Path)
	default:
		return fmt.Sprintf("%s %s", o.Kind, o.Path)
	}
}

// Changes reports whether the operation may change the Namespace.
func (o Operation) Changes() bool {
	switch o.Kind {
	case Mkdirs, Create, AddBlock, Complete, Rename, Delete, WriteBlock:
		return true
	default:
		return false
	}
}

// Caller makes the calls of processes: it is the network, and the retries of the client. Call returns when the
// process has the answer or gives up:
//   - It runs effect and returns its error, as it is: the normal case, also for an answer that comes late.
//   - It returns Unanswered without running effect, or after it.
//   - It returns Abandoned if ctx ends first. It may run effect later, because a server that has received a call
//     executes it whatever becomes of the client.
//
// Call runs effect at most once, and never returns nil without it. now is the time at the server. The calls of
// a file that is read or written have the values of the context with which it was opened, and no end, as in
// internal/dfs.
type Caller interface {
	Call(ctx context.Context, op Operation, effect func(now time.Time) error) error
}

// Unanswered is the error of a call that the client gives up after its last try. executed says that the server
// may have executed it.
func Unanswered(op Operation, executed bool) error {
	switch op.Kind {
	case ReadBlock, Load:
		return fmt.Errorf("%s: %w", op, hdfs.ErrUnreachable)
	case WriteBlock:
		return fmt.Errorf("%s: %w", op, hdfs.ErrPipeline)
	default:
		return &yarnrpc.CallError{Address: Authority, Method: string(op.Kind), MaybeSent: executed, Err: yarnrpc.ErrTimeout}
	}
}

// Abandoned is the error of a call whose context has ended. Like internal/dfs, it is the cause of the context,
// except for a Rename and a Delete of one entry, which return yarnrpc's error.
func Abandoned(ctx context.Context, op Operation) error {
	cause := context.Cause(ctx)
	if op.Kind == Rename || op.Kind == Delete && !op.Recursive {
		return &yarnrpc.CallError{Address: Authority, Method: string(op.Kind), MaybeSent: true, Err: cause}
	}
	return cause
}
