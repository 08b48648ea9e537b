package yarnrpc

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"syscall"

	"github.com/bobbin-yarn/bobbin/yarnrpc/kerberos"
	"github.com/bobbin-yarn/bobbin/yarnrpc/sasl"
	"github.com/bobbin-yarn/bobbin/yarnrpc/wire"
)

// Action is an action that may help after an error.
type Action int

const (
	// Permanent: nothing helps. The same call would fail the same way, or its caller has left.
	Permanent Action = iota + 1
	// RetrySame: try the same server later.
	RetrySame
	// FailOver: try another server, or this one when it is back.
	FailOver
	// Reauth: log in again. The token that the server refused will not become valid.
	Reauth
)

func (a Action) String() string {
	switch a {
	case Permanent:
		return "permanent"
	case RetrySame:
		return "retry same"
	case FailOver:
		return "fail over"
	case Reauth:
		return "reauthenticate"
	default:
		return "unknown"
	}
}

// Execution says for a class of errors whether the server may have executed the call. For a single error
// use MaybeSent: it knows whether the error came before the call was sent. A class cannot say that,
// since its errors can come at any time.
type Execution int

const (
	// NotExecuted: the server has not begun the call, so every call may be repeated.
	NotExecuted Execution = iota + 1
	// Answered: the server has executed or refused the call, and has answered.
	Answered
	// InDoubt: the server may have executed the call if it was sent. MaybeSent reports that for a
	// single error.
	InDoubt
)

func (e Execution) String() string {
	switch e {
	case NotExecuted:
		return "not executed"
	case Answered:
		return "answered"
	case InDoubt:
		return "in doubt"
	default:
		return "unknown"
	}
}

// Verdict describes a class of errors: the action that may help, and whether the server may have
// executed the call.
type Verdict struct {
	Class     string // shown to users
	Action    Action
	Execution Execution
	// OneHost: perhaps only this server has the fault. Try each of the service's other servers
	// once, but do not wait for any.
	OneHost bool
}

// class is a row of the table: errors and their verdict.
type class struct {
	errors []error                   // one of these errors, or
	match  func(error) bool          // one for which match returns true, or
	remote func(e *RemoteError) bool // a server's exception for which remote returns true
	Verdict
}

// classes returns the table. The first row that matches an error counts.
//
// The table tries other servers in more cases than Hadoop's FailoverOnNetworkExceptionRetry: if one host
// cannot log the client in, the call goes on to the other hosts.
func classes() []class {
	is := func(targets ...error) func(*RemoteError) bool {
		return func(e *RemoteError) bool { return slices.ContainsFunc(targets, e.Is) }
	}
	return []class{
		// Exceptions of a server.
		{remote: is(ErrStandby), Verdict: Verdict{"standby", FailOver, NotExecuted, false}},
		// A NameNode in safe mode throws RetriableException if it has a standby, and its own exception
		// otherwise. Java's clients wait only in the first case, a Proxy in both. A call that was not
		// executed for lack of a DataNode waits until one starts.
		{remote: is(ErrRetriable, ErrNMNotYetReady, ErrSafeMode, ErrNoDataNodes), Verdict: Verdict{"overloaded or starting", RetrySame, NotExecuted, false}},
		{remote: is(ErrInvalidToken), Verdict: Verdict{"token refused", Reauth, NotExecuted, false}},
		{remote: is(ErrSASL), Verdict: Verdict{"login refused by one host", Permanent, NotExecuted, true}}, // its keytab, or its clock
		{remote: is(ErrNoSuchMethod, ErrNoSuchProtocol, ErrVersionMismatch), Verdict: Verdict{"different Hadoop release", Permanent, NotExecuted, false}},
		{remote: isRefusedConnection, Verdict: Verdict{"connection refused by the server", Permanent, NotExecuted, false}},
		{remote: func(*RemoteError) bool { return true }, Verdict: Verdict{"exception", Permanent, Answered, false}},

		// Errors of a call without an answer. The end of the caller's context comes first, because a
		// network error may be only its consequence.
		{errors: []error{context.Canceled, context.DeadlineExceeded}, Verdict: Verdict{"caller canceled or timed out", Permanent, InDoubt, false}},
		{errors: []error{wire.ErrMalformed}, Verdict: Verdict{"malformed answer from one host", Permanent, InDoubt, true}},
		{match: isA[*wire.FrameError], Verdict: Verdict{"one host is not a Hadoop server", Permanent, InDoubt, true}}, // a wrong port
		{
			errors: []error{
				sasl.ErrMismatch, sasl.ErrNotMutual, sasl.ErrChallenge, sasl.ErrProtection, sasl.ErrEncryptionType, ErrNoCommonAuth,
				kerberos.ErrUnknownService,
			},
			Verdict: Verdict{"login failed at one host", Permanent, NotExecuted, true},
		},
		{errors: []error{ErrNoLogin}, Verdict: Verdict{"no login", Permanent, NotExecuted, false}}, // other servers want a login too
		{match: isA[*kerberos.ServerMismatchError], Verdict: Verdict{"unexpected server principal", Permanent, NotExecuted, true}},
		{errors: []error{kerberos.ErrClockSkew}, Verdict: Verdict{"clock skew", Permanent, NotExecuted, false}}, // this machine's clock: all servers follow the KDC's
		{
			errors:  []error{kerberos.ErrUnknownClient, kerberos.ErrWrongKey, kerberos.ErrLocked},
			Verdict: Verdict{"login refused by the kdc", Permanent, NotExecuted, false},
		},
		{errors: []error{kerberos.ErrKDC}, Verdict: Verdict{"no kdc answers", RetrySame, NotExecuted, false}},
		{errors: []error{kerberos.ErrExpired, kerberos.ErrNoTicket}, Verdict: Verdict{"no valid ticket", Reauth, NotExecuted, false}},
		{
			errors:  []error{syscall.ECONNREFUSED, syscall.EHOSTUNREACH, syscall.ENETUNREACH, syscall.EHOSTDOWN, ErrConnectTimeout},
			Verdict: Verdict{"unreachable", FailOver, NotExecuted, false},
		},
		{match: isA[*net.DNSError], Verdict: Verdict{"unknown host", FailOver, NotExecuted, false}},
		{errors: []error{ErrTimeout}, Verdict: Verdict{"no answer in time", FailOver, InDoubt, false}}, // half-open, or stopped
		{
			errors:  []error{ErrClosed, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, io.ErrClosedPipe, sasl.ErrExhausted},
			Verdict: Verdict{"connection lost", FailOver, InDoubt, false},
		},
		{match: isA[syscall.Errno], Verdict: Verdict{"connection broken", FailOver, InDoubt, false}},
		{match: isA[net.Error], Verdict: Verdict{"network failure", FailOver, InDoubt, false}},

		// Faults in the client's setup, or signs that a connection was tampered with: no token found, a
		// request too large, a wrong sequence number.
		{match: func(error) bool { return true }, Verdict: Verdict{"client failure", Permanent, InDoubt, false}},
	}
}

func isA[T error](err error) bool {
	_, ok := errors.AsType[T](err)
	return ok
}

// isRefusedConnection reports whether the server refused the connection before it looked at any call.
func isRefusedConnection(e *RemoteError) bool { return e.Method == "" }

func (c *class) has(err error) bool {
	if c.match != nil {
		return c.match(err)
	}
	return slices.ContainsFunc(c.errors, func(target error) bool { return errors.Is(err, target) })
}

// Judge returns the verdict for the class of err, which must not be nil. MaybeSent tells whether
// the server may have executed this very call.
func Judge(err error) Verdict {
	remote, isRemote := errors.AsType[*RemoteError](err)
	var last Verdict
	for _, c := range classes() {
		last = c.Verdict
		if isRemote && c.remote != nil && c.remote(remote) || !isRemote && c.remote == nil && c.has(err) {
			break
		}
	}
	return last
}

// Classify returns the action that may help after err. It does not say whether the call may be
// repeated; MaybeSent does.
func Classify(err error) Action { return Judge(err).Action }
