package dfs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	colinmarc "github.com/colinmarc/hdfs/v2"
	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hdfs"
)

// Waits between tries of a call.
const (
	firstRetryWait = 100 * time.Millisecond
	maxRetryWait   = 2 * time.Second
)

// redials is how often the library is given each address. It refuses an entry
// of its list for 5 s after a failure, so that with one entry a single broken
// connection would stop everything for as long.
const redials = 3

// connection is the one client of this process for a NameNode, or for the
// NameNodes of a nameservice: each client renews its leases every second for
// ever, so there must not be many.
type connection struct {
	name      string // as the URIs call it
	addresses []string
	user      string
	useName   bool // dfs.client.use.datanode.hostname
	patience  time.Duration
	dialer    *hdfs.Dialer
	log       logrus.FieldLogger

	running sync.WaitGroup // calls and read-ahead of files
	closing chan struct{}  // closed by close

	mu     sync.Mutex // guards what follows
	closed bool
	client *colinmarc.Client // nil until the first call has connected
}

// unknownCryptoVersion is how a NameNode refuses a new file in an encryption
// zone to a client that knows no encryption.
const unknownCryptoVersion = "org.apache.hadoop.hdfs.UnknownCryptoProtocolVersionException"

// broken is the failure of a call that got no answer from the NameNode.
type broken struct{ error }

func (b broken) Unwrap() error { return b.error }

// attempt tells a call whether it is made again after one that may have been
// executed.
type attempt struct{ again bool }

// call is one call of the library.
type call[T any] func(client *colinmarc.Client, a attempt) (T, error)

// do makes a call off the caller's goroutine, so that the context can end the
// wait, and again after a broken connection until patience is used up.
func do[T any](ctx context.Context, c *connection, call call[T]) (T, error) {
	return doOrUndo(ctx, c, call, func(*colinmarc.Client, T) {})
}

// doOrUndo is do for a call that leaves something behind: undo takes it back where
// the call succeeds after the context has ended.
func doOrUndo[T any](ctx context.Context, c *connection, call call[T], undo func(*colinmarc.Client, T)) (T, error) {
	var zero T
	started := time.Now()
	var a attempt
	for wait := firstRetryWait; ; wait = min(2*wait, maxRetryWait) {
		value, err := once(ctx, c, a, call, undo)
		lost, ok := errors.AsType[broken](err)
		if !ok {
			return value, err
		}
		if tried := time.Since(started); tried+wait > c.patience {
			return zero, fmt.Errorf("NameNode %s did not answer (tried for %s): %w",
				strings.Join(c.addresses, ", "), tried.Round(100*time.Millisecond), lost.error)
		}
		c.log.WithError(lost.error).WithFields(logrus.Fields{"namenode": c.name, "wait": wait}).Warn("call failed and will be tried again")
		if err := sleep(ctx, wait); err != nil {
			return zero, err
		}
		a.again = true
	}
}

func once[T any](ctx context.Context, c *connection, a attempt, call call[T], undo func(*colinmarc.Client, T)) (T, error) {
	type result struct {
		value T
		err   error
	}
	var zero T
	var settled atomic.Bool      // who comes first: the call that succeeds, or the caller who leaves
	done := make(chan result, 1) // the call leaves its result and goes, also when nobody waits
	started := c.start(func() {
		client, err := c.connect()
		if err != nil {
			done <- result{err: err}
			return
		}
		value, err := call(client, a)
		if err == nil && !settled.CompareAndSwap(false, true) {
			undo(client, value)
			return
		}
		done <- result{value, c.interpret(err)}
	})
	if !started {
		return zero, ErrClosed
	}
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		if !settled.CompareAndSwap(false, true) { // it came at the same moment
			r := <-done
			return r.value, r.err
		}
		return zero, context.Cause(ctx)
	}
}

// start runs f in a goroutine that close waits for. It reports false after
// close. What f does ends with the dialer's connections.
func (c *connection) start(f func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.running.Go(f)
	return true
}

// connect gives the client. Calls that come while there is none each make one,
// and the first to succeed is kept.
func (c *connection) connect() (*colinmarc.Client, error) {
	c.mu.Lock()
	client, closed := c.client, c.closed
	c.mu.Unlock()
	if client != nil || closed {
		return client, closedError(closed)
	}
	client, err := colinmarc.NewClient(colinmarc.ClientOptions{
		Addresses:           slices.Repeat(c.addresses, redials),
		User:                c.user,
		UseDatanodeHostname: c.useName,
		NamenodeDialFunc:    c.dialer.DialNameNode,
		DatanodeDialFunc:    c.dialer.DialDataNode,
	})
	if err != nil {
		return nil, c.lost(err)
	}
	// The library keeps the server's defaults in a field that it does not
	// guard: fill it before the client is shared.
	if _, err := client.ServerDefaults(); err != nil {
		return nil, errors.Join(c.interpret(err), client.Close())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.client != nil || c.closed { // somebody else was first
		return c.client, errors.Join(closedError(c.closed), client.Close())
	}
	c.client = client
	return client, nil
}

func closedError(closed bool) error {
	if closed {
		return ErrClosed
	}
	return nil
}

// close ends all connections, which ends every call, and waits for the calls.
func (c *connection) close() {
	c.mu.Lock()
	c.closed = true
	client := c.client
	c.client = nil
	c.mu.Unlock()
	close(c.closing)
	c.dialer.Close()
	c.running.Wait()
	if client != nil {
		if err := client.Close(); err != nil {
			c.log.WithError(err).WithField("namenode", c.name).Debug("connection was not closed cleanly")
		}
	}
}

// interpret turns the library's errors into those callers can test: the
// exceptions of the server become *yarnrpc.RemoteError, and what is neither an
// answer nor a sentinel is a broken connection.
func (c *connection) interpret(err error) error {
	if err == nil {
		return nil
	}
	var exception colinmarc.Error // has no Error method of its own: errors.AsType does not take it
	if errors.As(err, &exception) {
		if exception.Exception() == unknownCryptoVersion {
			return filesystem.ErrEncryptionZone
		}
		message, _, _ := strings.Cut(exception.Message(), "\n")
		remote := &yarnrpc.RemoteError{
			Address: c.name, Method: exception.Method(), Class: exception.Exception(), Message: message,
		}
		if errors.Is(remote, yarnrpc.ErrRetriable) || errors.Is(remote, yarnrpc.ErrStandby) {
			return broken{remote}
		}
		return remote
	}
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w for user %s", fs.ErrPermission, c.user)
	}
	for _, answer := range []error{
		fs.ErrNotExist, fs.ErrExist, fs.ErrInvalid, syscall.ENOTEMPTY, colinmarc.ErrReplicating,
	} {
		if errors.Is(err, answer) {
			return answer
		}
	}
	if known, ok := errors.AsType[answered](err); ok {
		return known.error
	}
	return c.lost(err)
}

// answered marks an error of this package's own that a call gives: the
// NameNode did answer.
type answered struct{ error }

// lost explains a broken connection by what the dialer saw: the library passes
// that on as text alone.
func (c *connection) lost(err error) error {
	if unreachable := c.dialer.Unreachable(); unreachable != nil {
		err = unreachable
	}
	return broken{err}
}

func sleep(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
