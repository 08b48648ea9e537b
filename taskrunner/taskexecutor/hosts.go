package taskexecutor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/control"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/memory"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/msg/codec"
	"github.com/bobbin-yarn/bobbin/internal/sched"
)

const (
	// leastRoom is the number of messages that may wait for any host; roomPerTask is added for each
	// task of its job. A host that keeps to the protocol never has more messages waiting, however
	// long it is stopped. A host that exceeds this is killed.
	leastRoom   = 1024
	roomPerTask = 8
	// exitGrace is how long a host may live after its control connection is closed.
	exitGrace = 2 * time.Second
)

// hostControl is the shell's state of one task host, from before its start until after its end.
type hostControl struct {
	job    ids.JobID
	outbox *actor.Outbox[msg.Message] // from the loop to the writer; if it is full, the host is killed

	mu     sync.Mutex // guards what follows
	host   Host       // nil until it is started
	killed bool
	memory memory.Slot // of its slots
	tasks  tasks
	said   said // as last heard
}

func (s *shell) host(id ids.HostID) *hostControl {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hosts[id]
}

func (s *shell) startHost(e startHost) {
	h := &hostControl{job: e.Job, memory: e.Memory}
	h.outbox = actor.NewOutbox[msg.Message](leastRoom, h.kill)
	s.mu.Lock()
	s.hosts[e.Host] = h
	s.mu.Unlock()
	s.loop.Go(func(ctx context.Context) {
		exit := s.runHost(ctx, e, h)
		h.ended()
		s.mu.Lock()
		delete(s.hosts, e.Host)
		s.mu.Unlock()
		s.loop.Tell(ctx, hostExited{Host: e.Host, Exit: exit})
	})
}

// runHost starts a host and returns when the host has ended.
func (s *shell) runHost(ctx context.Context, e startHost, h *hostControl) Exit {
	if s.env.Partitions != nil {
		if err := s.env.Partitions.Make(e.Host); err != nil {
			s.logger.WithField("host", e.Host).WithError(err).Warn("task host cannot write blocking partitions on every disk")
		}
	}
	host, err := s.env.Hosts.Start(ctx, HostSpec(e))
	if err != nil {
		return Exit{How: "cannot be started: " + err.Error()}
	}
	h.started(host)
	channel := host.Control()
	exited := make(chan struct{})

	var talking sched.Group
	talking.Go(ctx, func() { h.write(context.WithoutCancel(ctx), channel) }) // the end of ctx closes the connection
	talking.Go(ctx, func() {
		s.read(ctx, e.Host, h, channel)
		channel.Close()
		// The host has closed its end, or broken the protocol: in both cases it must end now.
		expire(ctx, exited, h.kill)
	})
	release := sched.OnEnd(ctx, func() { channel.Close() }) // tells the host to end
	defer release()

	exit := host.Wait()
	close(exited)
	h.outbox.Close()
	// Read the last messages of the host, up to the end of the file. Only a child process of the
	// host that inherited the socket could keep it open.
	stop := sched.AfterFunc(ctx, exitGrace, func() { channel.Close() })
	talking.Wait(ctx)
	stop()
	return exit
}

// expire calls f unless done is closed within exitGrace.
func expire(ctx context.Context, done <-chan struct{}, f func()) {
	late, stop := sched.After(ctx, exitGrace)
	defer stop()
	if sched.First(context.WithoutCancel(ctx), done, late) == 1 {
		f()
	}
}

func (s *shell) read(ctx context.Context, id ids.HostID, h *hostControl, channel control.Channel) {
	for {
		m, err := channel.Receive()
		switch {
		case err == nil:
			h.hear(m, sched.Now(ctx))
			s.loop.Tell(ctx, hostSaid{Host: id, Message: m})
			continue
		case errors.Is(err, control.ErrFrame), errors.Is(err, control.ErrTooLong), errors.Is(err, msg.ErrKind), errors.Is(err, codec.ErrMalformed):
			s.logger.WithField("host", id).WithError(err).Error("task host breaks the protocol, and is ended")
			// The core keeps this as the reason of the host's end.
			s.loop.Tell(ctx, hostSaid{Host: id, Message: msg.HostLost{
				Host: id, Failure: *msg.NewFailure("task host was ended, because it broke the protocol: "+err.Error(), ""),
			}})
		case !errors.Is(err, net.ErrClosed):
			s.logger.WithField("host", id).WithError(err).Debug("control connection closed")
		}
		return
	}
}

// write sends the queued messages until the host has ended.
func (h *hostControl) write(ctx context.Context, channel control.Channel) {
	h.outbox.Serve(ctx, func(m msg.Message) bool {
		if channel.Send(m) != nil {
			h.kill() // the host cannot work without this message
			return false
		}
		return true
	})
}

func (h *hostControl) started(host Host) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.host = host
	if h.killed {
		host.Kill()
	}
}

func (h *hostControl) kill() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.killed = true
	if h.host != nil {
		h.host.Kill()
	}
}

func (h *hostControl) send(m msg.Message) { h.outbox.Put(m, msg.Latest(m)) }

// instructHost adds the settings that are equal for all hosts of this worker to those that the core
// decided, and sends them.
func (s *shell) instructHost(ctx context.Context, e instructHost) {
	h := s.host(e.Host)
	if h == nil {
		return
	}
	h.outbox.SetRoom(leastRoom + roomPerTask*max(e.Share, 0))
	if s.config.MetricsPort > 0 {
		h.measure(e.Job, e.Share, &s.measured)
	}
	m := s.env.Instructions
	m.Host, m.Job, m.Resource, m.Tokens = e.Host, e.Job, s.config.Resource, e.Tokens
	m.Files = e.Files
	if s.env.Partitions != nil {
		m.PartitionDirs = s.env.Partitions.Dirs(e.Host)
	}
	m.Memory, m.Resources, m.HeartbeatTimeout = e.Memory, s.config.resources(), e.HeartbeatTimeout
	if s.env.Identity != nil {
		certificates, err := s.certify(e.Job.ID, sched.Now(ctx))
		if err != nil {
			s.logger.WithField("host", e.Host).WithError(err).Error("no certificate can be issued for the task host")
			h.kill()
			return
		}
		m.Certificates = certificates
	}
	h.send(m)
}

// measure has the host's tasks measured.
func (h *hostControl) measure(job msg.JobSpec, all int, room *measuredRoom) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tasks.begin(job, all, room)
}

// pass sends a message to the host, after its tasks are noted.
func (h *hostControl) pass(m msg.Message, now time.Time) {
	h.mu.Lock()
	h.tasks.pass(m, now)
	h.mu.Unlock()
	h.send(m)
}

// ended gives back what the host's tasks have used of the worker.
func (h *hostControl) ended() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tasks.close()
}

// said is what a host says of itself; nil: nothing.
type said struct {
	hdfs    *msg.HDFSMetrics
	process *msg.ProcessMetrics
	pool    *msg.BufferPool
	managed *msg.ManagedMemory
}

// hear takes over what the host says of its tasks and of itself.
func (h *hostControl) hear(m msg.Message, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if beat, is := m.(msg.Heartbeat); is { // the host runs users' code
		if beat.HDFS != nil && beat.HDFS.Check() == nil {
			h.said.hdfs = beat.HDFS
		}
		if beat.Process != nil && beat.Process.Check() == nil {
			h.said.process = beat.Process
		}
		if beat.Pool != nil && beat.Pool.Check() == nil {
			h.said.pool = beat.Pool
		}
		if beat.Managed != nil && beat.Managed.Check() == nil {
			h.said.managed = beat.Managed
		}
	}
	h.tasks.hear(m, now)
}

// saidLast is what the host has said of itself last.
func (h *hostControl) saidLast() said {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.said
}

func (s *shell) certify(job ids.JobID, now time.Time) (msg.Certificates, error) {
	credentials, err := s.env.Identity.IssueTaskHost(job, now)
	if err != nil {
		return msg.Certificates{}, fmt.Errorf("certify task host: %w", err)
	}
	return credentials.Certificates()
}

func (s *shell) setHostMemory(e setHostMemory) {
	if h := s.host(e.Host); h != nil {
		h.mu.Lock()
		h.memory = e.Memory
		h.mu.Unlock()
	}
}

// usage is the memory of the host's process tree; false if the host is no process.
func (h *hostControl) usage(id ids.HostID, resident func(pid int) config.Bytes) (memory.Usage[ids.HostID], bool) {
	h.mu.Lock()
	host, held := h.host, h.memory
	h.mu.Unlock()
	if host == nil || host.PID() == 0 {
		return memory.Usage[ids.HostID]{}, false
	}
	return memory.Usage[ids.HostID]{ID: id, Resident: resident(host.PID()), Share: held.Share()}, true
}
