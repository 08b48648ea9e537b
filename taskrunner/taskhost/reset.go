package taskhost

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/taskrunner/exchange"
)

// plane is the host's present end of the data plane. Its methods may be called from any goroutine.
type plane struct {
	open func(context.Context, exchange.Config) (DataPlane, error)

	mu      sync.Mutex // guards what follows
	config  exchange.Config
	current DataPlane
}

func (p *plane) now() DataPlane {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.current
}

// begin opens the end of the host with this id, and returns the one that it replaces; nil: none.
func (p *plane) begin(ctx context.Context, id ids.HostID) (last DataPlane, err error) {
	p.mu.Lock()
	p.config.Host = id
	config := p.config
	p.mu.Unlock()
	next, err := p.open(ctx, config)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.config.Memory != config.Memory { // resized meanwhile
		next.Resize(p.config.Memory)
	}
	last, p.current = p.current, next
	return last, nil
}

func (p *plane) resize(bytes int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.config.Memory = bytes
	p.current.Resize(bytes)
}

// renew opens another end of the data plane in a goroutine, and closes the last one, which no task uses any more. So
// nothing that other hosts still send to the earlier tasks reaches later ones.
func (h *host) renew(id ids.HostID) {
	h.loop.Go(func(ctx context.Context) {
		last, err := h.plane.begin(ctx, id)
		if err != nil {
			h.loop.Tell(ctx, renewalFailed{err.Error()})
			return
		}
		h.loop.Tell(ctx, renewed{Host: id, Address: h.plane.now().Address()})
		last.Close()
	})
}

// errRenewal says that the host could not begin anew.
var errRenewal = errors.New("task host cannot be reset")

// fail ends the host and its process, and says why.
func (h *host) fail(cause string) {
	err := fmt.Errorf("%w: %s", errRenewal, cause)
	h.outbox.Put(msg.HostLost{Host: h.start.Host, Failure: *msg.NewFailure(err.Error(), "")}, "")
	h.loop.Fail(err)
}
