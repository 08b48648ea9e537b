package appmaster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/appmaster/dispatcher"
	"github.com/bobbin-yarn/bobbin/appmaster/jobmaster/commitrecord"
	"github.com/bobbin-yarn/bobbin/dataflow"
	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/sched"
)

// outputsAtOnce is how many outputs of one file system are opened and removed at the same time, when a thousand jobs are
// recovered, or end. With more than this, the other users of the NameNode would notice.
const outputsAtOnce = 16

// mostLeft is how many folders are remembered because their output could not be removed when the job ended.
// They take some 200 kB of the ApplicationMaster's memory, however long HDFS does not answer.
const mostLeft = 1000

// outputs removes the unfinished output of jobs without a result. Make it with newOutputs. Its methods may
// be called from any goroutine.
type outputs struct {
	files   filesystem.FileSystem // nil: nothing is removed
	epoch   ids.Epoch
	confirm func(context.Context) error // whether this process leads
	config  config.Config
	logger  logrus.FieldLogger

	mu      sync.Mutex             // guards what follows
	gates   map[string]*gate       // by the file system's URI, while outputs are opened or removed there
	running map[ids.JobID][]string // the output folders of jobs that may have written and have not ended
	left    []leftover             // folders of jobs that ended without a result: the oldest first, mostLeft at most
}

// gate limits the outputs that change on one file system, so that one that does not answer delays no others.
type gate struct {
	permits sched.Permits
	users   int
}

// leftover is a folder whose output could not be removed when its job ended.
type leftover struct {
	job ids.JobID
	dir string
}

func newOutputs(c ComponentConfig, logger logrus.FieldLogger) *outputs {
	confirm := c.Confirm
	if confirm == nil {
		confirm = func(context.Context) error { return nil }
	}
	return &outputs{
		files: c.Files, confirm: confirm, epoch: c.Epoch, config: c.Config, logger: logger, gates: make(map[string]*gate), running: make(map[ids.JobID][]string),
	}
}

// begin notes that a job may write from now on, or may have written in an earlier attempt of the application.
func (o *outputs) begin(job ids.JobID, graph *jobgraph.JobGraph) {
	var dirs []string
	for _, v := range graph.Vertices {
		dirs = append(dirs, v.Outputs...)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.running[job] = dirs
}

// recover notes that these jobs of an earlier attempt may have written.
func (o *outputs) recover(jobs []dispatcher.RecoveredJob) {
	for _, job := range jobs {
		if graph := job.Submission.Graph; graph != nil {
			o.begin(job.Submission.Job, graph)
		}
	}
}

// open prepares the outputs of a job for its tasks, and keeps those of earlier leaders from changing them. takenOver says that
// the job runs on after an earlier leader: then parts stay, because tasks that have finished may not run again. commits has what
// is recorded of regions; outputs that are committed are not touched. open waits while HDFS does not answer.
func (o *outputs) open(ctx context.Context, job ids.JobID, graph *jobgraph.JobGraph, takenOver bool, commits map[int]commitrecord.Record) error {
	o.begin(job, graph)
	if o.files == nil {
		return nil
	}
	for i, v := range graph.Vertices {
		recorded, committed := recordedOf(commits, i)
		if committed {
			continue
		}
		earlier := dataflow.PartsDropped
		switch {
		case recorded:
			earlier = dataflow.PartsRecorded
		case takenOver:
			earlier = dataflow.PartsKept
		}
		for _, dir := range v.Outputs {
			err := patiently(ctx, o.logger.WithField("job", job), "open the output "+dir, func() error {
				leave, err := o.enter(ctx, dir)
				if err != nil {
					return err
				}
				defer leave()
				return dataflow.OpenOutput(ctx, o.files, dir, string(job), int(o.epoch), earlier)
			})
			if errors.Is(err, dataflow.ErrFenced) {
				err = o.fenced(ctx, job, dir, err)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// enter waits until an output may be opened or removed. The caller calls leave afterwards.
func (o *outputs) enter(ctx context.Context, dir string) (leave func(), err error) {
	of, _ := filesystem.Split(dir)
	o.mu.Lock()
	g := o.gates[of]
	if g == nil {
		g = &gate{permits: sched.NewPermits(outputsAtOnce)}
		o.gates[of] = g
	}
	g.users++
	o.mu.Unlock()
	gone := func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		if g.users--; g.users == 0 {
			delete(o.gates, of)
		}
	}
	if err := g.permits.Acquire(ctx); err != nil {
		gone()
		return nil, err
	}
	return func() {
		g.permits.Release()
		gone()
	}, nil
}

// recordedOf looks whether the region of a vertex has a commit record, and whether it has committed.
func recordedOf(commits map[int]commitrecord.Record, vertex int) (recorded, committed bool) {
	for _, r := range commits {
		if r.Has(vertex) {
			return true, r.Committed
		}
	}
	return false, false
}

// fenced explains why a later master seems to have opened an output. Anybody who may write to it can make a directory like
// that, so only the store says who leads.
func (o *outputs) fenced(ctx context.Context, job ids.JobID, dir string, fence error) error {
	err := patiently(ctx, o.logger.WithField("job", job), "look who leads", func() error { return o.confirm(ctx) })
	if err != nil {
		return errors.Join(err, fence)
	}
	return fmt.Errorf("%w: a job of another application has the same id and output: if it has ended, remove %s/_temporary/%s", fence, dir, job)
}

// end notes how a job has ended. Nothing of the job runs any more, except tasks on workers that are
// presumed dead. If the job has no result, end removes its parts, because they count against the quota that
// may have failed the job. Parts that cannot be removed now stay until discardAll.
func (o *outputs) end(ctx context.Context, job ids.JobID, status msg.JobStatus) {
	var left []string
	if status != msg.JobFinished {
		o.mu.Lock()
		dirs := o.running[job]
		o.mu.Unlock()
		left = o.discard(ctx, job, dirs)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.running, job)
	for _, dir := range left {
		o.left = append(o.left, leftover{job, dir})
	}
	for len(o.left) > mostLeft {
		oldest := o.left[0]
		o.left = slices.Delete(o.left, 0, 1)
		o.logger.WithFields(logrus.Fields{"job": oldest.job, "output": oldest.dir}).Warnf(
			"the unfinished output of the job stays, because %d others could not be removed either: remove %s/_temporary/%s", mostLeft, oldest.dir, oldest.job)
	}
}

// discardAll removes the output of all jobs without a result when the cluster ends. YARN must have recorded that end: until
// then the next attempt may run these jobs. If a worker has not ended yet, it may write again, and that output stays.
func (o *outputs) discardAll(ctx context.Context) {
	o.mu.Lock()
	running, left := maps.Clone(o.running), slices.Clone(o.left)
	o.mu.Unlock()
	for _, job := range slices.Sorted(maps.Keys(running)) {
		for _, dir := range running[job] {
			left = append(left, leftover{job, dir})
		}
	}
	ctx, cancel := sched.WithTimeout(ctx, o.config.Duration(config.ServicesShutdownTimeout))
	defer cancel()
	next := make(chan leftover, len(left))
	for _, l := range left {
		next <- l
	}
	close(next)
	var discarding sched.Group
	for range min(len(left), outputsAtOnce) {
		discarding.Go(ctx, func() {
			for l := range next { // never blocks
				o.discard(ctx, l.job, []string{l.dir}) // it logs errors
			}
		})
	}
	discarding.Wait(ctx)
}

// discard removes the unfinished output of one job, and returns the folders where another try may succeed.
// If HDFS does not answer, the job and the cluster must end nevertheless.
func (o *outputs) discard(ctx context.Context, job ids.JobID, dirs []string) (left []string) {
	if o.files == nil {
		return nil
	}
	ctx, cancel := sched.WithTimeout(ctx, o.config.Duration(config.ServicesShutdownTimeout))
	defer cancel()
	var faults []error
	for _, dir := range dirs {
		leave, err := o.enter(ctx, dir)
		if err == nil {
			err = dataflow.Discard(ctx, o.files, dir, string(job), int(o.epoch))
			leave()
		}
		if err != nil && !errors.Is(err, dataflow.ErrCommitBegun) && !errors.Is(err, dataflow.ErrFenced) {
			left = append(left, dir)
		}
		faults = append(faults, err)
	}
	if err := errors.Join(faults...); err != nil {
		o.logger.WithFields(logrus.Fields{"job": job, "err": err}).Warn("cannot remove the unfinished output of the job")
	}
	return left
}
