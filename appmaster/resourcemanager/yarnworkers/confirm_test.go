package yarnworkers

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager"
	"github.com/bobbin-yarn/bobbin/internal/ha"
)

func (y *fakeYARN) allocatesAs(err error) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.allocateAs = err
}

// TestRunEndsWhenAnotherAttemptLeads would catch a master that YARN cannot reach, and that goes on although it was
// replaced; and one that ends because HDFS is away, too.
func TestRunEndsWhenAnotherAttemptLeads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		y := newFakeYARN()
		var looks []time.Duration
		_, _, stop := runConfirming(t, y, func(context.Context) error {
			looks = append(looks, time.Since(y.began))
			if len(looks) < 3 {
				return errors.New("no NameNode answers")
			}
			return fmt.Errorf("list: %w", ha.ErrSuperseded)
		})
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(looks) > 0 {
			t.Errorf("it looks for another leader at %v, although YARN answers", looks)
		}
		y.allocatesAs(errors.New("no answer"))
		time.Sleep(time.Minute)
		if err := stop(); !errors.Is(err, ha.ErrSuperseded) {
			t.Errorf("run ends with %v", err)
		}
		// The last allocate with an answer was sent after a minute.
		if want := []time.Duration{70 * time.Second, 75 * time.Second, 80 * time.Second}; fmt.Sprint(looks) != fmt.Sprint(want) {
			t.Errorf("it looked at %v, want %v", looks, want)
		}
	})
}

// TestStartsThatWaitTooLongWaitForYARN would catch a start that has waited for other starts on its node, and is made
// long after YARN has last confirmed the attempt.
func TestStartsThatWaitTooLongWaitForYARN(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		y := newFakeYARN()
		y.startTime = 6 * time.Second
		d, u, stop := run(t, y)
		d.Order(t.Context(), resourcemanager.Orders{Workers: workersOf(testSpec, 3*callsPerNode)})
		time.Sleep(2 * time.Second)
		y.allocatesAs(errors.New("no answer"))
		time.Sleep(time.Minute)
		synctest.Wait()
		if n := y.runningCount(); n != 2*callsPerNode {
			t.Errorf("%d workers were started while YARN has not answered for long, want those before: %d", n, 2*callsPerNode)
		}
		y.allocatesAs(nil)
		time.Sleep(2*defaultHeartbeat + y.startTime)
		synctest.Wait()
		if n := y.runningCount(); n != 3*callsPerNode || u.count("failed") != 0 {
			t.Errorf("%d workers run, reported: %q", n, u.events)
		}
		stop()
	})
}

// TestStopsThatWaitTooLongWaitForYARN would catch a stop that has waited for other stops on its node, and is made long
// after YARN has last confirmed the attempt, or not at all.
func TestStopsThatWaitTooLongWaitForYARN(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const workers = 6 * callsPerNode
		y := newFakeYARN()
		d, _, stop := run(t, y)
		d.Order(t.Context(), resourcemanager.Orders{Workers: workersOf(testSpec, workers)})
		time.Sleep(5 * time.Second)
		y.mu.Lock()
		y.dead, y.allocateAs = []string{"h1"}, errors.New("no answer")
		y.mu.Unlock()
		orders := resourcemanager.Orders{Workers: workersOf(testSpec, workers)}
		for i := range workers {
			orders.Release = append(orders.Release, resourcemanager.Release{Worker: worker(containerID(i + 1))})
		}
		d.Order(t.Context(), orders)
		time.Sleep(time.Minute)
		y.mu.Lock()
		tried := len(y.stops)
		y.dead, y.allocateAs = nil, nil
		y.mu.Unlock()
		if tried >= workers {
			t.Errorf("%d stops were tried while YARN has not answered for long", tried)
		}
		time.Sleep(3 * defaultHeartbeat)
		synctest.Wait()
		if y.mu.Lock(); len(y.stops) != workers {
			t.Errorf("%d of %d stops were tried", len(y.stops), workers)
		}
		y.mu.Unlock()
		stop()
	})
}
