package randomjobs_test

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/bobbin-yarn/bobbin/dataflow"
	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest"
	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest/clustertest"
)

// pressure is a job of which one branch stops to read, until the other one has read far more. So the test needs no clock.
type pressure struct {
	read    [2]atomic.Int64 // elements that the sources of both branches have read
	fast    atomic.Int64    // elements at the end of the second branch
	held    chan struct{}   // closed when the first branch has stopped
	hold    sync.Once
	resume  chan struct{} // closed when the second branch has ended
	release sync.Once
	stopped atomic.Int64 // elements that the first source had read then
}

var pressures sync.Map // by the name of the test

const (
	slowLines = 40_000 // of 100 bytes: far more than the network memory and the sockets of one job
	fastLines = 3 * slowLines
)

// pressed has two branches without an edge between them.
var pressed = dataflow.Job("pressed", func(p *dataflow.Plan, test string) error {
	found, _ := pressures.Load(test)
	run := found.(*pressure)
	branch := func(number int, path string, take func()) dataflow.Stream[string] {
		lines := dataflow.Map(dataflow.ReadText(p, path), func(line []byte) string {
			run.read[number].Add(1)
			return string(line)
		})
		taken := dataflow.Map(dataflow.Rebalance(lines), func(line string) string {
			take()
			return line[:4]
		})
		return dataflow.Map(dataflow.Count(dataflow.KeyBy(taken, dataflow.Identity[string])), func(c dataflow.KV[string, int64]) string {
			if c.Value == slowLines || c.Value == fastLines {
				return c.Key
			}
			return "a wrong number of " + c.Key
		})
	}
	slow := branch(0, "/slow", func() {
		run.hold.Do(func() { close(run.held) })
		<-run.resume
	})
	quick := branch(1, "/fast", func() {
		if run.fast.Add(1) == fastLines {
			<-run.held
			run.release.Do(func() {
				run.stopped.Store(run.read[0].Load())
				close(run.resume)
			})
		}
	})
	dataflow.Collect(dataflow.Union(slow, quick), tallies)
	return nil
})

// TestBackPressureReachesTheSource would catch an exchange that takes more than its buffers hold: the source would read on while
// nobody takes its elements.
func TestBackPressureReachesTheSource(t *testing.T) {
	t.Parallel()
	run := &pressure{held: make(chan struct{}), resume: make(chan struct{})}
	pressures.Store(t.Name(), run)
	files := dataflowtest.NewFiles(map[string]string{
		"/slow/1": strings.Repeat("slow"+strings.Repeat(".", 95)+"\n", slowLines),
		"/fast/1": strings.Repeat("fast"+strings.Repeat(".", 95)+"\n", fastLines),
	})
	config := leastMemory()
	config[shuffleMode] = pipelined
	result := clustertest.Run(t, pressed, t.Name(), clustertest.Options{Files: files, Parallelism: 2, Config: config})
	got, err := dataflow.Collected(result, tallies)
	if slices.Sort(got); err != nil || !slices.Equal(got, []string{"fast", "slow"}) {
		t.Errorf("%q, %v", got, err)
	}
	if stopped := run.stopped.Load(); stopped > slowLines/2 {
		t.Errorf("the source had read %d of %d lines while nothing took them", stopped, slowLines)
	} else {
		t.Logf("the source had read %d of %d lines", stopped, slowLines)
	}
}
