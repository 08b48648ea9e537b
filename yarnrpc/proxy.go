package yarnrpc

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/yarnrpc/wire"
)

// Proxy makes calls to a service with one or several addresses. One of them is the
// active server. The Proxy connects at the first call, stays with an address while it
// answers, and otherwise goes on to the next. A call keeps its number over all its
// tries, so that servers with a retry cache recognize it.
//
// A call that may have been executed is tried again only if that does no harm. If the
// Proxy gives up, MaybeSent tells whether the server may have executed the call. If a
// server refuses a token at login, the Proxy gets the token once more, because it may
// just have been rolled over. It also gets an expired ticket once more. It gets a
// refused ticket up to Options.LoginRetries times. Judge says what the Proxy does
// after each error.
type Proxy struct {
	addresses []string
	o         Options
	policy    Policy
	identity  *identity

	dialling chan struct{} // holds one while a caller dials
	done     chan struct{} // closed by the first Close

	mu      sync.Mutex              // guards what follows
	link    *link                   // the last connection or failed dial; nil: none since the address changed
	current int                     // index of the address to dial
	resets  int                     // calls of Reset
	old     []*Conn                 // retired by Reset, some of which may still answer calls
	cancel  context.CancelCauseFunc // ends the running dial; nil: none runs
	closed  bool
}

// link is the result of dialling an address.
type link struct {
	address string
	conn    *Conn
	err     error
}

// NewProxy makes a client of the service at addresses, host:port each. The first is
// tried first.
func NewProxy(addresses []string, o Options, p Policy) *Proxy {
	return &Proxy{
		addresses: slices.Clone(addresses),
		o:         o.withDefaults(),
		policy:    p,
		identity:  newIdentity(),
		dialling:  make(chan struct{}, 1),
		done:      make(chan struct{}),
	}
}

// errNoAddress says that a Proxy has no addresses.
var errNoAddress = errors.New("no address is configured")

// Call makes a call, with as many tries as the policy allows. See Caller.
func (p *Proxy) Call(ctx context.Context, method string, request, response proto.Message) error {
	if len(p.addresses) == 0 {
		return &CallError{Address: "no server", Method: method, Err: errNoAddress}
	}
	id := p.identity.call(p.o.Protocol, method)
	state := tries{policy: p.policy, addresses: len(p.addresses), logins: p.o.LoginRetries, began: time.Now()}
	failed := failures{method: method}
	for {
		l, err := p.try(ctx, id, request, response)
		if err == nil {
			return nil
		}
		if errors.Is(err, ErrClosed) && !MaybeSent(err) && !p.isClosed() {
			continue // the connection had just gone idle, or was reset
		}
		failed.add(l.address, err)
		verdict := Judge(err)
		if verdict.Action == FailOver || verdict.OneHost { // also for the next call, if this one is given up
			p.leave(l)
		}
		if p.isClosed() || MaybeSent(err) && !repeatable(p.o.Protocol, method) {
			return failed.report(err, state)
		}
		state.timeouts = state.timeouts || errors.Is(err, ErrConnectTimeout)
		if p.o.Login != nil && l.err != nil && errors.Is(err, ErrSASL) {
			verdict.Action = Reauth // the refused ticket has been dropped
		}
		wait, again := state.next(verdict, time.Now())
		if !again || verdict.Action == Reauth && (l.err == nil || p.o.Token == nil && p.o.Login == nil) {
			return failed.report(err, state)
		}
		p.o.Logger.WarnContext(ctx, "call failed and will be tried again", "method", method, "address", l.address, "wait", wait, "error", err)
		if err := p.sleep(ctx, wait); err != nil {
			failed.add(l.address, err)
			return failed.report(nil, state)
		}
		id.Retry++
	}
}

// try makes one try of a call.
func (p *Proxy) try(ctx context.Context, id wire.Call, request, response proto.Message) (*link, error) {
	var began time.Time
	if p.o.Observe != nil {
		began = time.Now()
	}
	l := p.connect(ctx)
	if l.err != nil {
		err := &CallError{Address: l.address, Method: id.Method, Err: l.err}
		if p.o.Observe != nil {
			p.o.Observe(tryOf(l.address, id, began, err))
		}
		return l, err
	}
	return l, l.conn.call(ctx, id, request, response)
}

// connect returns the current connection, or makes one. Callers that wait for the same
// connection share the result. If the context of one caller ends, the others still wait.
func (p *Proxy) connect(ctx context.Context) *link {
	p.mu.Lock()
	before, address := p.link, p.addresses[p.current]
	p.mu.Unlock()
	if before.usable() {
		return before
	}
	select {
	case p.dialling <- struct{}{}:
		defer func() { <-p.dialling }()
	case <-ctx.Done():
		return &link{address: address, err: contextError(ctx)}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)

	p.mu.Lock()
	if p.link != before && p.link != nil {
		defer p.mu.Unlock()
		return p.link // another caller has dialled meanwhile
	}
	if p.closed {
		p.mu.Unlock()
		return &link{address: address, err: ErrClosed}
	}
	p.retireLink()
	address = p.addresses[p.current]
	p.cancel = cancel
	resets := p.resets
	p.mu.Unlock()

	l := &link{address: address}
	l.conn, l.err = dial(ctx, address, p.o, p.identity)

	p.mu.Lock()
	defer p.mu.Unlock()
	p.cancel = nil
	switch {
	case l.err != nil && ctx.Err() != nil:
		// The caller's context has ended, or the Proxy was closed: this says nothing about the server.
	case p.closed || p.resets != resets:
		if l.conn != nil {
			l.conn.retire()
			p.old = append(p.old, l.conn)
		}
		l.conn, l.err = nil, ErrClosed
	default:
		p.link = l
	}
	return l
}

func (l *link) usable() bool { return l != nil && l.err == nil && l.conn.Err() == nil }

// leave changes to the next address, unless another caller with the same failure has done
// so already.
func (p *Proxy) leave(failed *link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.link == failed {
		p.retireLink()
		p.current = (p.current + 1) % len(p.addresses)
	}
}

// Reset makes the next call use a new connection. Call it after a token has been
// rolled over. Calls that wait for answers get them on the old connection.
func (p *Proxy) Reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.resets++
	p.retireLink()
}

// retireLink forgets the link, and those old connections that have ended. p.mu is held.
func (p *Proxy) retireLink() {
	p.old = slices.DeleteFunc(p.old, (*Conn).finished)
	if p.link != nil && p.link.conn != nil {
		p.link.conn.retire()
		p.old = append(p.old, p.link.conn)
	}
	p.link = nil
}

func (p *Proxy) isClosed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed
}

// Close ends all connections and the calls on them, and waits for their goroutines.
func (p *Proxy) Close() error {
	p.mu.Lock()
	if !p.closed {
		p.closed = true
		close(p.done)
	}
	if p.cancel != nil {
		p.cancel(ErrClosed)
	}
	p.mu.Unlock()

	p.dialling <- struct{}{} // the running dial has ended, and no other begins
	<-p.dialling

	p.mu.Lock()
	p.retireLink()
	conns := p.old
	p.old = nil
	p.mu.Unlock()
	var errs []error
	for _, c := range conns {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// failures collects the errors of a call's tries: the last one of each address.
type failures struct {
	method    string
	maybeSent bool
	last      map[string]error
}

// add records a failure. An error that only says that the try was given up keeps the
// error before it.
func (f *failures) add(address string, err error) {
	f.maybeSent = f.maybeSent || MaybeSent(err)
	var call *CallError
	var remote *RemoteError
	switch { // the report says the rest
	case errors.As(err, &call):
		err = call.Err
	case errors.As(err, &remote):
		err = said{remote}
	}
	before := f.last[address]
	if before != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrClosed)) {
		err = fmt.Errorf("%w, after: %w", err, before)
	}
	if f.last == nil {
		f.last = make(map[string]error)
	}
	f.last[address] = err
}

// said is a server's exception within a report. The report names the server and the
// method.
type said struct{ exception *RemoteError }

func (s said) Error() string { return s.exception.what() }
func (s said) Unwrap() error { return s.exception }

// report returns the error of a call that is given up. It is err, the error of the last
// try, if that was the only try or if the server's answer is final. Otherwise it has the
// last error of each server.
func (f *failures) report(err error, state tries) error {
	if err != nil && state.failed <= 1 && state.bound() == "" {
		return err
	}
	if remote, is := errors.AsType[*RemoteError](err); is && lastWord(err) {
		if f.maybeSent && !MaybeSent(err) { // an earlier try, which the server may have executed
			return &CallError{Address: remote.Address, Method: f.method, MaybeSent: true, Err: f.last[remote.Address]}
		}
		return err
	}
	addresses := slices.Sorted(maps.Keys(f.last))
	causes := make([]any, len(addresses))
	for i, address := range addresses {
		causes[i] = f.last[address]
		if len(addresses) > 1 {
			causes[i] = fmt.Errorf("%s: %w", address, f.last[address])
		}
	}
	format := strings.TrimSuffix(strings.Repeat("%w; ", len(causes)), "; ")
	return &CallError{
		Address:   strings.Join(addresses, ", "),
		Method:    f.method,
		MaybeSent: f.maybeSent,
		Err: fmt.Errorf("given up after %s in %v%s: %w",
			state.count(), time.Since(state.began).Round(time.Millisecond), state.bound(), fmt.Errorf(format, causes...)),
	}
}

// lastWord reports whether a server's exception is final, whatever the other servers
// answered.
func lastWord(err error) bool {
	v := Judge(err)
	return !v.OneHost && (v.Action == Permanent || v.Action == Reauth)
}

// sleep waits, unless ctx or the proxy ends first.
func (p *Proxy) sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return contextError(ctx)
	case <-p.done:
		return ErrClosed
	}
}
