package scale

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/appmaster"
	"github.com/bobbin-yarn/bobbin/appmaster/dispatcher"
	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/memory"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// master is the measured part of a cluster, and what its workers have still to do. It lives in a bubble.
type master struct {
	*appmaster.Component
	t       *testing.T
	options config.Config
	memory  memory.Worker
	logger  logrus.FieldLogger
	orders  chan resourcemanager.Orders
	events  chan []resourcemanager.WorkerEvent
	workers map[ids.ResourceID]*worker
	list    []*worker // in the order of their start
	job     ids.JobID

	spent time.Duration // processor time of the master so far
	sent  int64         // bytes to the workers so far

	deployment []byte // the last frame with DeployTasks
}

func (m *master) Order(ctx context.Context, o resourcemanager.Orders) {
	select {
	case m.orders <- o:
	case <-ctx.Done():
	}
}

func (m *master) Deregister(context.Context, msg.ApplicationStatus, string) error { return nil }

// Run starts the ordered workers at once.
func (m *master) Run(ctx context.Context, report resourcemanager.Report) error {
	for {
		var events []resourcemanager.WorkerEvent
		select {
		case o := <-m.orders:
			for _, order := range o.Workers {
				for len(m.list) < order.Total {
					w := m.newWorker(len(m.list))
					events = append(events, resourcemanager.WorkerStarting{Worker: w.id, Spec: order.Spec, Host: w.node})
				}
			}
		case events = <-m.events:
		case <-ctx.Done():
			return nil
		}
		if len(events) > 0 && report(ctx, events...) != nil {
			return nil //nolint:nilerr // the master has ended
		}
	}
}

var errOver = errors.New("the measurement is over")

// begin starts the master of a session. slots is the number of slots of a worker.
func begin(t *testing.T, slots int, options map[string]string) *master {
	t.Helper()
	values := map[string]string{config.TaskSlots.Name(): fmt.Sprint(slots)}
	maps.Copy(values, options)
	c, err := config.New(config.Layer{Values: values})
	if err != nil {
		t.Fatal(err)
	}
	logger := logrus.New() // at its level, info, as in a cluster
	logger.SetOutput(io.Discard)
	m := &master{
		t: t, options: c, logger: logger,
		orders: make(chan resourcemanager.Orders), events: make(chan []resourcemanager.WorkerEvent),
		workers: make(map[ids.ResourceID]*worker),
	}
	if m.memory, err = memory.WorkerOf(c); err != nil {
		t.Fatal(err)
	}
	m.Component, err = appmaster.NewComponent(appmaster.ComponentConfig{
		Config: c, Mode: dispatcher.Session,
		Worker: resourcemanager.WorkerResourceSpec{MemoryMB: m.memory.ContainerMB(), VCores: 1, Slots: slots, Memory: m.memory},
	}, m, logger)
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancelCause(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- m.Component.Run(ctx) }()
	t.Cleanup(func() {
		end(errOver)
		for _, w := range m.list {
			w.close()
		}
		if err := <-ended; !errors.Is(err, errOver) {
			t.Errorf("master ends: %v", err)
		}
	})
	return m
}

// measure does something to the master, waits until the master waits, and adds its processor time.
func (m *master) measure(what func()) {
	before := processorTime()
	what()
	synctest.Wait()
	m.spent += processorTime() - before
}

// settle lets master and workers answer each other until none has anything to say.
func (m *master) settle() {
	m.measure(func() {})
	for {
		var say []func()
		for _, w := range m.list {
			say = append(say, w.answers()...)
		}
		if len(say) == 0 {
			return
		}
		m.measure(func() {
			for _, f := range say {
				f()
			}
		})
	}
}

// lose ends a worker as YARN reports it.
func (m *master) lose(w *worker) {
	w.close()
	m.events <- []resourcemanager.WorkerEvent{resourcemanager.WorkerCompleted{Worker: w.id, Cause: "killed"}}
}

func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
