package dfs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"sync/atomic"
	"syscall"

	colinmarc "github.com/colinmarc/hdfs/v2"
	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hdfs"
	"github.com/bobbin-yarn/bobbin/yarnrpc/kerberos"
)

// connection is the one client of this process for a NameNode, or for the
// NameNodes of a nameservice, as a user: each client renews its leases for ever, so
// there must not be many.
type connection struct {
	name    string // as the URIs call it
	user    string
	useName bool // dfs.client.use.datanode.hostname
	dialer  *hdfs.Dialer
	log     logrus.FieldLogger

	running sync.WaitGroup // calls and read-ahead of files
	closing chan struct{}  // closed by close

	mu     sync.Mutex // guards what follows
	closed bool
	client *colinmarc.Client // nil until the first call has connected
}

// call is one call of the library.
type call[T any] func(client *colinmarc.Client) (T, error)

// do makes a call off the caller's goroutine, so that the context can end the
// wait. Fail-overs and broken connections are the dialer's affair.
func do[T any](ctx context.Context, c *connection, call call[T]) (T, error) {
	return doOrUndo(ctx, c, call, func(*colinmarc.Client, T) {})
}

// doOrUndo is do for a call that leaves something behind: undo takes it back where
// the call succeeds after the context has ended.
func doOrUndo[T any](ctx context.Context, c *connection, call call[T], undo func(*colinmarc.Client, T)) (T, error) {
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
		value, err := call(client)
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
		Addresses:           []string{c.name},
		User:                c.user,
		UseDatanodeHostname: c.useName,
		NamenodeDialFunc:    c.dialer.DialNameNode,
		DatanodeDialFunc:    c.dialer.DialDataNode,
	})
	if err != nil {
		return nil, err
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
	err := c.dialer.Close()
	c.running.Wait()
	if client != nil {
		err = errors.Join(err, client.Close())
	}
	if err != nil {
		c.log.WithError(err).WithField("namenode", c.name).Debug("connection was not closed cleanly")
	}
}

// interpret turns the library's errors into those callers can test: the
// exceptions of the server become *yarnrpc.RemoteError.
func (c *connection) interpret(err error) error {
	if err == nil {
		return nil
	}
	var exception colinmarc.Error // has no Error method of its own: errors.AsType does not take it
	if errors.As(err, &exception) {
		remote := &yarnrpc.RemoteError{
			Address: c.name, Method: exception.Method(), Class: exception.Exception(), Message: exception.Message(),
		}
		if errors.Is(remote, yarnrpc.ErrQuota) {
			return c.answer(remote)
		}
		return remote
	}
	return c.answer(err)
}

// answer gives the error of a call in the same words, whoever has made it.
func (c *connection) answer(err error) error {
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) {
		err = forbidden{err}
	}
	switch {
	case errors.Is(err, hdfs.ErrDialerClosed):
		return ErrClosed
	case errors.Is(err, hdfs.ErrNotEmpty):
		return filesystem.ErrNotEmpty
	case errors.Is(err, hdfs.ErrEncryptionZone):
		return filesystem.ErrEncryptionZone
	case errors.Is(err, hdfs.ErrErasureCoded):
		return filesystem.ErrErasureCoded
	}
	if _, unanswered := errors.AsType[*yarnrpc.CallError](err); unanswered {
		switch {
		case errors.Is(err, yarnrpc.ErrClosed):
			return ErrClosed
		case isLogin(err): // which has failed, and says so
			return err
		default:
			return fmt.Errorf("NameNode %s did not answer: %w", c.name, err)
		}
	}
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w for user %s", fs.ErrPermission, c.user)
	}
	if errors.Is(err, yarnrpc.ErrQuota) {
		return fmt.Errorf("%w (%w)", filesystem.ErrQuota, err)
	}
	for _, answer := range []error{
		fs.ErrNotExist, fs.ErrExist, fs.ErrInvalid, syscall.ENOTEMPTY, colinmarc.ErrReplicating,
	} {
		if errors.Is(err, answer) {
			return answer
		}
	}
	return err
}

// forbidden is the error of what this machine refuses its user, such as a connect by a firewall. By its
// errno it would be fs.ErrPermission, too, which is for what HDFS says of files, and says for good.
type forbidden struct{ error }

func (f forbidden) Is(target error) bool {
	return target != fs.ErrPermission && errors.Is(f.error, target)
}

func (f forbidden) As(target any) bool { return errors.As(f.error, target) }

// isLogin tells whether a call was not made because of the login: its error names who, where
// and what to do, and the NameNode is not to blame.
func isLogin(err error) bool {
	switch yarnrpc.Classify(err) {
	case yarnrpc.Permanent, yarnrpc.Reauth:
		return true
	default:
		return errors.Is(err, kerberos.ErrKDC)
	}
}
