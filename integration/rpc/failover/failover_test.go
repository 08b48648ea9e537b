package failover

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/haservice"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnclient"
)

// The callers. Each makes one call after the other.
const (
	readers    = 40
	submitters = 12
	failers    = 12 // callers of calls that must not be repeated
	callers    = readers + submitters + failers

	perSubmitter = 5 // applications that a caller submits before it only reads

	callerPace = 20 * time.Millisecond // pause between calls, so that other programs on the machine can run
)

// load is the state that the callers share.
type load struct {
	client *yarnclient.Client
	tag    string // the applications' token
	known  records.ApplicationID

	calling atomic.Int64  // calls under way, of all callers
	stop    chan struct{} // closed by the first halt
	once    sync.Once
	made    [callers]atomic.Int64 // finished calls, by caller
	// For the calls that must not be repeated:
	doubt  atomic.Int64 // calls that a server may have executed
	lost   atomic.Int64 // calls that no server has executed
	unsent atomic.Int64 // tries that no server has executed, which may be repeated
	again  atomic.Int64 // repeated tries

	mu        sync.Mutex // guards the fields below
	submitted map[records.ApplicationID]string
	longest   time.Duration // longest time of a call
	slowest   string        // the call with that time
}

// unrepeatable is the method that failers call. Hadoop does not declare it idempotent.
const unrepeatable = "failApplicationAttempt"

// The test would catch a lost call, a call that is executed twice although it must not be repeated, an application that
// the other ResourceManager does not know, an error without the cause, and a pair with two active servers or none.
func TestTheActiveResourceManagerGoesUnderLoad(t *testing.T) {
	c := clusters.Change(t, clusters.Pair, "takes the active ResourceManager away")
	t.Run("killed", func(t *testing.T) {
		first, second, l := loseActive(t, c, loss{take: killUnderCalls(t, c), giveBack: c.Restart})
		if first == second {
			t.Errorf("%s is still active", first)
		}
		// Nearly all of them had sent a call.
		if l.doubt.Load() == 0 {
			t.Errorf("no call of %d callers is in doubt after their server was killed: the test cannot tell whether calls are repeated", failers)
		}
		awaitOneOfEach(t, c)
	})
	t.Run("stopped, with its connections half open", func(t *testing.T) {
		cluster.Long(t)
		first, second, _ := loseActive(t, c, loss{
			take:     func(ctx context.Context, name string, _ *load) error { return c.Pause(ctx, name) },
			giveBack: replace(c),
			patience: patience,
		})
		if first == second {
			t.Errorf("%s is still active", first)
		}
	})
	t.Run("alive, and without the lock that makes it the active one", func(t *testing.T) {
		cluster.Long(t)
		loseActive(t, c, loss{
			take:     func(ctx context.Context, _ string, _ *load) error { return loseLock(ctx, t, c) },
			giveBack: replace(c),
		})
	})
}

// replace restarts a ResourceManager that is no longer active and may not have noticed. If it finds out while it stores
// something, it waits for itself for ever (RMStateStore, AdminService).
func replace(c *cluster.Cluster) func(context.Context, string) error {
	return func(ctx context.Context, name string) error {
		return errors.Join(c.Kill(ctx, name), c.Restart(ctx, name))
	}
}

// loss describes how the active ResourceManager is lost and comes back. nil: it comes back by itself. patience is the
// time for which a call waits for its answer; 0 means the time of Hadoop's clients.
type loss struct {
	take     func(context.Context, string, *load) error
	giveBack func(context.Context, string) error
	patience time.Duration
}

// patience is the time for which a call waits for a stopped server; Hadoop's value is 2 minutes. The client calls a
// slower server again.
const patience = 10 * time.Second

// killUnderCalls kills a ResourceManager when each caller has a call under way. It pauses the ResourceManager first,
// because otherwise callers between two calls look like callers that wait for an answer.
func killUnderCalls(t *testing.T, c *cluster.Cluster) func(context.Context, string, *load) error {
	return func(ctx context.Context, name string, l *load) error {
		if err := c.Pause(ctx, name); err != nil {
			return err
		}
		wait.Until(t, "each caller has a call under way", func() bool { return t.Failed() || l.calling.Load() == callers })
		return c.Kill(ctx, name)
	}
}

// loseActive stops the active ResourceManager while all callers and a master are at work, and restores it when another
// one is active. It returns the old and the new active one.
func loseActive(t *testing.T, c *cluster.Cluster, how loss) (first, second string, l *load) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	l = &load{
		tag:  fmt.Sprintf("failover-%d", time.Now().UnixNano()),
		stop: make(chan struct{}), submitted: make(map[records.ApplicationID]string),
	}
	o := clientOptions(t, c, rpctest.Me(t), how.patience)
	o.RPC.MaxCalls, o.RPC.Observe = callers, l.observe // no call waits for another one
	l.client = rpctest.NewClient(t, o)
	t.Cleanup(func() { l.killAll(t) })
	var err error
	if l.known, err = l.submit(ctx, "known"); err != nil {
		t.Fatal(err)
	}
	awaitOneOfEach(t, c)
	m, app := newMaster(t, c, how.patience)
	m.Ask(1)
	m.Await(t, "a container that runs", forever, m.Has(1))

	var working sync.WaitGroup
	defer working.Wait()
	defer cancel()
	for i := range callers {
		working.Go(func() {
			pace := time.NewTicker(callerPace)
			defer pace.Stop()
			for round := 0; !l.stopped(); round++ {
				<-pace.C
				if err := l.call(ctx, i, round); err != nil {
					t.Errorf("caller %d: %v", i, err)
					return
				}
				l.made[i].Add(1)
			}
		})
	}
	l.awaitCalls(t, 1)
	m.Ask(2) // calls for which it is unknown what the ResourceManager has received
	m.Await(t, "the ask to be on its way", forever, func() bool { return !m.RM.Changed() })
	first = rpctest.ActiveRM(t, c)
	if err := how.take(ctx, first, l); err != nil {
		t.Error(err)
	}
	began := time.Now()
	second = rpctest.ActiveRM(t, c)
	cluster.Figure(t, "%s is active, %v after the loss of %s", second, time.Since(began).Round(time.Millisecond), first)
	m.Await(t, "it to be registered again", forever, func() bool { return m.Resyncs > 0 })
	l.awaitCalls(t, 2) // the calls under way, and at least one more
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
		t.Errorf("calls that must not be repeated were repeated %d times, and only %d times it was known that no server had executed them", again, may)
	}
	l.checkApplications(ctx, t)
	if how.giveBack != nil {
		if err := how.giveBack(ctx, first); err != nil {
			t.Error(err)
		}
	}
	m.Await(t, "all containers to run", forever, m.Has(3)) // from a NodeManager that has waited for the stopped one
	checkBooks(t, c, m, app, 3)
	return first, second, l
}

// loseLock stops ZooKeeper until neither ResourceManager is active, and starts it again.
func loseLock(ctx context.Context, t *testing.T, c *cluster.Cluster) error {
	const zooKeeper = "zookeeper"
	if err := c.Pause(ctx, zooKeeper); err != nil {
		return err
	}
	wait.Until(t, "no ResourceManager is active", func() bool {
		_, err := c.ActiveRM(ctx)
		return err != nil
	})
	return c.Resume(zooKeeper)
}

// halt ends the callers after their current calls.
func (l *load) halt() { l.once.Do(func() { close(l.stop) }) }

func (l *load) stopped() bool {
	select {
	case <-l.stop:
		return true
	default:
		return false
	}
}

// begin counts a call as under way, until its end.
func (l *load) begin() (end func()) {
	l.calling.Add(1)
	return func() { l.calling.Add(-1) }
}

// call makes one call of caller i's kind. It returns an error only for a result that must not happen.
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

// submit submits an application that waits for a master that never comes.
func (l *load) submit(ctx context.Context, name string) (records.ApplicationID, error) {
	end := l.begin()
	created, err := l.client.NewApplication(ctx)
	end()
	if err != nil {
		return records.ApplicationID{}, err
	}
	defer l.begin()()
	_, err = l.client.Submit(ctx, records.SubmissionContext{
		ID: created.ID, Name: name, Queue: "default", Tags: []string{l.tag}, Unmanaged: true, MaxAttempts: 1,
		Resource: rpctest.Unit(),
	})
	if err != nil {
		return created.ID, fmt.Errorf("%s: %w", created.ID, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.submitted[created.ID] = name
	return created.ID, nil
}

// fail requests the end of an unknown attempt. The answer is an exception. Without an answer, the error says whether
// the ResourceManager may have received the call.
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
		return fmt.Errorf("want ErrApplicationAttemptNotFound or no answer, got: %w", err)
	}
	return nil
}

// observe counts the tries of calls that must not be repeated. All tries but the last must be ones that no server has
// executed. If a try meets a connection that was just closed, the client repeats it at once, and the next try still
// counts as the first.
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

// awaitCalls waits until each caller has finished this number of further calls.
func (l *load) awaitCalls(t *testing.T, more int64) {
	t.Helper()
	var before [callers]int64
	for i := range before {
		before[i] = l.made[i].Load()
	}
	wait.Satisfied(t, "more calls of each caller", func() error {
		for i := range before {
			if made := l.made[i].Load(); made < before[i]+more && !t.Failed() { // this caller may have been the one
				return fmt.Errorf("caller %d has made %d calls, and %d before", i, made, before[i])
			}
		}
		return nil
	})
}

// awaitOneOfEach waits until the ResourceManagers themselves report that the one which the harness takes for active is
// active, and that the other one is a standby that could take over.
func awaitOneOfEach(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	rms, err := rpctest.Conf(t, c).ResourceManagers()
	if err != nil || len(rms) != 2 {
		t.Fatalf("the ResourceManagers are %v, %v", rms, err)
	}
	wait.Satisfied(t, "one active ResourceManager and a standby", func() error {
		active, err := c.ActiveRM(t.Context())
		if err != nil {
			return err
		}
		for _, rm := range rms {
			server := haservice.New(rm.Admin, yarnrpc.Options{Auth: yarnrpc.Auth{User: yarnrpc.UserInformation{Effective: rpctest.Me(t)}}, RPCTimeout: patience})
			got, err := server.Status(t.Context())
			if err = errors.Join(err, server.Close()); err != nil {
				return err
			}
			is, standby := "resourcemanager"+strings.TrimPrefix(rm.ID, "rm") == active, got.State == haservice.Standby && got.Ready
			if is != (got.State == haservice.Active) || !is && !standby {
				return fmt.Errorf("%s says %+v, while %s is active", rm.ID, got, active)
			}
		}
		return nil
	})
}

// killAll ends the applications, which would otherwise wait for their masters for ten minutes.
func (l *load) killAll(t *testing.T) {
	var killing sync.WaitGroup
	for id := range l.submitted {
		killing.Go(func() {
			if err := l.client.Kill(wait.Context(t), id, "the test has ended"); err != nil {
				t.Error(err)
			}
		})
	}
	killing.Wait()
}

// checkApplications asks the active ResourceManager.
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
			t.Errorf("the cluster has %s with name %q, which the test did not submit", r.ID, r.Name)
		}
	}
	for id, name := range l.submitted {
		if times[name] != 1 {
			t.Errorf("%s, %q, is there %d times", id, name, times[name])
		}
	}
}
