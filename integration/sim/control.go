package sim

import (
	"io"
	"net"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/control"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/rolerpc"
)

const (
	leastLocal = 10 * time.Microsecond // of one way between processes of one node
	mostLocal  = 200 * time.Microsecond
)

// channel is one end of the control connection between a TaskExecutor and a task host, or between a master and
// its program.
type channel struct{ *end[msg.Message] }

var _ control.Channel = channel{}

func (c channel) Send(m msg.Message) error {
	f, err := c.pipe.w.copied(rolerpc.Frame{Message: m})
	if err != nil {
		return err
	}
	if !c.send(f.Message) {
		return net.ErrClosed
	}
	return nil
}

func (c channel) Receive() (msg.Message, error) {
	switch m, ok := c.receive(); {
	case ok:
		return m, nil
	case c.shut:
		return nil, net.ErrClosed
	default:
		return nil, io.EOF
	}
}

func (c channel) Close() error {
	c.hangUp()
	return nil
}
