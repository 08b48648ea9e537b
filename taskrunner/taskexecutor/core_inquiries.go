package taskexecutor

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

const (
	// maxInquiries bounds the questions that are open, and so the memory for their answers: twice as many as a
	// ResourceManager sends at a time, because it may have given up some of them.
	maxInquiries = 8
	// maxOfDisk bounds those of them that wait for a disk, which may hang. The other places are for questions that are answered from
	// memory: the stacks tell why the disk hangs.
	maxOfDisk = maxInquiries / 2
	// inquiryTime is how long a host, or this process, may take to answer. The ResourceManager waits for 10 s, so that
	// users learn whether the worker, its host or its disk is silent.
	inquiryTime = 8 * time.Second
)

// inquiries are the open questions of the ResourceManager, the oldest first.
type inquiries struct {
	last inquiryID
	open []openInquiry
}

// openInquiry is a question that is not answered.
type openInquiry struct {
	id     inquiryID
	link   linkID     // that brought it: the answer goes there, or nowhere
	number uint64     // by which the ResourceManager knows it
	host   ids.HostID // that was asked; "": this process
	topic  msg.Topic
}

// inquire answers a question, or asks this process or a host.
func (c *core) inquire(l *link, m msg.Inquire) {
	q := openInquiry{link: l.id, number: m.Number, host: m.Host, topic: m.Inquiry.Topic}
	answer := func(a msg.InquiryAnswer) { c.emit(sendRole{l.id, msg.Inquired{Number: m.Number, Answer: a}}) }
	if q.topic == msg.AboutHosts {
		answer(msg.InquiryAnswer{Hosts: c.hostDetails()})
		return
	}
	if refusal := c.cannotAsk(q); refusal != nil {
		answer(msg.NoAnswer(refusal))
		return
	}
	c.inquiries.last++
	q.id = c.inquiries.last
	c.inquiries.open = append(c.inquiries.open, q)
	c.set(timer{Kind: timerInquiry, Inquiry: q.id}, inquiryTime)
	if q.host == "" {
		c.emit(answerInquiry{q.id, m.Inquiry})
		return
	}
	c.emit(sendHost{q.host, msg.Inquire{Number: uint64(q.id), Inquiry: m.Inquiry}})
}

// ofDisk counts the open questions that wait for a disk.
func (q *inquiries) ofDisk() (n int) {
	for _, open := range q.open {
		if open.topic.ReadsDisk() {
			n++
		}
	}
	return n
}

// cannotAsk says why a host, or this process, cannot be asked a question; nil: it can.
func (c *core) cannotAsk(q openInquiry) error {
	id := q.host
	j := c.hosts[id]
	switch {
	case len(c.inquiries.open) >= maxInquiries:
		return fmt.Errorf("%w: worker %s has %d: ask again", msg.ErrTooManyInquiries, c.config.Resource, maxInquiries)
	case q.topic.ReadsDisk() && c.inquiries.ofDisk() >= maxOfDisk:
		return fmt.Errorf("%w: worker %s has %d about files, and its disk answers slowly: ask again", msg.ErrTooManyInquiries, c.config.Resource, maxOfDisk)
	case id == "":
		return nil
	case j == nil:
		return fmt.Errorf("%w: worker %s has no task host %.200q", msg.ErrNotShown, c.config.Resource, string(id))
	case j.host.ready.IsZero():
		return fmt.Errorf("%w: task host %s is not ready yet", msg.ErrNotShown, id)
	}
	return nil
}

// hostDetails lists the hosts of this worker.
func (c *core) hostDetails() []msg.HostDetails {
	var hosts []msg.HostDetails
	for _, id := range slices.Sorted(maps.Keys(c.hosts)) {
		if len(hosts) < msg.MaxListed {
			hosts = append(hosts, msg.HostDetails{Host: id, Job: c.hosts[id].id})
		}
	}
	return hosts
}

// inquiryAnswered passes on the answer of this process.
func (c *core) inquiryAnswered(e inquiryAnswered) {
	c.answer(func(q openInquiry) bool { return q.id == e.Inquiry && q.host == "" }, func(openInquiry) msg.InquiryAnswer { return e.Answer })
}

// hostInquired passes on the answer of a host, which runs the user's code.
func (c *core) hostInquired(host ids.HostID, m msg.Inquired) {
	c.answer(func(q openInquiry) bool { return q.id == inquiryID(m.Number) && q.host == host }, func(q openInquiry) msg.InquiryAnswer {
		if err := m.Answer.Check(q.topic); err != nil {
			return msg.NoAnswer(fmt.Errorf("answer of task host %s: %w", host, err))
		}
		return m.Answer
	})
}

// endInquiries ends questions without an answer.
func (c *core) endInquiries(why string, these func(openInquiry) bool) {
	c.answer(these, func(q openInquiry) msg.InquiryAnswer {
		if q.host == "" {
			return msg.NoAnswer(fmt.Errorf("%w: its own process: %s", msg.ErrWorkerSilent, why))
		}
		return msg.NoAnswer(fmt.Errorf("%w: its task host %s: %s", msg.ErrWorkerSilent, q.host, why))
	})
}

// answer answers questions, unless the link that brought them is lost.
func (c *core) answer(these func(openInquiry) bool, with func(openInquiry) msg.InquiryAnswer) {
	c.inquiries.open = slices.DeleteFunc(c.inquiries.open, func(q openInquiry) bool {
		if !these(q) {
			return false
		}
		c.timers.Cancel(timer{Kind: timerInquiry, Inquiry: q.id})
		if c.rm.state == linkAdmitted && c.rm.id == q.link {
			c.emit(sendRole{q.link, msg.Inquired{Number: q.number, Answer: with(q)}})
		}
		return true
	})
}
