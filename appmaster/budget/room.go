package budget

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/memory"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

const (
	// RoomTime is how long a text waits for room. Clients wait longer for answers.
	RoomTime = 30 * time.Second
	// Connections is how many connections REST accepts at a time. Each may bring smallText without room.
	Connections = 1024
	// MiddleText is the length up to which a text does not wait for large ones, in bytes.
	MiddleText = 64 << 10
	// smallText is the length up to which a text does not wait for room, in bytes.
	smallText = 1 << 10
	// growth is how much more memory than its text a decoded job takes at most: see the package's comment.
	growth = 5
	// smallMemory is the most memory that small texts take, in bytes.
	smallMemory = Connections * smallText * (1 + growth)
	// middleShare is the fraction of the room that is only for texts up to MiddleText: an eighth.
	middleShare = 8
)

// Room admits what is being read: bodies of requests, and jobs of users' programs. It bounds the memory of
// all texts that are held at the same time, with what is decoded from them.
//
// Of its memory, smallMemory is set apart, so that a heartbeat never waits. 1/(1+growth) of the rest holds
// texts. An eighth of that is for texts up to MiddleText, which then do not wait for another user's large
// job. The remaining part is for larger texts. Each of these takes half of it at most, so that a text that
// arrives slowly leaves room for others. Make a Room with NewRoom. Its methods may be called from any
// goroutine.
type Room struct {
	middle, large *semaphore.Weighted
	most          int64            // bytes of a text
	raise         config.MemoryKey // the option that gives more room
}

// NewRoom divides the given number of bytes. 0: enough for two of the largest texts that
// rest.server.max-content-length allows, and for sixteen of MiddleText.
func NewRoom(bytes int64, options config.Config) *Room {
	option, raise := int64(options.Memory(config.RESTMaxContentLength)), memory.MasterSizedBy(options)
	if bytes == 0 {
		return &Room{semaphore.NewWeighted(16 * MiddleText), semaphore.NewWeighted(2 * option), option, raise}
	}
	room := max(0, bytes-smallMemory) / (1 + growth)
	middle := max(room/middleShare, MiddleText)
	large := max(room-middle, 2*MiddleText)
	return &Room{semaphore.NewWeighted(middle), semaphore.NewWeighted(large), min(option, large/2), raise}
}

// Largest returns the largest length of a text, in bytes.
func (r *Room) Largest() int { return int(r.most) }

// Hold waits for room for a text of the given number of bytes, encoded, Largest at most. leave gives the
// room back. The error is the cause of ctx, or wraps msg.ErrNotReady if other texts leave no room.
func (r *Room) Hold(ctx context.Context, bytes int) (leave func(), err error) {
	room, n := r.large, int64(bytes)
	switch {
	case n <= smallText:
		return func() {}, nil
	case n <= MiddleText:
		room = r.middle
	}
	waiting, end := context.WithTimeout(ctx, RoomTime)
	defer end()
	if room.Acquire(waiting, n) != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, fmt.Errorf("%w: other requests fill the memory for requests, and this one needs %d bytes: send it again, or raise %s", msg.ErrNotReady, bytes, r.raise)
	}
	return func() { room.Release(n) }, nil
}
