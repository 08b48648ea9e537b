package resourcemanager

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

const (
	// inquiryTime is how long a user waits for the answer of a worker: as long as Flink's roles wait for each
	// other's answers (akka.ask.timeout). A worker answers within milliseconds, unless its process is stopped.
	inquiryTime = 10 * time.Second
	// maxInquiries bounds the questions of all users that are open, and so the memory for their answers.
	maxInquiries = 64
	// maxOfWorker bounds those about one worker, so that one that is stopped leaves room for questions about others.
	maxOfWorker = maxInquiries / 4
	// maxSent bounds those that one worker has to answer at a time; see taskexecutor. More wait for their turn.
	maxSent = 4
)

// inquiries are the open questions about workers, the oldest first. There are few.
type inquiries struct {
	last uint64 // number
	open []inquiry
}

// inquiry is an open question.
type inquiry struct {
	worker     ids.ResourceID
	connection actor.ConnectionID // over which it is asked: only an answer from there counts
	message    msg.Inquire
	sent       time.Time // zero: it waits for its turn
	until      time.Time
	question   actor.Question[inquiryResult]
}

// inquiryResult answers a question.
type inquiryResult struct {
	Answer msg.InquiryAnswer
	Err    error
}

// next is when the first question is given up; zero: none is open. All have the same time.
func (q *inquiries) next() time.Time {
	if len(q.open) == 0 {
		return time.Time{}
	}
	return q.open[0].until
}

// any reports whether one of them is such a question.
func (q *inquiries) any(such func(*inquiry) bool) bool {
	for i := range q.open {
		if such(&q.open[i]) {
			return true
		}
	}
	return false
}

// about counts the questions about a worker.
func (q *inquiries) about(w *worker) (n int) {
	for i := range q.open {
		if q.open[i].connection == w.connection {
			n++
		}
	}
	return n
}

// inquire asks a worker a question, now or when it has answered others.
func (c *core) inquire(e inquiryAsked) {
	w, message := c.workers[e.Worker], msg.Inquire{Number: c.inquiries.last + 1, Host: e.Host, Inquiry: e.Inquiry}
	refusal := message.Check()
	switch {
	case refusal != nil:
	case w == nil:
		refusal = fmt.Errorf("%w: %.200s", msg.ErrWorkerNotFound, e.Worker)
	case w.state != lost && !w.registered():
		refusal = fmt.Errorf("%w: %s has not registered yet", msg.ErrWorkerNotFound, e.Worker)
	case w.state == lost:
		refusal = fmt.Errorf("%w: %s lost its connection: %s", msg.ErrWorkerSilent, e.Worker, w.cause)
	case w.silent:
		refusal = fmt.Errorf("%w: %s has not answered an earlier question for %s, and nothing has come from it since", msg.ErrWorkerSilent, e.Worker, inquiryTime)
	case len(c.inquiries.open) >= maxInquiries, c.inquiries.about(w) >= maxOfWorker:
		refusal = fmt.Errorf("%w: ask again", msg.ErrTooManyInquiries)
	default:
		refusal = c.doubts(w, e.Host)
	}
	if refusal != nil {
		c.emit(reply{e.Question.Answer(inquiryResult{Err: refusal})})
		return
	}
	c.inquiries.last = message.Number
	c.inquiries.open = append(c.inquiries.open, inquiry{
		worker: w.id, connection: w.connection, message: message, until: c.now.Add(inquiryTime), question: e.Question,
	})
	c.sendInquiries(w)
}

// sendInquiries sends the questions for which a worker has room.
func (c *core) sendInquiries(w *worker) {
	sent := 0
	for i := range c.inquiries.open {
		switch q := &c.inquiries.open[i]; {
		case q.connection != w.connection:
			continue
		case q.sent.IsZero():
			q.sent = c.now
			if w.unanswered.since.IsZero() {
				w.unanswered.since = c.now
			}
			c.emit(sendTaskExecutor{To: w.connection, Message: q.message})
		}
		if sent++; sent == maxSent {
			return
		}
	}
}

// inquired handles a worker's answer. An answer that comes too late has no question any more.
func (c *core) inquired(w *worker, m msg.Inquired) {
	i := slices.IndexFunc(c.inquiries.open, func(q inquiry) bool {
		return q.message.Number == m.Number && q.connection == w.connection && !q.sent.IsZero()
	})
	if i < 0 {
		c.emit(dropped{Message: m, From: string(w.id), Why: "no question with its number is open"})
		return
	}
	q, result := c.inquiries.open[i], inquiryResult{Answer: m.Answer}
	if err := m.Answer.Check(q.message.Inquiry.Topic); err != nil {
		result = inquiryResult{Err: fmt.Errorf("answer of worker %s: %w", w.id, err)}
	}
	c.emit(reply{q.question.Answer(result)})
	c.inquiries.open = slices.Delete(c.inquiries.open, i, i+1)
	c.answered(w, &q, errors.Is(result.Answer.Err(), msg.ErrWorkerSilent))
	c.sendInquiries(w)
}

// unlink removes the connection of a worker. Questions over it are not answered any more.
func (c *core) unlink(w *worker) {
	delete(c.connections, w.connection)
	c.endInquiries("its connection is lost", func(q inquiry) bool { return q.connection == w.connection })
}

// expireInquiries gives up the questions whose time is over. If nothing at all has come from the worker since it was asked, the next
// question about it would wait as long, and keep others waiting: it is refused until something comes. A worker from which something
// has come is asked again, within the bounds of missed. A worker answers for a silent task host before that.
func (c *core) expireInquiries() {
	if at := c.inquiries.next(); at.IsZero() || c.now.Before(at) {
		return
	}
	var over []actor.ConnectionID
	c.endInquiries(fmt.Sprintf("it has not answered for %s", inquiryTime), func(q inquiry) bool {
		if c.now.Before(q.until) {
			return false
		}
		if !slices.Contains(over, q.connection) {
			over = append(over, q.connection)
		}
		if w := c.connections[q.connection]; w != nil && !q.sent.IsZero() && !w.lastSeen.After(q.sent) {
			w.silent = true
		}
		return true
	})
	for _, connection := range over {
		if w := c.connections[connection]; w != nil {
			c.missed(w)
			c.sendInquiries(w)
		}
	}
}

// endInquiries ends questions without an answer.
func (c *core) endInquiries(why string, these func(inquiry) bool) {
	c.inquiries.open = slices.DeleteFunc(c.inquiries.open, func(q inquiry) bool {
		if !these(q) {
			return false
		}
		c.emit(reply{q.question.Answer(inquiryResult{Err: fmt.Errorf("%w: %s: %s", msg.ErrWorkerSilent, q.worker, why)})})
		return true
	})
}
