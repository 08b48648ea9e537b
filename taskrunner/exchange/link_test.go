package exchange

import (
	"errors"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/dataflow/operator"
	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// TestMoreChannelsThanAConnectionCarries would catch a job with large all-to-all edges that fails
// as if a host were lost, once for each restart, and does not say what to change. It would also
// catch a channel too many that ends the connection of the others.
func TestMoreChannelsThanAConnectionCarries(t *testing.T) {
	ctx := t.Context()
	producers, consumers := newTestExchange(t, "a"), newTestExchange(t, "b")
	p, err := producers.Partition(ids.ExecutionAttemptID{Vertex: 7}, 0, fewChannels+1)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Fail(errors.New("test is over"))
	gate := func(channel int) *InputGate {
		g := consumers.Gate(ctx, []Producer{{Partition: p.id, Channel: channel, Host: "a", Address: producers.Address()}})
		t.Cleanup(g.Close)
		return g
	}
	gates := make([]*InputGate, fewChannels)
	for channel := range gates {
		gates[channel] = gate(channel)
	}
	over := gate(fewChannels)
	_, err = over.Next(ctx)
	if !errors.Is(err, errTooManyChannels) || !errors.Is(err, operator.ErrPermanent) || errors.Is(err, ErrPeerLost) {
		t.Errorf("one channel too many is %v", err)
	}
	for _, part := range []string{p.id.String(), "read 1024 channels from host a", "taskmanager.numberOfTaskSlots"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q is not in %v", part, err)
		}
	}
	over.Close()
	for _, channel := range []int{0, fewChannels - 1} {
		if err := p.Emit(ctx, channel, []byte("record")); err != nil {
			t.Fatal(err)
		}
		if record, err := gates[channel].Next(ctx); err != nil || string(record) != "record" {
			t.Errorf("channel %d gives %q, %v", channel, record, err)
		}
	}
}
