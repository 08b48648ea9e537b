package appmaster

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/sched"
)

// begun is when an attempt reached the steps of its start. The zero value: none yet.
type begun struct {
	mu                        sync.Mutex // guards what follows
	registered, leads, serves time.Time
	over                      []msg.Span // the whole start, once nothing can follow; nil before
}

// reached notes that a step is reached now.
func (b *begun) reached(ctx context.Context, step func(*begun) *time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	*step(b) = sched.Now(ctx)
}

// start tells where the time of the start of this attempt went, from the client's command to the first running task.
func (m *Master) start(ctx context.Context) ([]msg.Span, error) {
	m.begun.mu.Lock()
	registered, leads, serves, over := m.begun.registered, m.begun.leads, m.begun.serves, m.begun.over
	m.begun.mu.Unlock()
	if over != nil {
		return over, nil
	}
	spans, known := m.ofContainer(ctx)
	spans = append(spans,
		msg.Span{Name: "process of the master", Begin: m.outside.About.Started, End: registered, Detail: "reads its configuration, opens its ports, and registers with YARN"},
		msg.Span{Name: "leadership", Begin: registered, End: leads, Detail: "makes sure that no earlier attempt changes anything any more"},
		msg.Span{Name: "takes over", Begin: leads, End: serves, Detail: "reads what the client and earlier attempts have left"},
	)
	status, err := m.workers.Status(ctx)
	if err != nil {
		return nil, err
	}
	spans = append(spans, ofWorkers(status.Begin)...)
	first, err := m.firstJob(ctx)
	if err != nil {
		return nil, err
	}
	start, done := msg.Begin(append(spans, first...), sched.Now(ctx))
	if done && known {
		m.begun.mu.Lock()
		defer m.begun.mu.Unlock()
		m.begun.over = start
	}
	return start, nil
}

// ofContainer tells how this attempt got its container, and for the first one what its client did before. known says that YARN can
// tell no more later.
func (m *Master) ofContainer(ctx context.Context) (spans []msg.Span, known bool) {
	o := m.outside
	granted := m.report(ctx).Granted
	known = o.About.YARN == nil || !granted.IsZero()
	asked, what := o.About.Submitted, "YARN accepts the application, and its queue has room"
	if o.Attempt.Attempt == 1 {
		command, checked, staged := o.Launch.Began.Times()
		spans = []msg.Span{
			{Name: "command", Begin: command, End: notBefore(command, checked), Detail: "checks options, YARN and HDFS, on the client's machine"},
			{Name: "upload", Begin: checked, End: notBefore(checked, staged), Detail: "copies program and files to HDFS"},
			{Name: "submission", Begin: staged, End: notBefore(staged, asked), Detail: "YARN gets the application"},
		}
	} else {
		what = "YARN starts another attempt, and its queue has room"
		var attempts []msg.AttemptDetails
		if o.History != nil { // otherwise nobody knows when YARN began with this attempt
			attempts = m.attemptsIfKnown(ctx)
		}
		i := slices.IndexFunc(attempts, func(a msg.AttemptDetails) bool { return a.Attempt == int(o.Attempt.Attempt) })
		asked = time.Time{} // the spans before this process have no begin, and are left out
		if i >= 0 {
			asked = attempts[i].Started
		}
		known = known && (i >= 0 || o.About.YARN == nil)
	}
	started := o.About.Started
	container := o.Workers.Container.String()
	if granted.IsZero() {
		return append(spans, msg.Span{
			Name: "queue and container of the master", Begin: asked, End: notBefore(asked, started),
			Detail: fmt.Sprintf("%s; %s on %s copies its files and starts", what, container, o.Workers.Host),
		}), known
	}
	return append(spans,
		msg.Span{Name: "queue", Begin: asked, End: notBefore(asked, granted), Detail: what},
		msg.Span{Name: "container of the master", Begin: granted, End: notBefore(granted, started), Detail: fmt.Sprintf("%s on %s copies its files and starts", container, o.Workers.Host)},
	), known
}

// notBefore is the end of a span. The clocks of two machines may differ.
func notBefore(begin, end time.Time) time.Time {
	if !end.IsZero() && end.Before(begin) {
		return begin
	}
	return end
}

// ofWorkers tells how the first workers have come.
func ofWorkers(b resourcemanager.Begin) []msg.Span {
	spans := []msg.Span{{Name: "workers of earlier attempts", Begin: b.ReturnFrom, End: b.ReturnUntil, Detail: "they look for this attempt and return"}}
	asked := msg.Span{Name: "queue of the workers", Begin: b.Asked, Detail: "YARN has the request for containers, and no container yet"}
	if len(b.Workers) > 0 {
		first := b.Workers[0]
		asked.End, asked.Detail = first.Granted, "until YARN gave "+msg.DescribeContainer(string(first.Worker), first.Host, first.Size)
	}
	spans = append(spans, asked)
	for i, w := range b.Workers {
		detail := msg.DescribeContainer(string(w.Worker), w.Host, w.Size)
		if i == len(b.Workers)-1 && b.More > 0 {
			detail += fmt.Sprintf("; %d more followed", b.More)
		}
		if !w.Ended.IsZero() {
			spans = append(spans, msg.Span{Name: fmt.Sprintf("worker %d, which failed", i+1), Begin: w.Granted, End: w.Ended, Detail: detail + ": " + w.Cause})
			continue
		}
		if w.Launched.IsZero() || !w.Registered.IsZero() && w.Registered.Before(w.Launched) {
			spans = append(spans, msg.Span{Name: fmt.Sprintf("worker %d", i+1), Begin: w.Granted, End: w.Registered, Detail: detail})
			continue
		}
		spans = append(spans,
			msg.Span{Name: fmt.Sprintf("container of worker %d", i+1), Begin: w.Granted, End: w.Launched, Detail: detail + ": its node accepts the start"},
			msg.Span{Name: fmt.Sprintf("worker %d", i+1), Begin: w.Launched, End: w.Registered, Detail: "the node copies files and starts the worker, which registers"},
		)
	}
	return spans
}

// firstJob tells how the first job has started, if the attempt serves already.
func (m *Master) firstJob(ctx context.Context) ([]msg.Span, error) {
	led := m.led.Load()
	if led == nil {
		return nil, nil
	}
	jobs, err := led.component.Dispatcher.Jobs(ctx)
	if err != nil {
		return nil, err
	}
	first, is := firstSince(jobs, m.outside.About.Started)
	if !is {
		return nil, nil
	}
	details, err := led.component.Dispatcher.JobDetails(ctx, first.ID)
	if err != nil { // it was dropped meanwhile, and the rest of the start is known all the same
		return nil, nil //nolint:nilerr // see above
	}
	granted, err := m.workers.Granted(ctx, first.ID)
	return msg.StartOf(&details, granted), err
}

// firstSince finds the first job that began with this process or later. Those that earlier attempts have accepted say nothing about
// the start of this one.
func firstSince(jobs []msg.JobOverview, started time.Time) (first msg.JobOverview, found bool) {
	for _, j := range jobs {
		if !j.Start.Before(started) && (!found || j.Start.Before(first.Start)) {
			first, found = j, true
		}
	}
	return first, found
}
