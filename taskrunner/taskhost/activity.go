package taskhost

import (
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/taskrunner/exchange"
)

// activity measures what a task does. The goroutine that runs the task's code tells when it begins and ends to wait; any
// goroutine may ask.
type activity struct {
	now func() time.Time

	mu    sync.Mutex // guards what follows
	since time.Time  // when the times were last brought up to date
	times msg.TaskMetrics
}

func newActivity(now func() time.Time) *activity { return &activity{now: now, since: now()} }

// turn says what the task does from now on.
func (a *activity) turn(to msg.TaskActivity) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.update()
	a.times.Now = to
}

// measured gives the times until now.
func (a *activity) measured() msg.Activity {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.update()
	return a.times.Activity
}

// update adds the time since the last call to what the task has done since then.
func (a *activity) update() {
	now := a.now()
	a.times = a.times.After(now.Sub(a.since))
	a.since = now
}

// waits watches the waits of one kind.
type waits struct {
	*activity
	as msg.TaskActivity
}

var _ exchange.Watcher = waits{}

func (w waits) Wait()   { w.turn(w.as) }
func (w waits) Resume() { w.turn(msg.TaskBusy) }

// forInput and forConsumers watch the waits for input and for consumers.
func (a *activity) forInput() waits     { return waits{a, msg.TaskIdle} }
func (a *activity) forConsumers() waits { return waits{a, msg.TaskBackPressured} }
