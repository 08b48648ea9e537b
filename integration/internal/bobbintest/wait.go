package bobbintest

import (
	"context"
	"testing"
	"time"
)

// Patience is how long anything may take that a test waits for: many times what
// it takes on a busy machine.
const Patience = 6 * time.Minute

// soon is how long processes may take to end once their application has: many
// times the second that they take, and far below the timeouts that end them when
// something is wrong.
const soon = 30 * time.Second

const pollInterval = 25 * time.Millisecond

// Eventually waits until a condition holds. An error of the condition fails the
// test at once.
func Eventually(t testing.TB, what string, is func() (bool, error)) {
	t.Helper()
	within(t, Patience, what, is)
}

// Until is Eventually for a condition that cannot fail.
func Until(t testing.TB, what string, is func() bool) {
	t.Helper()
	Eventually(t, what, func() (bool, error) { return is(), nil })
}

func within(t testing.TB, limit time.Duration, what string, is func() (bool, error)) {
	t.Helper()
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		done, err := is()
		if err != nil {
			t.Fatalf("waiting until %s: %v", what, err)
		}
		if done {
			return
		}
		select {
		case <-ticker.C:
		case <-t.Context().Done():
			t.Fatalf("waiting until %s: %v", what, context.Cause(t.Context()))
		case <-deadline.C:
			t.Fatalf("waited %v in vain until %s", limit, what)
		}
	}
}
