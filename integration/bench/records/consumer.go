package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/pki"
)

// job is the job of both hosts.
const job ids.JobID = "measured"

// The parent sends an assignment and then orders, one line of JSON each, and the child answers each with a line: with its
// address, with nothing, or with its usage.
type (
	assignment struct {
		Plan     plan
		Identity []byte // the child's certificates and key; empty without TLS
	}
	order struct {
		Send  bool `json:",omitempty"` // send the records of the next phase; no answer
		Usage bool `json:",omitempty"` // answer with the usage since the last order to send
	}
	introduction struct{ Address string }
)

// consume starts the child, and receives what it sends.
func consume(ctx context.Context, p plan) (moved Moved, err error) {
	ours, theirs, err := identities(p)
	if err != nil {
		return moved, err
	}
	c, err := startProducer(ctx, assignment{p, theirs})
	if err != nil {
		return moved, err
	}
	defer func() { err = errors.Join(err, c.stop()) }()
	var hello introduction
	if err := c.out.Decode(&hello); err != nil {
		return moved, fmt.Errorf("read address of the producer: %w", err)
	}
	from, err := newReceiver(ctx, p, hello.Address, ours)
	if err != nil {
		return moved, err
	}
	defer func() { err = errors.Join(err, from.close()) }()
	for phase := range phases {
		if moved, err = c.receive(ctx, p, from, phase); err != nil {
			return moved, err
		}
	}
	return moved, nil
}

// identities gives each process the credentials of a task host; nil without TLS.
func identities(p plan) (consumer *pki.Credentials, producer []byte, err error) {
	if p.Plain {
		return nil, nil, nil
	}
	now := time.Now()
	authority, err := pki.NewAuthority("application_1_0001", now)
	if err != nil {
		return nil, nil, err
	}
	host := func(container ids.ResourceID) (*pki.Credentials, error) {
		executor, err := authority.IssueTaskExecutor(container, now)
		if err != nil {
			return nil, err
		}
		return executor.IssueTaskHost(job, now)
	}
	if consumer, err = host("c1"); err != nil {
		return nil, nil, err
	}
	other, err := host("c2")
	if err != nil {
		return nil, nil, err
	}
	secret, err := other.PEM()
	return consumer, secret, err
}

// child is the parent's side of the producer.
type child struct {
	command *exec.Cmd
	pipe    io.Closer
	in      *json.Encoder
	out     *json.Decoder
}

func startProducer(ctx context.Context, a assignment) (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	command := exec.CommandContext(ctx, self, asProducer)
	command.Stderr = os.Stderr
	in, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	c := &child{command: command, pipe: in, in: json.NewEncoder(in), out: json.NewDecoder(out)}
	if err := c.in.Encode(a); err != nil {
		return nil, errors.Join(err, c.stop())
	}
	return c, nil
}

// receive orders the records of a phase, and receives them.
func (c *child) receive(ctx context.Context, p plan, from receiver, phase int) (Moved, error) {
	before, began := usageNow(), time.Now()
	if err := c.in.Encode(order{Send: true}); err != nil {
		return Moved{}, err
	}
	moved, err := from.receive(ctx, phase)
	if err != nil {
		return moved, err
	}
	moved.Took = time.Since(began)
	if want := p.records(phase) * int64(p.Size); moved.Bytes != want {
		return moved, fmt.Errorf("%d bytes have arrived, want %d", moved.Bytes, want)
	}
	if err := c.in.Encode(order{Usage: true}); err != nil {
		return moved, err
	}
	var theirs usage
	if err := c.out.Decode(&theirs); err != nil {
		return moved, fmt.Errorf("read usage of the producer: %w", err)
	}
	after := usageNow()
	moved.CPU = after.CPU - before.CPU + theirs.CPU
	moved.Peak = after.Peak + theirs.Peak
	return moved, nil
}

// stop ends the child by the end of its input.
func (c *child) stop() error { return errors.Join(c.pipe.Close(), c.command.Wait()) }
