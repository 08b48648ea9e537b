package budget

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

const (
	// RoomTime is how long a text waits for room: less than clients wait for answers.
	RoomTime = 30 * time.Second
	// Connections are as many as REST takes at a time; each may bring smallText without room.
	Connections = 1024
	// MiddleText is how long a text is, in bytes, that does not wait for large ones.
	MiddleText = 64 << 10
	// smallText is how long a text is, in bytes, that does not wait for room.
	smallText = 1 << 10
	// growth is how much more memory than its text a job takes that is decoded, at most: see the package's comment.
	growth = 5
	// smallMemory is what small texts take at most, in bytes.
	smallMemory = Connections * smallText * (1 + growth)
	// middleShare is the part of the room that is for texts up to MiddleText alone.
	middleShare = 8
)

// Room admits what is being read: bodies of requests, and jobs of users' programs. It bounds the
// memory that they take which are held at once, with what is decoded from them. Of its memory,
// smallMemory is set apart: a sign of life never waits. What is left holds 1/(1+growth) of its size
// in texts, an eighth of them for those up to MiddleText, which do not wait for somebody's large
// job, and the rest for larger ones, each of which has half of it at most, so that one that comes
// slowly leaves room for others. Make one with NewRoom; its methods may be called from any goroutine.
type Room struct {
	middle, large *semaphore.Weighted
	most          int64 // bytes of a text
}

// NewRoom divides so much memory, in bytes. 0: as much as two of the largest texts that
// rest.server.max-content-length allows need, and sixteen of MiddleText.
func NewRoom(memory int64, options config.Config) *Room {
	option := int64(options.Memory(config.RESTMaxContentLength))
	if memory == 0 {
		return &Room{semaphore.NewWeighted(16 * MiddleText), semaphore.NewWeighted(2 * option), option}
	}
	room := max(0, memory-smallMemory) / (1 + growth)
	middle := max(room/middleShare, MiddleText)
	large := max(room-middle, 2*MiddleText)
	return &Room{semaphore.NewWeighted(middle), semaphore.NewWeighted(large), min(option, large/2)}
}

// Largest is how long a text may be, in bytes.
func (r *Room) Largest() int { return int(r.most) }

// Hold waits for room for a text of so many bytes as it comes, Largest at most. leave gives the room
// back. The error is the cause of ctx, or wraps msg.ErrNotReady: others leave no room.
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
		return nil, fmt.Errorf("%w: other requests fill the memory for requests, and this one needs %d bytes: send it again, or raise %s", msg.ErrNotReady, bytes, config.JobManagerProcessSize)
	}
	return func() { room.Release(n) }, nil
}
