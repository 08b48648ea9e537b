package yarnworkers

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/amrm"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// strict is a YARN that refuses a whole allocate if one of its asks exceeds the largest container.
// It answers at once, and gives all containers that it has accepted.
type strict struct {
	core    *core
	now     time.Time
	largest int64                         // MB
	pending map[records.Priority]amrm.Ask // not looked at yet: the client sends them again
	request bool
	lastID  int
	started map[int]int  // by memory
	refused map[int]bool // once
}

func (y *strict) step(e event) {
	for _, effect := range y.core.Step(y.now, e) {
		switch e := effect.(type) {
		case allocate:
			for _, ask := range e.asks {
				y.pending[ask.Key.Priority] = ask
			}
			y.request = true
		case report:
			for _, event := range e.events {
				switch event := event.(type) {
				case resourcemanager.WorkerStarting:
					y.started[event.Spec.MemoryMB]++
				case resourcemanager.WorkersRefused:
					y.refused[event.Spec.MemoryMB] = true
				}
			}
		}
	}
}

func (y *strict) answer() {
	y.request = false
	for _, ask := range y.pending {
		if ask.Count > 0 && ask.Capability.MemoryMB > y.largest {
			y.step(allocated{err: fmt.Errorf("allocate: %w", yarnrpc.ErrInvalidResourceRequest)})
			return
		}
	}
	var given amrm.Response
	for priority, ask := range y.pending {
		for range ask.Count {
			y.lastID++
			given.Allocated = append(given.Allocated, records.Container{
				ID: containerID(y.lastID), Node: nodeID("h1"), Priority: priority, Resource: ask.Capability,
			})
		}
	}
	clear(y.pending)
	y.step(allocated{response: given})
}

// TestOnlyTheKindsThatYARNRefusesAreRefused would catch a kind of worker that is not requested any
// more, because it was requested together with one that YARN refuses; and kinds on trial that hinder
// each other for ever.
func TestOnlyTheKindsThatYARNRefusesAreRefused(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		y := &strict{
			core: testCore(launch.WorkerPlace{}, testNodes()), now: testEpoch,
			largest: int64(rapid.IntRange(0, 6).Draw(t, "largest")),
			pending: map[records.Priority]amrm.Ask{}, started: map[int]int{}, refused: map[int]bool{},
		}
		y.step(registered{sent: testEpoch})
		var orders []resourcemanager.WorkerOrder
		for range rapid.IntRange(1, 6).Draw(t, "orders") {
			spec := resourcemanager.WorkerResourceSpec{MemoryMB: len(orders) + 1, VCores: 1, Slots: 1}
			orders = append(orders, workersOf(spec, rapid.IntRange(0, 3).Draw(t, "total"))...)
			if again := rapid.IntRange(0, len(orders)-1).Draw(t, "again"); orders[again].Total > 0 && rapid.Bool().Draw(t, "more") {
				orders[again].Total++
			}
			y.step(ordered{resourcemanager.Orders{Workers: append([]resourcemanager.WorkerOrder(nil), orders...)}})
			for range rapid.IntRange(0, 3).Draw(t, "answers") {
				y.pass()
			}
		}
		for range 100 * len(orders) { // the pauses after refusals grow
			y.pass()
		}
		for _, o := range orders {
			fits, size := int64(o.Spec.MemoryMB) <= y.largest, o.Spec.MemoryMB
			if fits && (y.started[size] != o.Total || y.refused[size]) {
				t.Errorf("%d of %d workers of %d MB have started, refused: %v", y.started[size], o.Total, size, y.refused[size])
			}
			if !fits && (y.started[size] > 0 || y.refused[size] != (o.Total > 0)) {
				t.Errorf("%d workers of %d MB have started, refused: %v", y.started[size], size, y.refused[size])
			}
		}
	})
}

// pass lets a tenth of a second pass, in which YARN answers.
func (y *strict) pass() {
	if y.request {
		y.answer()
	}
	y.now = y.now.Add(defaultRequestInterval)
	y.step(woken{})
}
