package yarnworkers

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// In any order of calls: a node never has more calls under way than allowed, nor have all nodes
// together; items of a node start in their order; and no item waits that could start. A line that
// is not served would hang a node. A line that is not removed would keep memory for each node that
// ever existed.
func TestLinesAgreeWithANaiveModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := &lines[int]{
			each:  rapid.IntRange(1, 3).Draw(t, "each"),
			all:   rapid.IntRange(1, 6).Draw(t, "all"),
			nodes: make(map[records.NodeID]*line[int]),
		}
		waiting, underWay := make(map[records.NodeID][]int), make(map[records.NodeID]int)
		last, total := 0, 0
		begin := func(t *rapid.T) {
			for {
				on, item, ok := l.next()
				if !ok {
					break
				}
				if queue := waiting[on]; len(queue) == 0 || queue[0] != item {
					t.Fatalf("%d begins on %s, where %v wait", item, on, queue)
				}
				waiting[on] = waiting[on][1:]
				underWay[on]++
				total++
				if underWay[on] > l.each || total > l.all {
					t.Fatalf("%d under way on %s and %d in all, of %d and %d", underWay[on], on, total, l.each, l.all)
				}
			}
			for on, queue := range waiting {
				if len(queue) > 0 && underWay[on] < l.each && total < l.all {
					t.Fatalf("%v wait on %s, where %d are under way, and %d in all", queue, on, underWay[on], total)
				}
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				on := nodeID(rapid.SampledFrom([]string{"h1", "h2", "h3", "h4"}).Draw(t, "host"))
				last++
				waiting[on] = append(waiting[on], last)
				l.put(on, last)
				begin(t)
			},
			"done": func(t *rapid.T) {
				var busy []records.NodeID
				for on, n := range underWay {
					if n > 0 {
						busy = append(busy, on)
					}
				}
				slices.SortFunc(busy, func(a, b records.NodeID) int { return slices.Compare([]byte(a.Host), []byte(b.Host)) })
				on := take(t, "node", &busy)
				underWay[on]--
				total--
				l.done(on)
				begin(t)
			},
			"": func(t *rapid.T) {
				for on := range l.nodes {
					if underWay[on] == 0 && len(waiting[on]) == 0 {
						t.Fatalf("%s is kept", on)
					}
				}
			},
		})
	})
}

// Lines take turns: otherwise a node with thousands of items would delay all others.
func TestLinesTakeTurns(t *testing.T) {
	l := &lines[int]{each: 1, all: 1, nodes: make(map[records.NodeID]*line[int])}
	for i := range 3 {
		l.put(nodeID("h1"), i)
	}
	l.put(nodeID("h2"), 10)
	l.put(nodeID("h3"), 20)
	var order []string
	for {
		on, item, ok := l.next()
		if !ok {
			break
		}
		order = append(order, fmt.Sprintf("%s:%d", on.Host, item))
		l.done(on)
	}
	if want := []string{"h1:0", "h2:10", "h3:20", "h1:1", "h1:2"}; !slices.Equal(order, want) {
		t.Errorf("turns are %v, want %v", order, want)
	}
}

// A node that accepts calls and never answers delayed the starts, stops and checks at all other
// nodes for minutes.
func TestANodeWithoutAnswersHoldsUpNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		y := newFakeYARN()
		y.hosts = []string{"h1", "h2"}
		d, u, stop := run(t, y)
		d.Order(t.Context(), resourcemanager.Orders{Workers: workersOf(testSpec, 40)})
		time.Sleep(2 * time.Second)
		y.mu.Lock()
		y.dead = []string{"h1"}
		y.ended[containerID(42)] = records.ExitForceKilled // on h2, when it will have started
		y.mu.Unlock()

		d.Order(t.Context(), resourcemanager.Orders{Workers: workersOf(testSpec, 240)})
		time.Sleep(1100 * time.Millisecond)
		synctest.Wait()
		if n := y.runningCount(); n != 40+100 || u.count("failed") != 0 {
			t.Errorf("after a moment %d workers run, and %d have failed", n, u.count("failed"))
		}
		var release []resourcemanager.Release
		for id := 1; id <= 40; id++ {
			release = append(release, resourcemanager.Release{Worker: worker(containerID(id))})
		}
		d.Order(t.Context(), resourcemanager.Orders{Workers: workersOf(testSpec, 240), Release: release, Check: []ids.ResourceID{worker(containerID(42))}})
		synctest.Wait()
		if stopped := y.stopped("h2"); stopped != 20 || u.count("completed") != 1 {
			t.Errorf("at once %d workers are stopped on the other node, and %d are found to have ended", stopped, u.count("completed"))
		}

		// Starts that wait behind an unanswered start fail with it.
		time.Sleep(startTimeout)
		synctest.Wait()
		if n := u.count("failed: "); n != 100 || u.count("the NodeManager has not answered for 20s") != n {
			t.Errorf("%d starts have failed after %v: %q", n, startTimeout, u.events)
		}
		stop()
	})
}

// The starts at many nodes that do not answer fill all calls. The time that other nodes waited for
// their turn counted as their own silence, and their starts failed without a call.
func TestManyNodesWithoutAnswersFailNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const dead, each = callsAtOnce * 5 / 4, 3 // the last dead nodes have their turn after startTimeout
		y := newFakeYARN()
		for i := range dead {
			y.dead = append(y.dead, fmt.Sprintf("dead%d", i))
		}
		y.hosts = append(slices.Clone(y.dead), "h1")
		d, u, stop := run(t, y)
		d.Order(t.Context(), resourcemanager.Orders{Workers: workersOf(testSpec, each*len(y.hosts))})
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if n := u.count("failed: "); n != 0 {
			t.Errorf("at once %d starts have failed", n)
		}
		time.Sleep(2 * startTimeout)
		synctest.Wait()
		if n := y.runningCount(); n != each || u.count("failed: ") != each*dead {
			t.Errorf("%d of %d workers run on the node that answers, and %d starts of %d at the others have failed", n, each, u.count("failed: "), each*dead)
		}
		if n := u.count("the NodeManager has not answered for 20s"); n != each*dead {
			t.Errorf("of %d starts it is said that a node has not answered", n)
		}
		stop()
	})
}

// A node that answers slowly is not silent: each answer gives the waiting starts their full time
// again.
func TestEachAnswerOfANodeEndsItsSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const all = 20
		y := newFakeYARN()
		y.startTime = startTimeout / 4
		d, u, stop := run(t, y)
		d.Order(t.Context(), resourcemanager.Orders{Workers: workersOf(testSpec, all)})
		time.Sleep(2*time.Second + all/callsPerNode*y.startTime)
		synctest.Wait()
		if n := y.runningCount(); n != all || u.count("failed: ") != 0 {
			t.Errorf("%d of %d workers run; reported %q", n, all, u.events)
		}
		stop()
	})
}

// A switch fails just after YARN has given thousands of containers behind it. Their starts fail
// together, faster than the ResourceManager accepts reports. The provider took this for a hang, and
// the application ended.
func TestThousandsOfStartsMayFailTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const all = 3000
		y := newFakeYARN()
		y.dead = []string{"h1"}
		d, u, stop := run(t, y)
		d.Order(t.Context(), resourcemanager.Orders{Workers: workersOf(testSpec, all)})
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if n := u.count("starting"); n != all {
			t.Fatalf("YARN has given %d containers of %d", n, all)
		}
		busy := make(chan struct{})
		u.mu.Lock()
		u.busy, u.calls = busy, 0
		u.mu.Unlock()
		time.Sleep(startTimeout)
		synctest.Wait()
		if n := u.count("failed: "); n != 0 {
			t.Errorf("a busy ResourceManager has heard of %d starts", n)
		}
		close(busy)
		synctest.Wait()
		if n := u.count("failed: "); n != all || u.calls > 2 {
			t.Errorf("%d of %d starts that failed are told, in %d reports", n, all, u.calls)
		}
		if err := stop(); !errors.Is(err, errStopped) {
			t.Errorf("run ends with %v", err)
		}
	})
}

// The log must say that the provider waits for a ResourceManager that hangs.
func TestRunEndsWhenTheResourceManagerTakesNoReports(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, u, stop := run(t, newFakeYARN())
		u.mu.Lock()
		u.busy = make(chan struct{})
		u.mu.Unlock()
		d.Order(t.Context(), resourcemanager.Orders{Workers: workersOf(testSpec, 1)})
		time.Sleep(2*time.Second + resourcemanager.HangTime)
		synctest.Wait()
		if err := stop(); !errors.Is(err, errResourceManagerHangs) {
			t.Errorf("run ends with %v", err)
		}
	})
}

// A slow node may start a container long after the provider has given up the start.
func TestAStartWithoutAnswerIsStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		y := newFakeYARN()
		y.dead = []string{"h1"}
		d, u, stop := run(t, y)
		d.Order(t.Context(), resourcemanager.Orders{Workers: workersOf(testSpec, 1)})
		time.Sleep(2*time.Second + startTimeout)
		synctest.Wait()
		if u.count("failed: ") != 1 || y.stops[containerID(1)] != 1 {
			t.Errorf("reported %q; stopped: %v", u.events, y.stops)
		}
		stop()
	})
}

// Ten thousand starts at ten thousand nodes must not need as many goroutines and connections.
func TestCallsToManyNodesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const nodes = 3_000
		y := newFakeYARN()
		y.startTime = 10 * time.Millisecond
		y.hosts = nil
		for i := range nodes {
			y.hosts = append(y.hosts, fmt.Sprintf("h%d", i))
		}
		d, _, stop := run(t, y)
		before := runtime.NumGoroutine()
		d.Order(t.Context(), resourcemanager.Orders{Workers: workersOf(testSpec, nodes)})
		time.Sleep(1100*time.Millisecond + y.startTime/2)
		synctest.Wait()
		const others = 10 // such as timers that fire
		if more := runtime.NumGoroutine() - before; more > callsAtOnce+others {
			t.Errorf("%d goroutines more while %d starts are to be made", more, nodes)
		}
		time.Sleep(nodes / callsAtOnce * y.startTime)
		synctest.Wait()
		if n := y.runningCount(); n != nodes || y.maxAtOnce != callsAtOnce {
			t.Errorf("%d of %d workers run, with %d starts at once", n, nodes, y.maxAtOnce)
		}
		stop()
	})
}
