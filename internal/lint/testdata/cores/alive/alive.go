// Package alive has a core whose state, events and effects are not plain data. Each name says why.
package alive

import (
	"context"
	"net"
	"os"
	"sync"
	"time"
)

type core struct {
	plain
	conn        net.Conn                 // want "alive.core.conn has type net.Conn: keep"
	connections map[int]*connection      // the file is found below
	ctx         context.Context          // want "has type context.Context"
	timers      []*time.Timer            // want "alive.core.timers[] has type time.Timer, which holds a channel"
	anything    any                      // want "alive.core.anything is an interface that takes any type"
	strategy    strategy                 // the function is found below
	missing     missing                  // want "alive.core.missing has type alive.missing, which no type of ours implements"
	pair        [2]generic[chan<- error] // the channel is found below
	outbox      interface{ Put(int) }    // want "is an interface that takes any type"
}

// plain is data, however deep.
type plain struct {
	now      time.Time
	err      error
	names    map[string][]byte
	next     *plain
	text     interface{ isText() } // want "is an interface that takes any type"
	strategy sealed
}

type connection struct {
	again sync.Mutex // want "alive.core.connections[].again has type sync.Mutex"
	file  *os.File   // want "alive.core.connections[].file has type os.File, which holds "
	lock  sync.Mutex // want "alive.core.connections[].lock has type sync.Mutex"
}

type generic[T any] struct {
	value T // want "alive.core.pair[].value is a channel"
}

type missing interface{ Missing() }

// Any package may implement an interface of exported methods.
type strategy interface{ Delay() time.Duration }

type fixed struct{ delay time.Duration }

func (f fixed) Delay() time.Duration { return f.delay }

type asking struct {
	ask func() time.Duration // want "alive.core.strategy.(alive.asking).ask is a function"
}

func (a *asking) Delay() time.Duration { return a.ask() } // want "calls a function from field ask"

type sealed interface{ isSealed() }

type one struct{ number int }

func (one) isSealed() {}

type event interface{ isEvent() }

type (
	told  struct{ text string }
	asked struct {
		reply chan<- error // want "alive.core.Step.(alive.asked).reply is a channel"
	}
)

func (told) isEvent()  {}
func (asked) isEvent() {}

type effect interface{ isEffect() }

type (
	tell   struct{ events []event }
	answer struct {
		then func(error) // want "alive.core.Step[].(alive.answer).then is a function"
	}
)

func (tell) isEffect()   {}
func (answer) isEffect() {}

func (c *core) Step(now time.Time, e event) []effect {
	_ = c.strategy.Delay()
	return nil
}
