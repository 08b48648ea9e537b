package dataflow

import (
	"errors"
	"testing"

	"github.com/bobbin-yarn/bobbin/dataflow/operator"
	"github.com/bobbin-yarn/bobbin/dataflow/operator/broker"
)

// A share depends on what else runs at the moment. It would catch a job that fails for good because of its neighbours, and one that
// restarts although no worker is large enough.
func TestStateIsTooLargeForGoodOnlyForTheWholeMemory(t *testing.T) {
	t.Parallel()
	var b broker.Broker
	b.Resize(100)
	account, _ := b.Open(10, 0)
	b.Open(10, 0)
	memory, cause := &budget{Memory: account}, errors.New("large")
	usable := func(bytes int64) int64 { return bytes - 5 }
	for bytes, permanent := range map[int64]bool{46: false, 95: false, 96: true} {
		err := memory.tooLarge(cause, bytes, usable)
		if !errors.Is(err, cause) || errors.Is(err, operator.ErrPermanent) != permanent {
			t.Errorf("%d bytes: error %v, permanent %v", bytes, err, !permanent)
		}
	}
}

// It would catch a list that is refused memory once and then never counted.
func TestABroadcastListAsksAgain(t *testing.T) {
	t.Parallel()
	var b broker.Broker
	b.Resize(4 << 20)
	other, _ := b.Open(0, 0)
	other.Take(3 << 20)
	account, _ := b.Open(0, 0)
	f := &broadcastFunction[int, int, int]{memory: &budget{Memory: account}}
	if err := f.reserve(3 << 19); err != nil || f.room > 1<<20 || f.room < 1<<19 {
		t.Errorf("error %v, and %d bytes are taken: want what there is", err, f.room)
	}
	other.Close()
	b.Open(0, 0)
	if err := f.reserve(3<<19 + 1); err != nil || f.room < 3<<19 {
		t.Errorf("error %v, and %d bytes are taken: want all", err, f.room)
	}
}
