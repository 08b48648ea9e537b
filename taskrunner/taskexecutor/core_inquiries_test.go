package taskexecutor

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// asked is a question in a naive account.
type asked struct {
	link   linkID
	number uint64
	host   ids.HostID // "": the process
	disk   bool       // it waits for a disk
	own    uint64     // by which the process or the host knows it
	at     time.Time
}

// inquiryWorld is a TaskExecutor with a ResourceManager that asks, and with one host at a time.
type inquiryWorld struct {
	*script
	last uint64
	open []asked
	host ids.HostID
	over time.Duration // the time to answer
	lost time.Time     // when a link was last lost, with questions that may still hold places
}

// step steps the core, and accounts for questions and answers.
func (w *inquiryWorld) step(t *rapid.T, e event) {
	link := w.core.rm.id
	for _, effect := range w.core.Step(w.now, e) {
		switch e := effect.(type) {
		case openLink:
			if e.Job == "" {
				w.open, w.lost = nil, w.now // its answers would go nowhere
			}
		case startHost:
			w.host = e.Host
		case answerInquiry:
			w.open[len(w.open)-1].own = uint64(e.Inquiry)
		case sendHost:
			if m, is := e.Message.(msg.Inquire); is {
				w.open[len(w.open)-1].own = m.Number
			}
		case sendRole:
			if m, is := e.Message.(msg.Inquired); is {
				w.answered(t, link, e.Link, m)
			}
		}
	}
	for _, q := range w.open {
		if w.now.Sub(q.at) >= w.over {
			t.Fatalf("question %d to host %q is open for %s", q.number, q.host, w.now.Sub(q.at))
		}
	}
	if disk := w.ofDisk(); len(w.open) > maxInquiries || disk > maxOfDisk {
		t.Fatalf("%d questions are open, %d of them about files", len(w.open), disk)
	}
}

// answered checks an answer to the ResourceManager.
func (w *inquiryWorld) answered(t *rapid.T, before, link linkID, m msg.Inquired) {
	i := slices.IndexFunc(w.open, func(q asked) bool { return q.number == m.Number })
	if i < 0 || w.open[i].link != link || link != before {
		t.Fatalf("answer to question %d over link %d, and open are %+v", m.Number, link, w.open)
	}
	if want := fmt.Sprint(w.open[i].own); m.Answer.Err() == nil && string(m.Answer.Content) != want {
		t.Fatalf("question %s has the answer to %s", want, m.Answer.Content)
	}
	w.open = slices.Delete(w.open, i, i+1)
}

// ofDisk counts the open questions that wait for a disk.
func (w *inquiryWorld) ofDisk() (n int) {
	for _, q := range w.open {
		if q.disk {
			n++
		}
	}
	return n
}

func (w *inquiryWorld) ask(t *rapid.T) {
	w.last++
	q := asked{link: w.core.rm.id, number: w.last, at: w.now}
	topic, before, room := msg.AboutGoroutines, len(w.open), maxInquiries
	if rapid.Bool().Draw(t, "disk") {
		topic, q.disk, room = msg.AboutLogs, true, maxOfDisk-w.ofDisk()+before
	}
	if rapid.Bool().Draw(t, "host") {
		q.host = w.host
	}
	w.open = append(w.open, q)
	w.step(t, roleSaid{q.link, msg.Inquire{Number: q.number, Host: q.host, Inquiry: msg.Inquiry{Topic: topic}}})
	refused := len(w.open) == before
	if refused && before < min(room, maxInquiries) && q.host == "" && w.now.Sub(w.lost) >= w.over {
		t.Fatalf("a question about %s is refused while %+v are open", topic, w.open)
	}
}

// answer lets the process or the host answer a question, sometimes one of the other's, and then once more.
func (w *inquiryWorld) answer(t *rapid.T) {
	if len(w.open) == 0 {
		t.Skip("no question is open")
	}
	q := rapid.SampledFrom(w.open).Draw(t, "question")
	answer := msg.InquiryAnswer{Content: fmt.Append(nil, q.own)}
	byHost := rapid.Bool().Draw(t, "by the host")
	before := len(w.open)
	for range 2 {
		if byHost {
			w.step(t, hostSaid{w.host, msg.Inquired{Number: q.own, Answer: answer}})
		} else {
			w.step(t, inquiryAnswered{inquiryID(q.own), answer})
		}
	}
	if right := byHost == (q.host != ""); right != (len(w.open) < before) {
		t.Fatalf("answered by the host: %t; of %d questions are open %+v", byHost, before, w.open)
	}
}

func (w *inquiryWorld) passes(t *rapid.T) {
	until := w.now.Add(time.Duration(rapid.IntRange(1, 6).Draw(t, "s")) * time.Second)
	for {
		for _, l := range w.core.links {
			l.watch.heard(w.now)
		}
		for _, j := range w.core.hosts {
			j.host.watch.heard(w.now)
		}
		at := w.core.Alarm()
		if at.IsZero() || at.After(until) {
			w.now = until
			return
		}
		w.now = at
		w.step(t, woken{})
	}
}

// loses loses the ResourceManager, and registers anew.
func (w *inquiryWorld) loses(t *rapid.T) {
	w.step(t, linkLost{Link: w.core.rm.id, Cause: "reset"})
	w.open, w.lost = nil, w.now
	for w.core.rm.state == linkDown {
		w.now = w.core.Alarm()
		w.step(t, woken{})
	}
	w.step(t, linkOpened{w.core.rm.id})
	w.step(t, roleSaid{w.core.rm.id, msg.TaskExecutorRegistered{ResourceManager: "r1", HeartbeatInterval: 10 * time.Second, HeartbeatTimeout: 50 * time.Second}})
}

// exits ends the host, and gets the next one ready.
func (w *inquiryWorld) exits(t *rapid.T) {
	last := w.host
	w.step(t, hostExited{Host: last, Exit: Exit{How: "exit status 2"}})
	if slices.ContainsFunc(w.open, func(q asked) bool { return q.host == last }) {
		t.Fatalf("host %s has ended, and open are %+v", last, w.open)
	}
	for w.host == last {
		w.passes(t)
	}
	w.ready(t)
}

func (w *inquiryWorld) ready(t *rapid.T) {
	w.step(t, hostSaid{w.host, msg.HostHello{ProtocolVersion: hostProtocol}})
	w.step(t, hostSaid{w.host, msg.HostReady{Host: w.host, DataAddress: "n1:9"}})
}

// TestEachQuestionIsAnsweredOnce would catch a question that is answered twice, by another process than the one that
// was asked, or over another link, a host or a disk that keeps one open for ever, a disk that takes the place
// of stacks, and questions that pile up.
func TestEachQuestionIsAnsweredOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		w := &inquiryWorld{script: &script{t: t, now: testEpoch}, over: 8 * time.Second}
		for _, line := range []string{"start 2", "opened 1", "registered", "request 0 a1 j1", "opened 2", "admitted j1", "accept j1 a1"} {
			w.command(line)
		}
		w.host = hostID("h1")
		w.ready(r)
		r.Repeat(map[string]func(*rapid.T){
			"ask": w.ask, "ask again": w.ask, "ask more": w.ask, "answer": w.answer, "answer again": w.answer,
			"time passes": w.passes, "ResourceManager is lost": w.loses, "host exits": w.exits,
		})
	})
}
