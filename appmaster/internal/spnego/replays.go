package spnego

import (
	"crypto/sha256"
	"fmt"
	"sync"
	"time"
)

const (
	// maxSeen bounds the requests that are remembered, and maxOfUser those of one user among them: some seven a second
	// for as long as they are good.
	maxSeen   = 1 << 16
	maxOfUser = 1 << 12
	// memorable is how long a request would be good: the client's clock may be ahead, or behind.
	memorable = 2 * clockSkew
)

// replays remembers requests for as long as they would be good, so that none is taken twice. Each user has a share of
// its own: who fills his keeps nobody else out. It may be used from any goroutine.
type replays struct {
	mu   sync.Mutex // guards what follows
	seen map[digest]struct{}
	of   map[digest]int // how many are remembered, by user
	// order is all of them, the oldest first: each is good for equally long.
	order []remembered
}

// digest stands for a request's authenticator or a user's name, whose length others choose.
type digest [sha256.Size]byte

// remembered is one request.
type remembered struct {
	request, user digest
	until         time.Time
}

func newReplays() *replays {
	return &replays{seen: make(map[digest]struct{}), of: make(map[digest]int)}
}

// first is an error for a user's request that has been here before, or that there is no room to remember. Of several
// calls at once for the same request, one is the first.
func (r *replays) first(user string, request digest, now time.Time) error {
	n := remembered{request, sha256.Sum256([]byte(user)), now.Add(memorable)}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.expire(now)
	if _, before := r.seen[n.request]; before {
		return fmt.Errorf("%w: it was used before", ErrRefused)
	}
	if r.of[n.user] >= maxOfUser {
		return fmt.Errorf("%w: %s has sent too many tickets within %v", ErrRefused, user, memorable)
	}
	if len(r.order) >= maxSeen {
		return fmt.Errorf("%w: all users together have sent too many tickets within %v", ErrRefused, memorable)
	}
	r.seen[n.request] = struct{}{}
	r.of[n.user]++
	r.order = append(r.order, n)
	return nil
}

// expire forgets what would be refused for its age.
func (r *replays) expire(now time.Time) {
	n := 0
	for ; n < len(r.order) && now.After(r.order[n].until); n++ {
		old := r.order[n]
		delete(r.seen, old.request)
		if r.of[old.user]--; r.of[old.user] == 0 {
			delete(r.of, old.user)
		}
	}
	r.order = r.order[n:]
}
