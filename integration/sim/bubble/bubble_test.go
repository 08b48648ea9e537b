package bubble

import (
	"context"
	"flag"
	"io"
	"math/rand/v2"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"
	"go.uber.org/goleak"

	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	seed = flag.Uint64("seed", 0, "run only this seed, and print the log of all processes")
	from = flag.Uint64("from", 1, "the first seed")
	runs = flag.Uint64("runs", defaultRuns, "how many seeds to run")
)

// TestAClusterSurvivesKills would catch an application that does not end, or whose output is not whole,
// and a goroutine that outlives its process, when processes and connections of production fail.
func TestAClusterSurvivesKills(t *testing.T) {
	t.Parallel()
	if *seed > 0 {
		*from, *runs = *seed, 1
	}
	for s := *from; s < *from+*runs; s++ {
		synctest.Test(t, func(t *testing.T) { survive(t, s) })
		if t.Failed() {
			return
		}
	}
}

func survive(t *testing.T, number uint64) {
	log := logrus.New()
	log.SetLevel(logrus.DebugLevel) // so that what logs is run
	log.SetFormatter(&logrus.TextFormatter{TimestampFormat: "15:04:05.000000", FullTimestamp: true})
	if log.SetOutput(io.Discard); *seed > 0 {
		log.SetOutput(os.Stdout)
	}
	draw := rand.New(rand.NewPCG(number, 2))
	slowest := []time.Duration{100 * time.Millisecond, 5 * time.Second, time.Minute}[draw.IntN(3)]
	faults := drawFaults(draw, 5*time.Second+7*slowest)

	began := time.Now()
	c := newCluster(t, number, log)
	defer c.close(t)
	ctx, cancel := context.WithTimeout(t.Context(), mostTime)
	defer cancel()
	user := new(client)
	var failed error
	applicant := c.start("client", func(_ context.Context, p *process) error {
		user.process = p
		failed = user.submitAndWait(ctx, slowest)
		return failed
	})
	hits := make(chan int, 1)
	go func() { hits <- c.suffer(ctx, faults) }()
	<-applicant.ended
	took := time.Since(began)
	cancel()
	t.Logf("seed %d: slowest %v, %d of faults %v; %v, %s, attempt %d", number, slowest, <-hits, faults, took, user.report.FinalStatus, user.report.Attempt.Attempt)
	if failed != nil || user.report.FinalStatus != records.FinalSucceeded {
		t.Errorf("seed %d: the application is %s, %s after %v: %s; %v", number, user.report.State, user.report.FinalStatus, took, user.report.Diagnostics, failed)
		return
	}
	if err := c.checkOutput(); err != nil {
		t.Errorf("seed %d: %v", number, err)
	}
	for _, k := range []kind{masters, workers, taskHosts} {
		for _, p := range c.rest(k) {
			t.Errorf("seed %d: %s %s still runs", number, k, p.name)
		}
	}
	gc := c.start("gc", func(ctx context.Context, p *process) error {
		failed = collect(ctx, p)
		return failed
	})
	if <-gc.ended; failed != nil {
		t.Errorf("seed %d: %v", number, failed)
	}
}

// restTime is how long the processes of an application may run after its end. YARN ends them.
const restTime = 10 * time.Minute

// rest waits until no process of a kind runs, and returns those that still run after some time.
func (c *cluster) rest(k kind) []*process {
	for end := time.Now().Add(restTime); len(c.alive(k)) > 0 && time.Now().Before(end); {
		time.Sleep(time.Second)
	}
	return c.alive(k)
}
