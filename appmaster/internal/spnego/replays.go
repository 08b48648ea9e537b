package spnego

import (
	"crypto/sha256"
	"fmt"
	"sync"
	"time"
)

const (
	// maxSeen is how many requests are remembered, maxOfUser how many of one user: some seven a second for
	// as long as they are valid.
	maxSeen   = 1 << 16
	maxOfUser = 1 << 12
	// memorable is how long a request could be valid: the client's clock may be ahead, or behind.
	memorable = 2 * clockSkew
)

// replays remembers requests for as long as they are valid, so that none is accepted twice. Each user has a
// share of his own: a user who fills his share keeps no other user out. It may be used from any goroutine.
type replays struct {
	mu   sync.Mutex // guards what follows
	seen map[digest]struct{}
	of   map[digest]int // remembered requests, by user
	// order has all requests, the oldest first, because each is valid for the same time.
	order []remembered
}

// digest is the hash of a request's authenticator or of a user's name. Clients choose the lengths of these.
type digest [sha256.Size]byte

// remembered is one request.
type remembered struct {
	request, user digest
	until         time.Time
}

func newReplays() *replays {
	return &replays{seen: make(map[digest]struct{}), of: make(map[digest]int)}
}

// first remembers a user's request. It returns an error if the request was remembered before, or if there
// is no room to remember it. If several goroutines call it for the same request, at most one call succeeds.
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

// expire forgets requests that are too old to be accepted.
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
