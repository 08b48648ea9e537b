package yarnfake_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bobbin-yarn/bobbin/yarnrpc/amrm"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnfake"
)

// If the fake's alarm did not ring, an application whose master hangs would wait for ever.
func TestASilentMasterIsReplacedByTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var fake *yarnfake.Fake
		fake = start(t, yarnfake.Config{InMemory: true, Heartbeat: time.Second, MasterExpiry: time.Minute, Run: func(ctx context.Context, c yarnfake.Container) records.ExitStatus {
			switch {
			case !c.Master:
				return 0
			case c.ID.Attempt.Attempt == 1:
				return wait(ctx, c)
			case lead(ctx, fake, c) != nil:
				return 1
			default:
				return 0
			}
		}})
		client := newClient(t, fake)
		began := time.Now()
		report := await(t, client, submit(t, client, records.SubmissionContext{Name: "silent"}).ID, ended)
		if report.State != records.ApplicationFinished || report.Attempt.Attempt != 2 || time.Since(began) < time.Minute {
			t.Errorf("%s at attempt %d after %v: %s", report.State, report.Attempt.Attempt, time.Since(began), report.Diagnostics)
		}
	})
}

// If the fake kept its keys or its applications, a master would go on after YARN has forgotten it. If
// it forgot to kill, containers would go on.
func TestALostResourceManagerTakesApplicationsAlong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var stopped atomic.Int32
		fake := start(t, yarnfake.Config{InMemory: true, Heartbeat: time.Second, Run: func(ctx context.Context, c yarnfake.Container) records.ExitStatus {
			defer stopped.Add(1)
			return wait(ctx, c)
		}})
		_, _, m := unmanaged(t, fake)
		m.ask(2)
		m.run(t, "x", func() bool { return len(m.running) == 2 })
		fake.LoseResourceManager()
		synctest.Wait() // the client sees that its connection is gone
		if _, err := m.rm.Allocate(t.Context(), 0); !isGone(err) && !isInvalidToken(err) {
			t.Errorf("the old master gets %v", err)
		}
		fake.Beat()
		synctest.Wait()
		if n := stopped.Load(); n != 2 {
			t.Errorf("%d containers have ended, want 2", n)
		}
	})
}

// If the new keys had the ids of the old ones, nodes would keep the old keys, and refuse all later masters.
func TestNodesTakeTheKeysAfterALostResourceManager(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := start(t, yarnfake.Config{InMemory: true, Heartbeat: time.Second, Run: wait})
		for range 3 {
			_, _, m := unmanaged(t, fake)
			m.ask(1)
			m.run(t, "x", func() bool { return len(m.running) == 1 })
			fake.LoseResourceManager()
			fake.Beat()
			synctest.Wait()
		}
	})
}

// If the new ResourceManager knew all containers at once, no test would meet a list with gaps.
func TestNodesReportAfterTheMasterRegisters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := start(t, yarnfake.Config{InMemory: true, Heartbeat: -1, Run: wait})
		client := newClient(t, fake)
		report := submit(t, client, records.SubmissionContext{Unmanaged: true, KeepContainers: true})
		m, err := newMaster(fake, report.Attempt, report.AMRMToken)
		if err != nil {
			t.Fatal(err)
		}
		defer m.close()
		inherited := func() int {
			r, err := m.rm.Register(t.Context(), amrm.RegisterRequest{})
			if err != nil {
				t.Fatal(err)
			}
			return len(r.PreviousContainers)
		}
		inherited()
		m.ask(1)
		m.run(t, "x", func() bool { fake.Beat(); return len(m.running) == 1 })
		fake.RestartResourceManagerAlone()
		synctest.Wait() // the client sees that its connection is gone
		if n := inherited(); n != 0 {
			t.Errorf("before the node's heartbeat there are %d containers", n)
		}
		fake.Beat()
		if n := inherited(); n != 1 {
			t.Errorf("after it there are %d", n)
		}
	})
}
