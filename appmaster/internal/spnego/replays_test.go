package spnego

import (
	"encoding/binary"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// request is the n-th request.
func request(n int) (d digest) {
	binary.BigEndian.PutUint64(d[:], uint64(n))
	return d
}

// TestOneUserDoesNotKeepOthersOut is the attack of a user with a ticket who sends as many requests as he
// can. It would catch a table that he fills, so that no user is let in for ten minutes, and a table that
// forgets requests that are still valid.
func TestOneUserDoesNotKeepOthersOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, taken := newReplays(), 0
		for n := range 2 * maxSeen {
			if r.first("mallory@EXAMPLE.ORG", request(n), time.Now()) == nil {
				taken++
			}
		}
		if taken != maxOfUser {
			t.Errorf("%d requests of one user are remembered, want %d", taken, maxOfUser)
		}
		if err := r.first("alice@EXAMPLE.ORG", request(-1), time.Now()); err != nil {
			t.Errorf("another user: %v", err)
		}
		time.Sleep(memorable)
		if err := r.first("mallory@EXAMPLE.ORG", request(0), time.Now()); !errors.Is(err, ErrRefused) {
			t.Errorf("a request that is good yet, once more: %v, want ErrRefused", err)
		}
		time.Sleep(time.Second)
		if err := r.first("mallory@EXAMPLE.ORG", request(1), time.Now()); err != nil {
			t.Errorf("when they would be refused for their age: %v", err)
		}
		if len(r.order) != 1 || len(r.seen) != 1 || len(r.of) != 1 {
			t.Errorf("%d, %d and %d are remembered, want the last one", len(r.order), len(r.seen), len(r.of))
		}
	})
}

// TestAllUsersTogetherAreBounded would catch a table that grows with the number of users.
func TestAllUsersTogetherAreBounded(t *testing.T) {
	t.Parallel()
	r, now, taken := newReplays(), time.Unix(0, 0), 0
	for n := range 2 * maxSeen {
		if r.first(fmt.Sprint("user", n), request(n), now) == nil {
			taken++
		}
	}
	if taken != maxSeen || len(r.of) != maxSeen {
		t.Errorf("%d requests of %d users are remembered, want %d", taken, len(r.of), maxSeen)
	}
}

// TestNoRequestIsTakenTwice compares the table with a list of all accepted requests.
func TestNoRequestIsTakenTwice(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r, now := newReplays(), time.Unix(0, 0)
		until := map[int]time.Time{}
		for range rapid.IntRange(1, 200).Draw(t, "requests") {
			now = now.Add(time.Duration(rapid.IntRange(0, int(memorable/4)).Draw(t, "pause")))
			n, user := rapid.IntRange(0, 20).Draw(t, "request"), rapid.SampledFrom([]string{"alice", "bob"}).Draw(t, "user")
			_, before := until[n]
			before = before && !now.After(until[n])
			if err := r.first(user, request(n), now); (err == nil) == before {
				t.Fatalf("request %d of %s: %v; it was here before: %t", n, user, err, before)
			}
			if !before {
				until[n] = now.Add(memorable)
			}
		}
	})
}
