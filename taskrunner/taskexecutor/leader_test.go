package taskexecutor

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/ha"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/rolerpc"
)

// masters are the Connector to two masters, of which the first one dies.
type masters struct {
	first, second Connector
	dead          atomic.Bool // the first one
}

var errNobody = errors.New("connection refused")

func (m *masters) Open(ctx context.Context, address, target string, h rolerpc.Handler) (*rolerpc.Stream, error) {
	switch {
	case address == "am2":
		return m.second.Open(ctx, address, target, h)
	case m.dead.Load():
		return nil, errNobody
	}
	return m.first.Open(ctx, address, target, h)
}

// retrieval answers each look with the next one of these leaders. An empty address answers that there is none yet. An
// epoch below 0 never answers.
type retrieval chan ha.Leader

func (r retrieval) Leader(ctx context.Context) (ha.Leader, error) {
	select {
	case next := <-r:
		switch {
		case next.Epoch < 0:
			<-ctx.Done()
			return ha.Leader{}, context.Cause(ctx)
		case next.Address == "":
			return ha.Leader{}, ha.ErrReplacing
		}
		return next, nil
	case <-ctx.Done():
		return ha.Leader{}, context.Cause(ctx)
	}
}

// TestAWorkerGoesToTheNextMaster would catch a worker that never looks again after the file system has not answered,
// that goes to the address of the master that is gone, or that loses its slot or its task host on the way.
func TestAWorkerGoesToTheNextMaster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		next2, jobs2 := newRole(t, msg.TaskExecutorToResourceManager), newRole(t, msg.TaskExecutorToJobMaster)
		var mux rolerpc.Mux
		mux.Handle("resourcemanager", next2.accept)
		mux.Handle("jobmaster/", jobs2.accept)
		second := rolerpc.NewLocal(&mux, rolerpc.LocalConfig{Logger: quiet(), Encode: true})
		answers, roles := make(retrieval, 8), &masters{second: OneMaster{second}}
		c := startCluster(t, goroutineHosts{behave: obedient}, func(config *Config, env *Environment) {
			roles.first = env.Roles
			env.Roles, env.Leader = roles, answers
			config.Address, config.GiveUp = "am1", 16*time.Minute
		})
		c.register()
		ready := next[msg.HostReady](t, c.jm.in)

		answers <- ha.Leader{Epoch: -1}
		answers <- ha.Leader{}
		answers <- ha.Leader{Epoch: 1, Address: "am1"}
		answers <- ha.Leader{Epoch: 2, Address: "am2"}
		roles.dead.Store(true)
		if err := c.local.Close(); err != nil {
			t.Error(err)
		}
		rm := <-next2.streams
		if again := next[msg.RegisterTaskExecutor](t, next2.in); len(again.Slots) != 1 || again.Slots[0].Allocation != "a1" {
			t.Errorf("it registers with slots %v", again.Slots)
		}
		rm.SetToken("2-r")
		rm.Send(msg.TaskExecutorRegistered{ResourceManager: "2-r", HeartbeatInterval: 10 * time.Second, HeartbeatTimeout: 50 * time.Second})
		jm := <-jobs2.streams
		next[msg.RegisterAtJobMaster](t, jobs2.in)
		jm.SetToken("2-m")
		jm.Send(msg.RegisteredAtJobMaster{JobMaster: "2-m", Job: msg.JobSpec{ID: "j1", Name: "wordcount"}, HeartbeatInterval: 10 * time.Second, HeartbeatTimeout: 50 * time.Second})
		next[msg.OfferSlots](t, jobs2.in)
		if again := next[msg.HostReady](t, jobs2.in); again.Host == ready.Host {
			t.Errorf("the next JobMaster is told of host %s, which had tasks of the last one", again.Host)
		}
		c.stop(nil)
		c.finish(context.Canceled)
		if err := second.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestGiveUpNeedsALeader would catch a worker that waits for other masters, and cannot find any.
func TestGiveUpNeedsALeader(t *testing.T) {
	t.Parallel()
	config := testConfig(1)
	config.GiveUp = time.Minute
	if _, err := New(config, Environment{Logger: quiet()}); !errors.Is(err, errLeader) {
		t.Errorf("got %v", err)
	}
	if _, err := New(testConfig(1), Environment{Logger: quiet(), Leader: make(retrieval)}); !errors.Is(err, errLeader) {
		t.Errorf("got %v", err)
	}
}
