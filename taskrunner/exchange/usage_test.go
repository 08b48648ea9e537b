package exchange

import "testing"

// TestUsageOfThePool would catch a task that seems to have room although the pool has no free buffer, and one that seems to be full
// although it may take more; also one with several inputs.
func TestUsageOfThePool(t *testing.T) {
	t.Parallel()
	p := poolOf(20 * bufferSize)
	p.reserve(4) // two channels of this task, and two of another one
	mine := quota{pool: p}
	for range 3 {
		mine.take()
	}
	usage := func() Usage {
		var u usageCount
		u.count(channelUsage{queued: 2, held: mine.held, floating: mine.floating()})
		u.count(channelUsage{})
		return u.with(p)
	}
	// The pool has 14 free ones. So each channel may have few.
	if got, want := usage(), (Usage{Queued: 2, Held: 3, Most: 2 * fewPerChannel}); got != want {
		t.Errorf("with a free pool: %+v, want %+v", got, want)
	}
	p.capacity = 200
	if got, want := usage(), (Usage{Queued: 2, Held: 3, Most: 2 * maxPerChannel}); got != want {
		t.Errorf("with a large pool: %+v, want %+v", got, want)
	}
	p.capacity = 20
	p.floating = 16 // other tasks have the rest
	if got, want := usage(), (Usage{Queued: 2, Held: 3, Most: 4}); got != want {
		t.Errorf("with a pool that is used up: %+v, want %+v", got, want)
	}
	sum := usage()
	if sum.Add(Usage{Queued: 1, Held: 20, Most: 300}); sum != (Usage{Queued: 3, Held: 23, Most: 304}) {
		t.Errorf("of two inputs: %+v", sum)
	}
	if none := (usageCount{}).with(p); none != (Usage{}) {
		t.Errorf("without channels: %+v", none)
	}
	var ended usageCount
	ended.count(channelUsage{held: 2, floating: 1, over: true})
	if got := ended.with(poolOf(200 * bufferSize)); got.Most != 2 {
		t.Errorf("a channel that has ended may take further buffers: %+v", got)
	}
	uneven := usageCount{}
	uneven.count(channelUsage{held: maxPerChannel, floating: maxPerChannel - 1})
	uneven.count(channelUsage{})
	if got := uneven.with(&pool{capacity: 72, reserved: 2, floating: maxPerChannel - 1}); got.Most != maxPerChannel+fewPerChannel {
		t.Errorf("a full channel hides the room of another one: %+v", got)
	}
}
