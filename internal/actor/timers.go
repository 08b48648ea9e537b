package actor

import (
	"sync"
	"time"
)

// Timers turns SetTimer effects into events. A timer is named by a comparable
// key; setting it again moves it. A fired timer's event is checked by the core
// against its state, as it may be stale.
type Timers[K comparable] struct {
	fire    func(K)
	running sync.WaitGroup // calls of fire; added to under mu, and not once stopped

	mu      sync.Mutex // guards timers, stopped
	timers  map[K]*time.Timer
	stopped bool
}

// NewTimers makes timers that call fire, each in a goroutine of its own; fire
// posts to the loop and gives up when the loop has ended.
func NewTimers[K comparable](fire func(K)) *Timers[K] {
	return &Timers[K]{fire: fire, timers: make(map[K]*time.Timer)}
}

// Set (re)arms the timer of this key.
func (t *Timers[K]) Set(key K, after time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stopped {
		return
	}
	if old := t.timers[key]; old != nil {
		old.Stop()
	}
	var self *time.Timer
	self = time.AfterFunc(after, func() {
		t.mu.Lock()
		current := t.timers[key] == self && !t.stopped
		if current {
			delete(t.timers, key)
			t.running.Add(1)
		}
		t.mu.Unlock()
		if current {
			defer t.running.Done()
			t.fire(key)
		}
	})
	t.timers[key] = self
}

// Cancel disarms the timer of this key, if it is armed.
func (t *Timers[K]) Cancel(key K) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if old := t.timers[key]; old != nil {
		old.Stop()
		delete(t.timers, key)
	}
}

// Stop disarms all timers for good, and waits for the calls of fire that are under way:
// once it has returned there are none, nor will there be. It may be called again. fire must
// not call it, and must come to its end where it is called: a fire that posts to a loop
// does once the loop has ended.
func (t *Timers[K]) Stop() {
	t.mu.Lock()
	t.stopped = true
	for key, timer := range t.timers {
		timer.Stop()
		delete(t.timers, key)
	}
	t.mu.Unlock()
	t.running.Wait()
}
