package exchange

import (
	"context"
	"slices"
)

// maxOpen bounds the channels of one gate to finished partitions that are open at a time. Each has a guaranteed buffer, and the data of
// all is there already. So more of them would not make the gate faster.
const maxOpen = 64

// askInTurn requests channels of n finished partitions, beginning with first. It opens some, and when one has ended, the next.
func (g *InputGate) askInTurn(ctx context.Context, first, n int, producer func(int) Producer) {
	opened := 0
	g.follow = func() {
		if opened < n {
			p := producer((first + opened) % n)
			opened++
			g.exchange.ask(ctx, g, p)
		}
	}
	for range min(n, maxOpen) {
		g.follow()
	}
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
