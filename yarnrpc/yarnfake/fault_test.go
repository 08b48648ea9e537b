package yarnfake_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha1"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/amrm"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnfake"
)

func isGone(err error) bool         { return errors.Is(err, amrm.ErrAttemptGone) }
func isInvalidToken(err error) bool { return errors.Is(err, yarnrpc.ErrInvalidToken) }

func hmacOf(key, text []byte) string {
	mac := hmac.New(sha1.New, key)
	mac.Write(text)
	return fmt.Sprintf("%x", mac.Sum(nil))
}

// Whatever faults hit the calls of a master, it gets the containers that it wants, each
// once.
func TestAMasterSurvivesFaults(t *testing.T) {
	for _, test := range []struct {
		name  string
		fault func(*yarnfake.Fake)
	}{
		{"an allocate is lost on the way there", func(f *yarnfake.Fake) { f.Drop("allocate", yarnfake.Before) }},
		{"an answer is lost", func(f *yarnfake.Fake) { f.Drop("allocate", yarnfake.After) }},
		{"answers are lost one after the other", func(f *yarnfake.Fake) {
			f.Drop("allocate", yarnfake.After)
			f.Drop("allocate", yarnfake.After)
		}},
		{"the server is busy", func(f *yarnfake.Fake) {
			f.Refuse("allocate", yarnfake.Before, "org.apache.hadoop.ipc.RetriableException", "busy")
		}},
		{"the ResourceManager restarts", (*yarnfake.Fake).RestartResourceManager},
		{"the key is rolled", (*yarnfake.Fake).RollAMRMKey},
	} {
		t.Run(test.name, func(t *testing.T) {
			fake := start(t, yarnfake.Config{Nodes: 2})
			_, _, m := unmanaged(t, fake)
			m.ask(2)
			m.run(t, "sleep 1000", func() bool { return len(m.running) == 2 })
			test.fault(fake)
			m.ask(3)
			m.run(t, "sleep 1000", func() bool { return len(m.running) == 5 })
			seen := map[records.ContainerID]bool{}
			for _, c := range m.running {
				if seen[c.ID] {
					t.Errorf("%s came twice", c.ID)
				}
				seen[c.ID] = true
			}
			if len(m.completed) > 0 {
				t.Errorf("these ended: %v", m.completed)
			}
		})
	}
}

func TestARestartedResourceManagerDemandsAResync(t *testing.T) {
	fake := start(t, yarnfake.Config{})
	_, _, m := unmanaged(t, fake)
	fake.RestartResourceManager()
	m.ask(1)
	m.run(t, "sleep 1000", func() bool { return len(m.running) == 1 })
	if m.resynced != 1 {
		t.Errorf("it resynced %d times", m.resynced)
	}
	if epoch := m.running[0].ID.Epoch(); epoch != 1 {
		t.Errorf("the container is of epoch %d", epoch)
	}
}

// If the only report of a container's end was lost just before a restart, the end is
// reported again. Otherwise a master would wait for that container for ever.
func TestAnEndIsToldAfterARestart(t *testing.T) {
	fake := start(t, yarnfake.Config{})
	_, _, m := unmanaged(t, fake)
	m.ask(1)
	m.run(t, "sleep 1000", func() bool { return len(m.running) == 1 })
	id := m.running[0].ID
	fake.FailContainer(id, 5, "")
	fake.Drop("allocate", yarnfake.After)
	if _, err := m.rm.Allocate(t.Context(), 0); !yarnrpc.MaybeSent(err) {
		t.Fatalf("the answer is not lost: %v", err)
	}
	fake.RestartResourceManager()
	m.run(t, "", func() bool { return len(m.completed) == 1 })
	if s := m.completed[id]; s.ExitStatus != 5 {
		t.Errorf("it ended as %+v", m.completed)
	}
}

// A second roll-over makes the first key invalid, so a master that has ignored the new
// token cannot log in.
func TestATokenRolledTwiceIsNoGood(t *testing.T) {
	fake := start(t, yarnfake.Config{})
	_, report, m := unmanaged(t, fake)
	fake.RollAMRMKey()
	m.run(t, "", func() bool { _, err := m.rm.Allocate(t.Context(), 0); return err == nil }) // brings the new token
	fake.RollAMRMKey()
	if _, err := m.rm.Allocate(t.Context(), 0); err != nil {
		t.Errorf("with the token that was brought: %v", err)
	}
	old, err := newMaster(fake, report.Attempt, report.AMRMToken)
	if err != nil {
		t.Fatal(err)
	}
	defer old.close()
	if _, err := old.rm.Allocate(t.Context(), 0); !isGone(err) && !isInvalidToken(err) {
		t.Errorf("with the first token: %v", err)
	}
}

func TestALostNodeTakesItsContainersAlong(t *testing.T) {
	fake := start(t, yarnfake.Config{Nodes: 2})
	_, _, m := unmanaged(t, fake)
	m.ask(4)
	m.run(t, "sleep 1000", func() bool { return len(m.running) == 4 })
	lost, on := fake.Nodes()[0], 0
	for _, c := range m.running {
		if c.Node == lost {
			on++
		}
	}
	if on == 0 {
		t.Fatal("the node has no container to lose")
	}
	fake.LoseNode(lost)
	m.run(t, "", func() bool { return len(m.completed) == on && len(m.unusable) == 1 })
	for id, s := range m.completed {
		if s.ExitStatus != records.ExitAborted {
			t.Errorf("%s ended as %s", id, s.ExitStatus)
		}
	}
	m.ask(2)
	m.run(t, "sleep 1000", func() bool { return len(m.running) == 6-on })
}

// If the fake's maximum did not follow its nodes, it would accept asks that YARN refuses.
func TestARestartedNodeBoundsContainers(t *testing.T) {
	fake := start(t, yarnfake.Config{Node: records.Resource{MemoryMB: 2048, VCores: 4}})
	_, _, m := unmanaged(t, fake)
	large := amrm.Ask{Key: amrm.AskKey{Priority: 1}, Capability: records.Resource{MemoryMB: 2048, VCores: 1}, Count: 1}
	m.rm.SetAsk(large)
	m.run(t, "sleep 1000", func() bool { return len(m.running) == 1 })
	node := fake.Nodes()[0]
	fake.RestartNode(node, records.Resource{MemoryMB: 1024, VCores: 4})
	m.run(t, "", func() bool { return len(m.completed) == 1 && len(m.running) == 0 })

	m.rm.SetAsk(large)
	if _, err := m.rm.Allocate(t.Context(), 0); !errors.Is(err, yarnrpc.ErrInvalidResourceRequest) {
		t.Errorf("more than the node has now: %v", err)
	}
	fake.RestartNode(node, records.Resource{MemoryMB: 4096, VCores: 4})
	m.run(t, "sleep 1000", func() bool { return len(m.running) == 1 })
	large.Capability.MemoryMB = 4096
	m.rm.SetAsk(large)
	if _, err := m.rm.Allocate(t.Context(), 0); !errors.Is(err, yarnrpc.ErrInvalidResourceRequest) {
		t.Errorf("more than is configured: %v", err)
	}
}

// It would catch a crashed node whose containers stay in the books, and one that takes no further containers.
func TestACrashedNodeComesBackEmpty(t *testing.T) {
	fake := start(t, yarnfake.Config{})
	_, _, m := unmanaged(t, fake)
	m.ask(2)
	m.run(t, "sleep 1000", func() bool { return len(m.running) == 2 })
	fake.CrashNode(fake.Nodes()[0])
	m.run(t, "", func() bool { return len(m.completed) == 2 })
	for id, s := range m.completed {
		if s.ExitStatus != records.ExitAborted {
			t.Errorf("%s ended as %s", id, s.ExitStatus)
		}
	}
	m.ask(1)
	m.run(t, "sleep 1000", func() bool { return len(m.running) == 1 })
}

// A frozen node answers the calls that came meanwhile when it thaws.
func TestAFrozenNodeAnswersWhenItThaws(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := start(t, yarnfake.Config{Nodes: 2, InMemory: true, Heartbeat: time.Second, Run: wait})
		_, _, m := unmanaged(t, fake)
		m.ask(4)
		m.run(t, "x", func() bool { return len(m.running) == 4 })
		frozen := fake.Nodes()[0]
		i := slices.IndexFunc(m.running, func(c records.Container) bool { return c.Node == frozen })
		victim := m.running[i]
		fake.Freeze(frozen)
		began := time.Now()
		const frost = 30 * time.Second // less than the client waits for an answer
		timer := time.AfterFunc(frost, func() { fake.Thaw(frozen) })
		defer timer.Stop()
		if err := m.nm.Stop(t.Context(), frozen, victim.ID); err != nil || time.Since(began) < frost {
			t.Errorf("a stop at a frozen node is answered after %v: %v", time.Since(began), err)
		}
		m.run(t, "", func() bool { return len(m.completed) == 1 })

		m.ask(4)
		fake.Freeze(frozen)
		m.run(t, "x", func() bool { return len(m.running) == 7 })
		for _, c := range m.running[3:] {
			if c.Node == frozen {
				t.Errorf("%s was given on a node that sends no heartbeats", c.ID)
			}
		}
	})
}

func TestAContainerEndsAsTheTestSays(t *testing.T) {
	fake := start(t, yarnfake.Config{})
	_, _, m := unmanaged(t, fake)
	m.ask(2)
	m.run(t, "sleep 1000", func() bool { return len(m.running) == 2 })
	preempted, failed := m.running[0].ID, m.running[1].ID
	fake.Preempt(preempted)
	fake.FailContainer(failed, records.ExitExceededPhysicalMemory, "too large")
	m.run(t, "", func() bool { return len(m.completed) == 2 })
	if s := m.completed[preempted].ExitStatus; s != records.ExitPreempted {
		t.Errorf("the preempted one ended as %s", s)
	}
	if s := m.completed[failed]; s.ExitStatus != records.ExitExceededPhysicalMemory || s.Diagnostics != "too large" {
		t.Errorf("the failed one ended as %+v", s)
	}
}

// The clock of a bubble shows both: the client waits, and then continues.
func TestCallsWaitForADelayAndForAStandby(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := start(t, yarnfake.Config{InMemory: true, Heartbeat: -1})
		client := newClient(t, fake)
		began := time.Now()
		fake.Delay("getClusterNodes", 7*time.Second)
		if _, err := client.ClusterNodes(t.Context()); err != nil || time.Since(began) != 7*time.Second {
			t.Errorf("answered after %s: %v", time.Since(began), err)
		}
		fake.Standby(true)
		timer := time.AfterFunc(3*time.Second, func() { fake.Standby(false) })
		defer timer.Stop()
		began = time.Now()
		if _, err := client.ClusterNodes(t.Context()); err != nil || time.Since(began) < 3*time.Second {
			t.Errorf("a standby answered after %s: %v", time.Since(began), err)
		}
	})
}

// wait is a container that does nothing until its end.
func wait(ctx context.Context, _ yarnfake.Container) records.ExitStatus {
	<-ctx.Done()
	return records.ExitTerminated
}

// Without heartbeats nothing is granted. The same heartbeats give the same grants.
func TestGrantsFollowHeartbeatsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var first []records.NodeID
		for range 2 {
			fake := start(t, yarnfake.Config{Nodes: 3, InMemory: true, Heartbeat: -1, Run: wait})
			_, _, m := unmanaged(t, fake)
			m.rm.SetAsk(amrm.Ask{Key: amrm.AskKey{Priority: 1}, Capability: unit, Count: 4, Hosts: []amrm.HostAsk{{Host: "node2", Rack: "/default-rack", Count: 2}}})
			heard := func() int {
				r, err := m.rm.Allocate(t.Context(), 0)
				if err != nil {
					t.Fatal(err)
				}
				m.running = append(m.running, r.Allocated...)
				return len(m.running)
			}
			if n := heard(); n != 0 {
				t.Fatalf("%d containers without a heartbeat", n)
			}
			for range 6 { // the ask names a host: others wait for it first
				fake.Beat()
			}
			if n := heard(); n != 4 {
				t.Errorf("%d containers after six heartbeats", n)
			}
			var on []records.NodeID
			for _, c := range m.running {
				on = append(on, c.Node)
			}
			if first == nil {
				first = on
			} else if fmt.Sprint(first) != fmt.Sprint(on) {
				t.Errorf("first on %v, then on %v", first, on)
			}
		}
	})
}
