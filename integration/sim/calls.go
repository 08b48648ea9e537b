package sim

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"syscall"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/integration/sim/engine"
	"github.com/bobbin-yarn/bobbin/internal/sched"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds/identifier"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnfake/books"
)

// clock is the virtual time for the clients of YARN.
type clock struct{ *engine.Process }

// Sleep implements yarnrpc.Clock.
func (clock) Sleep(ctx context.Context, d time.Duration) error { return sched.Sleep(ctx, d) }

// rpc makes the connections of one process to YARN.
type rpc struct {
	y       *yarn
	process *engine.Process
	node    *node // of the process; nil: elsewhere
	jitter  *rand.Rand
	user    string
}

// connect implements yarnrpc.Options.Connect.
func (r rpc) connect(addresses []string, o yarnrpc.Options, _ yarnrpc.Policy) yarnrpc.Connection {
	return &connection{rpc: r, address: addresses[0], o: o}
}

// connection is a connection to the ResourceManager or to a NodeManager.
type connection struct {
	rpc
	address string
	o       yarnrpc.Options
}

// callTimeout is how long a call waits for its answer.
const callTimeout = 2 * time.Minute

// Reset implements yarnrpc.Connection: each call logs in anew.
func (c *connection) Reset() {}

// Close implements yarnrpc.Connection.
func (c *connection) Close() error { return nil }

// A process gets errAway if a server is away, and errLost if a connection breaks.
var (
	errAway = fmt.Errorf("connect: %w", syscall.ECONNREFUSED)
	errLost = fmt.Errorf("read: %w", syscall.ECONNRESET)
)

// heldError says that a call does not reach its server before a time. TCP repeats it until then, also if the
// caller has given up.
type heldError struct{ until time.Time }

func (e heldError) Error() string { return "server does not answer" }

// name is the name of a call.
type name string

func (n name) String() string { return string(n) }

// Call implements yarnrpc.Caller.
func (c *connection) Call(ctx context.Context, method string, request, response proto.Message) error {
	encoded, err := proto.Marshal(request)
	if err != nil {
		return fmt.Errorf("encode %s: %w", method, err)
	}
	failed := func(maybeSent bool, err error) error {
		return &yarnrpc.CallError{Address: c.address, Method: method, MaybeSent: maybeSent, Err: err}
	}
	if cause := context.Cause(ctx); cause != nil {
		return failed(false, cause)
	}
	serve, err := c.server(ctx, method, encoded)
	if err != nil {
		return err
	}
	var result books.Answer
	var fault error
	answered := false
	answer := func(a books.Answer, err error) {
		c.y.w.engine.After(between(c.jitter, leastDelay, mostDelay), c.process, func() { result, fault, answered = a, err, true })
	}
	p := passage{c, method, serve, answer, failed}
	c.y.w.engine.After(between(c.jitter, leastDelay, mostDelay), nil, func() {
		special, done := c.y.w.arrives(c.process.Name, name(method))
		p.arrive(special, done)
	})
	limited, cancel := sched.WithTimeoutCause(ctx, callTimeout, yarnrpc.ErrTimeout)
	defer cancel()
	sched.Until(limited, func() bool { return answered || limited.Err() != nil })
	switch {
	case !answered:
		return failed(true, context.Cause(limited))
	case fault != nil:
		return fault
	case result.Exception != nil:
		return &yarnrpc.RemoteError{Address: c.address, Method: method, Class: result.Exception.Class, Message: result.Exception.Message}
	}
	return proto.Unmarshal(result.Response, response)
}

// passage is a call on its way to its server and back.
type passage struct {
	*connection
	method string
	serve  func() (books.Answer, error)
	answer func(books.Answer, error) // brings it to the process
	failed func(maybeSent bool, err error) error
}

// arrive has the server execute the call as soon as the call reaches it. special is the fate that a fault has
// for the call; "": none has. done is called after the effect.
func (p passage) arrive(special fate, done func()) {
	w := p.y.w
	what := special
	if what == "" && w.engine.Now().Before(p.y.unsure) {
		what = chance(p.y.chaos)
	}
	if what == lost {
		w.meets(what, p.method)
		p.answer(books.Answer{}, p.failed(true, errLost))
		return
	}
	a, err := p.serve()
	var wait heldError
	switch {
	case errors.As(err, &wait):
		w.meets(held, p.method)
		w.engine.At(wait.until, nil, func() { p.arrive(special, done) })
		return
	case errors.As(err, new(*yarnrpc.RemoteError)): // the server refuses the connection
		p.answer(a, err)
	case err != nil:
		w.meets(refused, p.method)
		p.answer(a, p.failed(false, err))
	case what == unanswered:
		w.meets(what, p.method)
		p.losesTokens()
		p.answer(a, p.failed(true, errLost))
	default:
		p.answer(a, nil)
	}
	done()
}

// losesTokens notes that a later attempt does not get an answer to its registration. The NM tokens of its workers' nodes
// are in it.
func (p passage) losesTokens() {
	if p.o.Protocol != yarnrpc.ApplicationMasterProtocol || p.method != "registerApplicationMaster" {
		return
	}
	if m := p.y.w.masterAt(p.process.Name); m != nil && m.attempt.Attempt > 1 {
		m.tokensLost = true
	}
}

// server returns what serves a call. The error says that the connection cannot log in.
func (c *connection) server(ctx context.Context, method string, request []byte) (func() (books.Answer, error), error) {
	switch c.o.Protocol {
	case yarnrpc.ApplicationClientProtocol:
		call := books.ClientCall{User: c.user, Method: method, Request: request}
		return c.resourceManager(func() (books.Answer, error) { return c.y.step(call), nil }), nil //nolint:contextcheck // other processes
	case yarnrpc.ApplicationMasterProtocol:
		token, err := c.o.Token(ctx, c.address)
		if err != nil {
			return nil, err
		}
		id, err := identifier.DecodeAMRM(token)
		if err != nil {
			return nil, err
		}
		call := books.MasterCall{Attempt: id.Attempt, KeyID: id.KeyID, Method: method, Request: request}
		return c.resourceManager(func() (books.Answer, error) { //nolint:contextcheck // other processes
			if id.KeyID == rolledKey {
				c.y.w.facts[Rekeyed]++
			}
			if _, err := c.y.rm.AMRMPassword(token.Identifier); err != nil { // the login fails
				if refused, is := errors.AsType[*books.Exception](err); is {
					err = &yarnrpc.RemoteError{Address: c.address, Class: refused.Class, Message: refused.Message}
				}
				return books.Answer{}, err
			}
			return c.y.step(call), nil
		}), nil
	default:
		token, err := c.o.Token(ctx, c.address)
		if err != nil {
			return nil, err
		}
		id, err := identifier.DecodeNM(token)
		if err != nil {
			return nil, err
		}
		on, err := records.ParseNodeID(c.address)
		if err != nil {
			return nil, err
		}
		c.y.w.watch.act(c.y.w.masterAt(c.process.Name), method, on)
		return func() (books.Answer, error) { //nolint:contextcheck // other processes
			n := c.y.node(on)
			switch {
			case !n.nm.Up():
				return books.Answer{}, errAway
			case n.w.engine.Now().Before(n.silent):
				return books.Answer{}, heldError{n.silent}
			}
			return n.step(books.NodeCall{Application: id.Attempt.Application, Method: method, Request: request}), nil
		}, nil
	}
}

// resourceManager returns what serves a call to the ResourceManager, if the call reaches it.
func (c *connection) resourceManager(serve func() (books.Answer, error)) func() (books.Answer, error) {
	return func() (books.Answer, error) {
		switch now := c.y.w.engine.Now(); {
		case c.node != nil && now.Before(c.node.apart):
			return books.Answer{}, heldError{c.node.apart}
		case now.Before(c.y.away):
			return books.Answer{}, errAway
		}
		return serve()
	}
}
