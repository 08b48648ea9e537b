package top

import (
	"time"

	"github.com/bobbin-yarn/bobbin/client/terminal/full"
)

// question is asked again and again, one at a time. One goroutine uses it, and ask runs in another one.
type question struct {
	ask     func(tell func(Event)) (wait time.Duration)
	screen  *full.Screen
	due     *time.Timer // sends when the next one may be asked
	asking  bool
	began   time.Time // the last one
	rests   time.Time // until then: a user who moves on and on asks for half of the time, at most
	answers chan answer
}

// answer is what a question has found. The last answer has no event, and the time until the next question.
type answer struct {
	event Event
	last  bool
	wait  time.Duration
}

// newQuestion makes a question that is due at once. ask may tell several events. It returns soon after it has been told to,
// by its context.
func newQuestion(screen *full.Screen, ask func(tell func(Event)) (wait time.Duration)) *question {
	return &question{ask: ask, screen: screen, due: time.NewTimer(0), answers: make(chan answer)}
}

// begin asks, unless a question is under way.
func (q *question) begin() {
	if q.asking {
		return // its last answer sets the time of the next one
	}
	q.asking, q.began = true, time.Now()
	go func() { // ends when its last answer is taken; end does so, too
		defer q.screen.Guard()
		wait := q.ask(func(e Event) { q.answers <- answer{event: e} })
		q.answers <- answer{last: true, wait: wait}
	}()
}

// soon makes the next question due, when as much time has passed since the last one as that has taken. A question that is
// under way is not asked anew before its end.
func (q *question) soon() { q.due.Reset(time.Until(q.rests)) }

// answered takes note of an answer.
func (q *question) answered(a answer) {
	if a.last {
		q.asking = false
		q.rests = time.Now().Add(time.Since(q.began))
		q.due.Reset(a.wait)
	}
}

// end waits for the end of a question that is under way.
func (q *question) end() {
	for q.asking {
		q.answered(<-q.answers)
	}
	q.due.Stop()
}

// update is the view after an answer.
func (a answer) update(m Model) Model {
	if a.event == nil {
		return m
	}
	return Update(m, a.event)
}
