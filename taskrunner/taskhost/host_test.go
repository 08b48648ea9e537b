package taskhost

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/control"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/msg/codec"
)

// TestAMessageThatIsTooLongEndsTheHost would catch a host that takes no message from its outbox any more
// but lives on: it was killed a minute later for its missing heartbeats, which was not the reason.
func TestAMessageThatIsTooLongEndsTheHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		conn, worker := control.New(near, msg.TaskExecutorToHost), control.New(far, msg.HostToTaskExecutor)
		defer worker.Close()
		h := &host{start: msg.StartHost{Host: "h1"}, outbox: actor.NewOutbox[msg.Message](0, nil)}
		h.loop = actor.New[event, effect](newCore("h1", testGraph(), Cancellation{time.Second, time.Second}), woken{})
		ended := make(chan error)
		go func() { ended <- h.loop.Run(t.Context(), func(context.Context) actor.Shell[effect] { return h }) }()
		written := make(chan struct{})
		go func() { defer close(written); h.write(t.Context(), conn) }()
		h.outbox.Put(msg.RequestSplit{}, "")
		h.outbox.Put(msg.CollectBatch{Records: make([]byte, codec.MaxMessage)}, "")
		h.outbox.Put(msg.RequestSplit{}, "")
		if m, err := worker.Receive(); err != nil || msg.Kind(m) != "RequestSplit" {
			t.Errorf("the TaskExecutor gets %v, %v", m, err)
		}
		if m, err := worker.Receive(); err != nil || !strings.Contains(m.(msg.HostLost).Failure.Message, "message exceeds 64 MiB") {
			t.Errorf("the TaskExecutor gets %+v, %v", m, err)
		}
		if err := <-ended; !errors.Is(err, codec.ErrTooLarge) {
			t.Errorf("the host ends with %v", err)
		}
		<-written
		conn.Close()
	})
}
