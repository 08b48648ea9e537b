package exchange

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// TestAChannelWithoutDataTakesOneBuffer would catch credit for data that may never come: a job has thousands of channels, and those with
// data would have few buffers.
func TestAChannelWithoutDataTakesOneBuffer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const channels = 5
		bubble := NewBubble()
		made := func(host ids.HostID, b *Bubble) *Exchange {
			e, err := New(t.Context(), Config{Job: "j", Host: host, Logger: quietLog(), Listen: b.Listen, Dial: bubble.Dial})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(e.Close)
			return e
		}
		p, err := made("a", bubble).Partition(ids.ExecutionAttemptID{}, 0, channels)
		if err != nil {
			t.Fatal(err)
		}
		e := made("b", NewBubble())
		gates := make([]*InputGate, channels)
		for i := range gates {
			gates[i] = e.Gate(t.Context(), []Producer{{Host: "a", Address: "a", Channel: i}})
			defer gates[i].Close()
		}
		want := func(floating int) {
			t.Helper()
			synctest.Wait()
			if e.pool.floating != floating {
				t.Errorf("%d buffers float, want %d", e.pool.floating, floating)
			}
		}
		want(0)
		if err := p.Emit(t.Context(), 0, []byte("record")); err != nil {
			t.Fatal(err)
		}
		p.inUse()[0].requestFlush()
		want(fewPerChannel) // credit, beside the guaranteed buffer, which has arrived
		p.Fail(context.Canceled)
	})
}
