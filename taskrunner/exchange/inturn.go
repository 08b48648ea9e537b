package exchange

import (
	"context"
	"errors"
	"slices"
	"time"
)

// maxOpen bounds the channels of one gate to finished partitions that are open at a time. Each has a guaranteed buffer, and the data of
// all is there already. So more of them would not make the gate faster.
const maxOpen = 64

// askInTurn requests channels of n finished partitions, beginning with first. The first Poll opens some, and when one has ended, the
// next follows. A gate that the task holds back opens none: a Server that is busy lets other hosts read meanwhile, and two hosts cannot
// wait for each other.
func (g *InputGate) askInTurn(ctx context.Context, first, n int, producer func(int) Producer) {
	opened := 0
	g.again = func(p Producer) *inputChannel { return g.exchange.ask(ctx, g, p) }
	g.follow = func() {
		if opened < n {
			p := producer((first + opened) % n)
			opened++
			g.again(p)
		}
	}
	g.begin = func() {
		for range min(n, maxOpen) {
			g.follow()
		}
	}
}

// putOff keeps a channel that a busy Server has refused, to ask again after busyPause. False: the Server is not busy, or has refused the
// channel busyTries times.
func (g *InputGate) putOff(c *inputChannel, err error) bool {
	lost, is := errors.AsType[*PeerLostError](err)
	if !is || !errors.Is(lost.Err, errBusy) || g.again == nil || c.begun {
		return false
	}
	c.refusals++
	if c.waits = c.refusals < busyTries; c.waits {
		time.AfterFunc(busyPause, c.notify)
	}
	return c.waits
}

// askAgain replaces a channel that was put off.
func (g *InputGate) askAgain(c *inputChannel) {
	c.ended = true
	c.source.close()
	g.again(c.producer).refusals = c.refusals
	g.drop(c)
	g.left(1)
}

// drop removes a channel that has ended, with its guaranteed buffer and its memory.
func (g *InputGate) drop(c *inputChannel) {
	g.mu.Lock()
	kept := make([]*inputChannel, 0, len(g.channels))
	g.channels = slices.DeleteFunc(append(kept, g.channels...), func(other *inputChannel) bool { return other == c })
	g.mu.Unlock()
	c.records = assembler{}
	g.remote--
	g.exchange.pool.reserve(-1)
}
