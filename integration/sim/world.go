// Package sim runs a whole Bobbin cluster in one goroutine, in virtual time and from one seed: the
// roles with their shells and the clients of YARN as they run in production, over models of YARN, of
// HDFS, of the network and of the data plane. Faults are drawn from the seed. The same seed gives the
// same run, to the byte.
//
// The roles run as fibers of package engine: they start work, wait and read the clock only through
// package sched. A World is for one goroutine; different Worlds are independent.
package sim

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/integration/sim/engine"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// World is a simulated cluster.
type World struct {
	schedule Schedule
	engine   *engine.Engine
	codec    *rand.Rand // which messages are encoded
	watch    *watch
	logger   logrus.FieldLogger
	traced   bool // the log is read
	config   config.Config
	jobs     []*job
	plane    *plane
	hdfs     *hdfs
	end      map[*engine.Process][]func()
	yarn     *yarn
	facts    Facts
	calm     time.Duration // since the start: the faults that have struck are over

	clients    []*client
	masters    []*master                     // by age
	planners   []*planner                    // by age
	containers []*worker                     // by age
	links      map[*engine.Process][]link    // of its streams
	silent     map[*engine.Process]bool      // their ends are told to nobody
	frozen     map[*engine.Process]time.Time // until when
	waiting    []waiting                     // faults, for calls
	holds      []hold                        // faults, for registrations
	excused    map[records.ApplicationID]bool
	commits    map[string]int32              // the attempt that has begun to commit an output, by directory
	disturbed  map[*engine.Process]time.Time // until when a fault has kept it or its streams from working
}

// excuse says that an application need not succeed. Nobody else may see that: its outputs are whole or not
// there, and nothing is left of it.
func (w *World) excuse(app records.ApplicationID, why string) {
	if !w.excused[app] {
		w.excused[app] = true
		w.facts[Excused]++
		w.logger.WithFields(logrus.Fields{"application": app, "reason": why}).Info("application need not succeed")
	}
}

// link is a connection that faults can hit.
type link interface {
	cut()
	stall(until time.Time)
	repeat()
}

// epoch is when virtual time begins.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) //nolint:gochecknoglobals // a constant

// newWorld makes a cluster without processes. The log gets what the processes log, with virtual times.
func newWorld(s Schedule, log io.Writer) (*World, error) {
	values := map[string]string{
		config.RestartStrategy.Name():        cmp.Or(s.Strategy, "fixed-delay"),
		config.FixedDelayAttempts.Name():     strconv.Itoa(max(0, cmp.Or(s.Restarts, 100_000))), // each job must finish, whatever fails
		config.FailureRateMaxFailures.Name(): "1000",
		config.FailoverStrategy.Name():       cmp.Or(s.Failover, "region"),
		config.BatchShuffleMode.Name():       s.Edges.mode(),
		config.SlotRequestTimeout.Name():     fmt.Sprint(cmp.Or(s.SlotTimeout, 24*time.Hour).Milliseconds(), " ms"),
		config.RedundantWorkers.Name():       strconv.Itoa(s.Redundant),
		config.LoadBalanceMode.Name():        cmp.Or(s.Balance, config.BalanceNone),
		config.TaskSlots.Name():              strconv.Itoa(slotsPerWorker),
		config.YarnHeartbeatInterval.Name():  "5 s",
	}
	maps.Copy(values, s.limits())
	maps.Copy(values, s.speculation())
	if s.Archive {
		values[config.ArchiveDir.Name()] = root + strings.TrimPrefix(archives, "/")
	}
	options, err := config.New(config.Layer{Source: "simulation", Values: values})
	if err != nil {
		return nil, err
	}
	w := &World{
		schedule: s, engine: engine.New(epoch, s.Seed), config: options,
		end:     make(map[*engine.Process][]func()),
		excused: make(map[records.ApplicationID]bool), commits: make(map[string]int32),
		facts: make(Facts), links: make(map[*engine.Process][]link), silent: make(map[*engine.Process]bool), frozen: make(map[*engine.Process]time.Time),
		disturbed: make(map[*engine.Process]time.Time),
	}
	w.codec = w.stream("codec")
	w.logger, w.traced = newLogger(w, log), log != nil
	w.watch = newWatch(w)
	w.hdfs = newHDFS(w)
	w.yarn = newYARN(w)
	w.jobs = drawJobs(w)
	for _, j := range w.jobs {
		if err := j.plan(); err != nil {
			return nil, err
		}
	}
	w.plane = newPlane(w)
	return w, nil
}

func (w *World) stream(name string) *rand.Rand { return stream(w.schedule.Seed, name) }

// since is how long the cluster has run.
func (w *World) since() time.Duration { return w.engine.Now().Sub(epoch) }

// atEnd calls f when a process ends; now, if it has ended.
func (w *World) atEnd(p *engine.Process, f func()) {
	if !p.Alive() {
		f()
		return
	}
	w.end[p] = append(w.end[p], f)
}

// ended calls what waits for the end of a process.
func (w *World) ended(p *engine.Process) {
	waiting := w.end[p]
	delete(w.end, p)
	for _, f := range waiting {
		f()
	}
}

// newLogger makes a log with virtual times; nil: nothing is logged.
func newLogger(w *World, to io.Writer) logrus.FieldLogger {
	logger := logrus.New()
	if to == nil {
		logger.SetOutput(io.Discard)
		logger.SetLevel(logrus.PanicLevel)
		return logger
	}
	logger.SetOutput(to)
	logger.SetLevel(logrus.DebugLevel)
	logger.SetFormatter(formatter{w})
	return logger
}

// formatter writes a line of the transcript: time, level, text, and the fields in the order of their
// names.
type formatter struct{ w *World }

func (f formatter) Format(e *logrus.Entry) ([]byte, error) {
	e.Time = f.w.engine.Now()
	delete(e.Data, "stack") // of goroutines, which all simulations of this process share
	text := logrus.TextFormatter{DisableTimestamp: true, DisableColors: true}
	line, err := text.Format(e)
	return append([]byte(fmt.Sprintf("%12.6f ", f.w.since().Seconds())), line...), err
}
