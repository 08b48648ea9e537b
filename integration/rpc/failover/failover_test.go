package failover

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnclient"
)

// The callers, each of which makes one call after the other.
const (
	readers    = 130
	submitters = 40
	failers    = 30 // make calls that must not be repeated
	callers    = readers + submitters + failers

	perSubmitter = 20 // applications, after which it reads
)

// load is what the callers share.
type load struct {
	client *yarnclient.Client
	tag    string // of the applications
	known  records.ApplicationID

	calling atomic.Int64  // calls that have not ended, of all callers
	stop    chan struct{} // closed by the first halt
	once    sync.Once
	made    [callers]atomic.Int64 // calls that have ended, by caller
	// Of the calls that must not be repeated:
	doubt  atomic.Int64 // those that may have been executed
	lost   atomic.Int64 // those that have not been
	unsent atomic.Int64 // tries that no server has executed, which may be made again
	again  atomic.Int64 // tries after others

	mu        sync.Mutex // guards what follows
	submitted map[records.ApplicationID]string
	longest   time.Duration // that a call took
	slowest   string        // which
}

// unrepeatable is the method that failers call, which Hadoop does not declare idempotent.
const unrepeatable = "failApplicationAttempt"

// It would catch a call that is lost or made twice, one that must not be repeated and
// is, an application that the other ResourceManager does not know, and an error that
// leaves its caller guessing.
func TestTheActiveResourceManagerGoesUnderLoad(t *testing.T) {
	const queue = "yarn.scheduler.capacity.root." + mastersQueue
	c := cluster.ForTest(t, cluster.Config{HA: true, NodeManagers: 1, Scheduler: map[string]string{
		queue + ".acl_submit_applications": "*", queue + ".user-limit-factor": "10", queue + ".maximum-capacity": "100",
	}})
	t.Run("killed", func(t *testing.T) {
		first, second, l := loseActive(t, c, killUnderCalls(c), c.Restart)
		if first == second {
			t.Errorf("%s is still active", first)
		}
		// All failers had a call under way, but a few may not have come to write it.
		if got := l.doubt.Load(); got < failers/2 {
			t.Errorf("%d calls are in doubt, of %d callers whose server was killed: too few to tell whether any is repeated", got, failers)
		}
	})
	t.Run("stopped, with its connections half open", func(t *testing.T) {
		pause := func(ctx context.Context, name string, _ *load) error { return c.Pause(ctx, name) }
		first, second, _ := loseActive(t, c, pause, func(_ context.Context, name string) error { return c.Resume(name) })
		if first == second {
			t.Errorf("%s is still active", first)
		}
	})
	t.Run("alive, and without the lock that makes it the active one", func(t *testing.T) {
		cluster.Long(t)
		loseActive(t, c, func(ctx context.Context, _ string, _ *load) error { return loseLock(ctx, c) }, func(context.Context, string) error { return nil })
	})
}

// killUnderCalls kills a ResourceManager when each caller has a call under way. It is frozen first, or the callers
// between two calls could not be told from those that wait for an answer.
func killUnderCalls(c *cluster.Cluster) func(context.Context, string, *load) error {
	return func(ctx context.Context, name string, l *load) error {
		if err := c.Pause(ctx, name); err != nil {
			return err
		}
		ticker := time.NewTicker(time.Millisecond)
		defer ticker.Stop()
		for l.calling.Load() < callers {
			select {
			case <-ticker.C:
			case <-ctx.Done():
				return fmt.Errorf("%d of %d callers have a call under way: %w", l.calling.Load(), callers, ctx.Err())
			}
		}
		return c.Kill(ctx, name)
	}
}

// loseActive takes the active ResourceManager away while all callers and a master are at
// work, and gives it back when there is an active one again. It tells which was, and is.
func loseActive(t *testing.T, c *cluster.Cluster, lose func(context.Context, string, *load) error, giveBack func(context.Context, string) error) (first, second string, l *load) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	l = &load{
		tag:  fmt.Sprintf("failover-%d", time.Now().UnixNano()),
		stop: make(chan struct{}), submitted: make(map[records.ApplicationID]string),
	}
	l.client = newClient(t, c, l.observe)
	var err error
	if l.known, err = l.submit(ctx, "known"); err != nil {
		t.Fatal(err)
	}
	if first, err = c.ActiveRM(ctx); err != nil {
		t.Fatal(err)
	}
	m := newMaster(ctx, t, c, l)
	m.ask(2)
	m.until(ctx, "two containers run", m.has(2))

	var working sync.WaitGroup
	defer working.Wait()
	defer l.halt()
	for i := range callers {
		working.Go(func() {
			for round := 0; !l.stopped(); round++ {
				if err := l.call(ctx, i, round); err != nil {
					t.Errorf("caller %d: %v", i, err)
					return
				}
				l.made[i].Add(1)
			}
		})
	}
	l.awaitCalls(ctx, t, 1)
	m.ask(3) // of which nobody knows what the ResourceManager has heard
	m.until(ctx, "the ask is on its way", func() bool { return !m.rm.Changed() })
	if err := lose(ctx, first, l); err != nil {
		t.Error(err)
	}
	began := time.Now()
	second = awaitActive(ctx, t, c)
	cluster.Figure(t, "%s is active, %v after the loss of %s", second, time.Since(began).Round(time.Millisecond), first)
	m.until(ctx, "it is registered again", func() bool { return m.resynced == 1 })
	l.awaitCalls(ctx, t, 2) // those that were on their way, and one more at least
	l.halt()
	working.Wait()

	var calls int64
	for i := range l.made {
		calls += l.made[i].Load()
	}
	cluster.Figure(t, "the longest stall of %d calls by %d callers was %v, of %s", calls, callers, l.longest.Round(time.Millisecond), l.slowest)
	t.Logf("%d applications; of the calls not to be repeated %d were in doubt and %d not executed",
		len(l.submitted), l.doubt.Load(), l.lost.Load())
	if again, may := l.again.Load(), l.unsent.Load()-l.lost.Load(); again > may {
		t.Errorf("calls not to be repeated were made again %d times, and %d times it was known that nobody had executed them", again, may)
	}
	cluster.Figure(t, "the longest time between two heartbeats of a master was %v", m.longest.Round(time.Millisecond))
	l.checkApplications(ctx, t)
	if err := giveBack(ctx, first); err != nil {
		t.Error(err)
	}
	m.until(ctx, "all containers run", m.has(5)) // of a NodeManager that has waited for the stopped one
	m.check(ctx, c, 5)
	return first, second, l
}

// loseLock takes ZooKeeper away until neither ResourceManager is active, and gives it
// back.
func loseLock(ctx context.Context, c *cluster.Cluster) error {
	const zooKeeper = "zookeeper"
	if err := c.Pause(ctx, zooKeeper); err != nil {
		return err
	}
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		if _, err := c.ActiveRM(ctx); err != nil {
			return c.Resume(zooKeeper)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return errors.Join(ctx.Err(), c.Resume(zooKeeper))
		}
	}
}

// halt ends the callers, after the calls that they make.
func (l *load) halt() { l.once.Do(func() { close(l.stop) }) }

func (l *load) stopped() bool {
	select {
	case <-l.stop:
		return true
	default:
		return false
	}
}

// begin counts a call that is under way, until its end.
func (l *load) begin() (end func()) {
	l.calling.Add(1)
	return func() { l.calling.Add(-1) }
}

// call makes one call of the kind that caller i makes. Its error is one that must not be.
func (l *load) call(ctx context.Context, i, round int) error {
	began := time.Now()
	kind := "getApplicationReport"
	var err error
	switch {
	case i < failers:
		kind = unrepeatable
		err = l.fail(ctx)
	case i < failers+submitters && round < perSubmitter:
		kind = "submitApplication"
		_, err = l.submit(ctx, fmt.Sprintf("of %d, %d", i, round))
	default:
		end := l.begin()
		_, err = l.client.ApplicationReport(ctx, l.known)
		end()
	}
	took := time.Since(began)
	l.mu.Lock()
	defer l.mu.Unlock()
	if took > l.longest {
		l.longest, l.slowest = took, kind
	}
	if err != nil {
		return fmt.Errorf("%s after %v: %w", kind, took, err)
	}
	return nil
}

// submit submits an application that waits for a master which never comes.
func (l *load) submit(ctx context.Context, name string) (records.ApplicationID, error) {
	end := l.begin()
	created, err := l.client.NewApplication(ctx)
	end()
	if err != nil {
		return records.ApplicationID{}, err
	}
	return created.ID, l.submitAs(ctx, created.ID, name, "default")
}

func (l *load) submitAs(ctx context.Context, id records.ApplicationID, name, queue string) error {
	defer l.begin()()
	_, err := l.client.Submit(ctx, records.SubmissionContext{
		ID: id, Name: name, Queue: queue, Tags: []string{l.tag}, Unmanaged: true, MaxAttempts: 1,
		Resource: small,
	})
	if err != nil {
		return fmt.Errorf("%s: %w", id, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.submitted[id] = name
	return nil
}

// fail asks for the end of an attempt that there is not: the answer is an exception, and
// without one the error says whether the ResourceManager may have seen the call.
func (l *load) fail(ctx context.Context) error {
	defer l.begin()()
	err := l.client.FailAttempt(ctx, records.ApplicationAttemptID{Application: l.known, Attempt: 99})
	call, unanswered := errors.AsType[*yarnrpc.CallError](err)
	switch {
	case unanswered && call.MaybeSent:
		l.doubt.Add(1)
	case unanswered:
		l.lost.Add(1)
	case errors.Is(err, yarnrpc.ErrApplicationAttemptNotFound):
	default:
		return fmt.Errorf("neither an answer nor its absence: %w", err)
	}
	return nil
}

// observe counts the tries of calls that must not be repeated: each but the last of a call is
// one that no server has executed. One that met a connection just closed is made again at
// once, and the next is the first, still.
func (l *load) observe(try yarnrpc.Try) {
	if try.Method != unrepeatable {
		return
	}
	if try.Retry > 0 {
		l.again.Add(1)
	}
	switch err := try.Err; {
	case err == nil, yarnrpc.MaybeSent(err), errors.Is(err, yarnrpc.ErrClosed):
	case errors.Is(err, yarnrpc.ErrApplicationAttemptNotFound): // the answer
	default:
		l.unsent.Add(1)
	}
}

// awaitCalls waits until each caller has ended so many calls more.
func (l *load) awaitCalls(ctx context.Context, t *testing.T, more int64) {
	t.Helper()
	var before [callers]int64
	for i := range before {
		before[i] = l.made[i].Load()
	}
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for i := range before {
		for l.made[i].Load() < before[i]+more {
			select {
			case <-ticker.C:
			case <-ctx.Done():
				t.Errorf("caller %d hangs after %d calls", i, l.made[i].Load())
				return
			}
			if t.Failed() { // it may have been this caller
				return
			}
		}
	}
}

func awaitActive(ctx context.Context, t *testing.T, c *cluster.Cluster) string {
	t.Helper()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		look, end := context.WithTimeout(ctx, 2*time.Second) // the stopped one never answers, the other one much sooner
		name, err := c.ActiveRM(look)
		end()
		if err == nil {
			return name
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			t.Error(err)
			return ""
		}
	}
}

// checkApplications asks the ResourceManager that is active now.
func (l *load) checkApplications(ctx context.Context, t *testing.T) {
	t.Helper()
	reports, err := l.client.Applications(ctx, yarnclient.Filter{Tags: []string{l.tag}})
	if err != nil {
		t.Fatal(err)
	}
	times := make(map[string]int)
	for _, r := range reports {
		times[r.Name]++
		if name, ours := l.submitted[r.ID]; !ours || name != r.Name {
			t.Errorf("there is %s, %q, which nobody has submitted so", r.ID, r.Name)
		}
	}
	for id, name := range l.submitted {
		if times[name] != 1 {
			t.Errorf("%s, %q, is there %d times", id, name, times[name])
		}
	}
}
