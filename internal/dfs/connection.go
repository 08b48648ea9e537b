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

// connection is the process's only client, as one user, for a NameNode or for the NameNodes of a
// nameservice. Each client renews its leases forever, so there must not be many.
type connection struct {
	name    string // the authority in URIs
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

// do makes a call in another goroutine, so that the context can end the wait. The dialer handles
// failovers and broken connections.
func do[T any](ctx context.Context, c *connection, call call[T]) (T, error) {
	return doOrUndo(ctx, c, call, func(*colinmarc.Client, T) {})
}

// doOrUndo is do for a call that leaves something behind. If the call succeeds after the context
// has ended, undo removes what it left.
func doOrUndo[T any](ctx context.Context, c *connection, call call[T], undo func(*colinmarc.Client, T)) (T, error) {
	type result struct {
		value T
		err   error
	}
	var zero T
	var settled atomic.Bool      // set by the first of two: the call when it succeeds, the caller when it leaves
	done := make(chan result, 1) // the call never blocks on its result
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
		if !settled.CompareAndSwap(false, true) { // the result came at the same moment
			r := <-done
			return r.value, r.err
		}
		return zero, context.Cause(ctx)
	}
}

// start runs f in a goroutine that close waits for. It returns false after close. f ends when the
// dialer's connections end.
func (c *connection) start(f func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.running.Go(f)
	return true
}

// connect returns the client. If there is none yet, each concurrent call makes one, and the first
// that succeeds is kept.
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
	// The library does not guard the field with the server's defaults, so fill it before the client
	// is shared.
	if _, err := client.ServerDefaults(); err != nil {
		return nil, errors.Join(c.interpret(err), client.Close())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.client != nil || c.closed { // another call was first
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

// interpret turns the library's errors into errors that callers can test. The server's exceptions
// become *yarnrpc.RemoteError.
func (c *connection) interpret(err error) error {
	if err == nil {
		return nil
	}
	var exception colinmarc.Error // it has no Error method: errors.AsType does not accept it
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

// answer gives the errors of this module's calls and of the library's calls the same form.
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
		case isLogin(err): // the error says that the login failed
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

// forbidden is an error of this machine, for example from a firewall that refuses a connection. Its
// errno would make it fs.ErrPermission too. That error is only for HDFS's answers about files, and
// is final.
type forbidden struct{ error }

func (f forbidden) Is(target error) bool {
	return target != fs.ErrPermission && errors.Is(f.error, target)
}

func (f forbidden) As(target any) bool { return errors.As(f.error, target) }

// isLogin reports whether the login prevented a call. The error then names the user, the place and
// the remedy, and the NameNode is not at fault.
func isLogin(err error) bool {
	switch yarnrpc.Classify(err) {
	case yarnrpc.Permanent, yarnrpc.Reauth:
		return true
	default:
		return errors.Is(err, kerberos.ErrKDC)
	}
}
