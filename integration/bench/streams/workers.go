package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/integration/internal/fleet"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/pki"
)

// plan is what the parent measures.
type plan struct {
	workers, steps, slots int
	settle                time.Duration
	limit, profiles       string
}

// run starts the child and measures it after each step, and before the first one.
func (p plan) run(ctx context.Context) (all []Measured, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c, err := p.start(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.stop(cancel)) }()
	for step := range p.steps + 1 {
		var got Measured
		count := p.workers * step / p.steps
		if step > 0 {
			g, err := c.ask(request{Grow: &grow{Workers: count - p.workers*(step-1)/p.steps}})
			if err != nil {
				return nil, err
			}
			got.Took, got.GrowCPU = g.Grown.Took, g.Grown.CPU
		}
		m := measure{Settle: p.settle}
		if step == p.steps {
			m.Profiles = p.profiles
		}
		answer, err := c.ask(request{Measure: &m})
		if err != nil {
			return nil, err
		}
		took, cpu := got.Took, got.GrowCPU
		got = *answer.Measured
		got.Workers, got.Took, got.GrowCPU = count, took, cpu
		all = append(all, got)
	}
	return all, nil
}

// connection is the parent's side of the child.
type connection struct {
	command *exec.Cmd
	in      io.WriteCloser
	pipe    io.Reader
	out     *json.Decoder
	workers sync.WaitGroup
	ctx     context.Context //nolint:containedctx // of the workers, which live as long as the connection
}

func (p plan) start(ctx context.Context) (*connection, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	args := []string{asMaster}
	if p.profiles != "" {
		args = append(args, asProfiled)
	}
	c := &connection{command: exec.Command(self, args...), ctx: ctx} //nolint:noctx // it ends with its input
	c.command.Env = append(os.Environ(), "GOMEMLIMIT="+p.limit)
	c.command.Stderr = os.Stderr
	if c.in, err = c.command.StdinPipe(); err != nil {
		return nil, err
	}
	if c.pipe, err = c.command.StdoutPipe(); err != nil {
		return nil, err
	}
	c.out = json.NewDecoder(c.pipe)
	if err := c.command.Start(); err != nil {
		return nil, err
	}
	return c, json.NewEncoder(c.in).Encode(hello{p.slots})
}

// ask sends a request, and starts workers until the answer comes.
func (c *connection) ask(r request) (reply, error) {
	if err := json.NewEncoder(c.in).Encode(r); err != nil {
		return reply{}, err
	}
	for {
		var answer reply
		if err := c.out.Decode(&answer); err != nil {
			return reply{}, fmt.Errorf("read answer of the child: %w", err)
		}
		switch {
		case answer.Error != "":
			return reply{}, errors.New(answer.Error)
		case answer.Worker != nil:
			if err := c.startWorker(*answer.Worker); err != nil {
				return reply{}, err
			}
		default:
			return answer, nil
		}
	}
}

func (c *connection) startWorker(s started) error {
	credentials, err := pki.ParsePEM(s.Secret)
	if err != nil {
		return err
	}
	silent := logrus.New()
	silent.SetOutput(io.Discard)
	silent.SetLevel(logrus.ErrorLevel)
	c.workers.Go(func() {
		err := fleet.Run(c.ctx, fleet.Worker{
			Container: ids.ResourceID(s.Container), Credentials: credentials,
			Launch: launch.TaskExecutor{
				AMAddress: s.Address, Host: "127.0.0.1", Memory: s.Memory, VCores: s.Memory.Slots,
				Programs: map[string]string{"reading": "reading"},
			},
		}, fleet.Reading(), silent)
		if c.ctx.Err() == nil {
			fmt.Fprintf(os.Stderr, "streams: worker %s has ended: %v\n", s.Container, err)
		}
	})
	return nil
}

// stop ends the child, and then the workers. If they ended first, the child would order others of a parent that reads no
// more.
func (c *connection) stop(cancel context.CancelFunc) error {
	err := c.in.Close()
	_, read := io.Copy(io.Discard, c.pipe)
	err = errors.Join(err, read, c.command.Wait())
	cancel()
	c.workers.Wait()
	return err
}
