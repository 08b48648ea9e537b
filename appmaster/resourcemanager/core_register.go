package resourcemanager

import (
	"fmt"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// registeredAgain is why an older connection of a worker is closed.
const registeredAgain = "the TaskExecutor has registered over a newer connection"

// registerTaskExecutor admits a worker, also one that registers again. A worker opens a connection only after it
// has given up the last one, so a registration over an older connection is stale: this process, or the network, has
// held it back.
func (c *core) registerTaskExecutor(from actor.Peer, r msg.RegisterTaskExecutor) {
	w := c.workers[r.Resource]
	switch {
	case c.standby:
		c.turnAway(from, r, "the ApplicationMaster does not lead yet")
		return
	case from.Resource != r.Resource:
		c.reject(from, "the worker authenticated as %s, but registers as %s", from.Resource, r.Resource)
		return
	case w == nil && !c.mayReturn(r.Resource):
		c.reject(from, "worker %s is not expected here: it was released, or belongs to another application", r.Resource)
		return
	case w == nil:
		w = c.expectPrevious(PreviousWorker{Worker: r.Resource, Host: r.Host})
	case from.Connection < w.connection:
		c.turnAway(from, r, registeredAgain)
		return
	}
	k, err := c.admit(w, r)
	if err != nil {
		c.reject(from, "%v", err)
		c.fail(w, RejectedWork, err.Error())
		return
	}
	switch w.state {
	case starting:
		c.turn.extend(c.now)
	case previous:
		c.turn.extend(c.now)
		c.recovery.missing--
	case lost:
	case connected:
		if w.connection != from.Connection {
			c.unlink(w)
			c.emit(closeTaskExecutor{To: w.connection, Cause: registeredAgain})
		}
	}
	k.failures.hope()
	c.begin.registered(c.now, w.id)
	w.kind, w.state, w.connection, w.cause = k, connected, from.Connection, ""
	w.host, w.memory, w.vcores, w.hardware = r.Host, r.Memory, r.VCores, r.Hardware
	w.lastSeen, w.silent, w.unanswered, w.doubted = c.now, false, unanswered{}, nil
	c.connections[from.Connection] = w
	c.expect(w)
	k.slots.Serves(c.now, w.id, len(r.Jobs) > 0)
	if w.earlier && !c.recovery.over {
		w.jobs = r.Jobs
	}
	c.emit(sendTaskExecutor{To: from.Connection, Message: msg.TaskExecutorRegistered{
		Instance:          ids.InstanceID(c.instances.Next()),
		ResourceManager:   c.config.ResourceManager,
		HeartbeatInterval: c.config.HeartbeatInterval,
		HeartbeatTimeout:  c.config.HeartbeatTimeout,
		Workers:           len(c.workers),
	}})
	if c.tokens != nil {
		c.emit(sendTaskExecutor{To: from.Connection, Message: msg.UpdateTokens{Tokens: c.tokens}})
	}
}

// admit enters a worker with its slots into the SlotManager of its kind, or says why it cannot be used.
func (c *core) admit(w *worker, r msg.RegisterTaskExecutor) (k *kind, err error) {
	if r.ProtocolVersion != jobgraph.ProtocolVersion {
		return nil, fmt.Errorf("it speaks protocol version %d, and the ResourceManager speaks %d", r.ProtocolVersion, jobgraph.ProtocolVersion)
	}
	if err := r.Check(); err != nil {
		return nil, err
	}
	if k = w.kind; w.state == previous {
		k, err = c.kindOfPrevious(r)
	} else if r.Profile != k.spec.Profile {
		err = fmt.Errorf("its slots have %s, and slots with %s were ordered", r.Profile, k.spec.Profile)
	}
	if err != nil {
		return nil, err
	}
	return k, k.slots.Register(c.now, w.id, r.Slots)
}

// reject refuses a worker for good.
func (c *core) reject(from actor.Peer, format string, args ...any) {
	c.emit(sendTaskExecutor{To: from.Connection, Message: msg.RegistrationRejected{
		ResourceManager: c.config.ResourceManager, Reason: fmt.Sprintf(format, args...),
	}})
}

// turnAway ignores a registration. The worker may connect again.
func (c *core) turnAway(from actor.Peer, r msg.RegisterTaskExecutor, why string) {
	c.emit(dropped{Message: r, From: string(r.Resource), Why: why})
	c.emit(closeTaskExecutor{To: from.Connection, Cause: why})
}
