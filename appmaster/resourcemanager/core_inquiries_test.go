package resourcemanager

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// question is a user's open question in a world.
type question struct {
	id         uint64
	connection actor.ConnectionID // 0: it cannot be asked
	at         time.Time
	number     uint64 // of the message; 0: it is not sent
}

// sameReplies compares answers to users by their texts.
var sameReplies = cmp.Comparer(func(a, b reply) bool {
	return a.To() == b.To() && fmt.Sprint(a.Content()) == fmt.Sprint(b.Content())
})

// ask asks some questions about a worker, which need not be there.
func (w *world) ask(t *rapid.T) {
	id := ids.ResourceID("nobody")
	var connection actor.ConnectionID
	if len(w.connections) > 0 && rapid.IntRange(0, 4).Draw(t, "connected") > 0 {
		connection, id = w.connection(t)
	} else if others := slices.Sorted(maps.Keys(w.containers)); len(others) > 0 {
		id = rapid.SampledFrom(others).Draw(t, "worker")
		for _, c := range slices.Sorted(maps.Keys(w.connections)) {
			if w.connections[c] == id {
				connection = c
			}
		}
	}
	for range rapid.IntRange(1, maxSent+2).Draw(t, "questions") {
		w.lastID++
		q := &question{id: uint64(w.lastID), connection: connection, at: w.now}
		w.questions = append(w.questions, q)
		w.step(t, inquiryAsked{Worker: id, Inquiry: msg.Inquiry{Topic: msg.AboutLogs}, Question: actor.Question[inquiryResult](q.id)})
	}
	if rapid.Bool().Draw(t, "waits") {
		w.now = w.now.Add(time.Duration(rapid.IntRange(1, 12).Draw(t, "s")) * time.Second)
		w.step(t, woken{})
	}
}

// sentTo lists the questions that a worker has to answer.
func (w *world) sentTo(c actor.ConnectionID) (sent []*question) {
	for _, q := range w.questions {
		if q.connection == c && q.number > 0 {
			sent = append(sent, q)
		}
	}
	return sent
}

// says answers a question, after somebody else tried to.
func (w *world) says(t *rapid.T) {
	c, id := w.connection(t)
	q := pick(t, "question", w.sentTo(c))
	answer := func(number uint64) msg.Inquired {
		return msg.Inquired{Number: number, Answer: msg.InquiryAnswer{Content: fmt.Append(nil, number)}}
	}
	for _, other := range slices.Sorted(maps.Keys(w.connections)) {
		if other != c {
			w.unchanged(t, taskExecutorSaid{From: actor.Peer{Connection: other, Resource: w.connections[other]}, Message: answer(q.number)})
		}
	}
	from := actor.Peer{Connection: c, Resource: id}
	w.step(t, taskExecutorSaid{From: from, Message: answer(q.number)})
	if slices.Contains(w.questions, q) {
		t.Fatalf("question %d is answered, and stays open", q.id)
	}
	w.unchanged(t, taskExecutorSaid{From: from, Message: answer(q.number)})
}

// questioned checks that a worker gets the oldest question that waits for it.
func (w *world) questioned(t *rapid.T, e sendTaskExecutor) {
	m, is := e.Message.(msg.Inquire)
	if !is {
		return
	}
	i := slices.IndexFunc(w.questions, func(q *question) bool { return q.connection == e.To && q.number == 0 })
	if i < 0 || m.Number == 0 {
		t.Fatalf("connection %d is asked question %d, and none waits", e.To, m.Number)
	}
	w.questions[i].number = m.Number
}

// replied checks that a user gets one answer, and that of the worker.
func (w *world) replied(t *rapid.T, e reply) {
	result, is := e.Content().(inquiryResult)
	if !is {
		return
	}
	i := slices.IndexFunc(w.questions, func(q *question) bool { return q.id == e.To() })
	if i < 0 {
		t.Fatalf("question %d is not open, and is answered", e.To())
	}
	if number := fmt.Sprint(w.questions[i].number); result.Err == nil && string(result.Answer.Content) != number {
		t.Fatalf("question %s has the answer to %s", number, result.Answer.Content)
	}
	w.questions = slices.Delete(w.questions, i, i+1)
}

// checkQuestions checks that no question stays open whose worker cannot answer or has had its time, and that none
// waits needlessly.
func (w *world) checkQuestions(t *rapid.T) {
	about := make(map[actor.ConnectionID]int)
	for _, q := range w.questions {
		if about[q.connection]++; about[q.connection] > maxOfWorker {
			t.Fatalf("more than %d questions about the worker of connection %d are open", maxOfWorker, q.connection)
		}
		worker, connected := w.connections[q.connection]
		switch sent := len(w.sentTo(q.connection)); {
		case !connected || w.containers[worker] != "running":
			t.Fatalf("question %d is open, and worker %q of connection %d is not there", q.id, worker, q.connection)
		case w.now.Sub(q.at) >= inquiryTime:
			t.Fatalf("question %d is open for %v", q.id, w.now.Sub(q.at))
		case sent > maxSent || q.number == 0 && sent < maxSent:
			t.Fatalf("worker %s has %d questions to answer, and question %d is sent as %d", worker, sent, q.id, q.number)
		}
	}
	if len(w.questions) > maxInquiries {
		t.Fatalf("%d questions are open", len(w.questions))
	}
	if at := w.core.inquiries.next(); len(w.questions) > 0 && (at.IsZero() || w.core.alarm.After(at)) && !w.ended {
		t.Fatalf("questions are open, and the core wants to be woken at %v", w.core.alarm)
	}
}
