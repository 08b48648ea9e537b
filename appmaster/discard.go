package appmaster

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/sirupsen/logrus"
	"golang.org/x/sync/errgroup"

	"github.com/bobbin-yarn/bobbin/appmaster/dispatcher"
	"github.com/bobbin-yarn/bobbin/dataflow"
	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// discardsAtOnce bounds the jobs whose outputs are cleaned up side by side at the end of a
// cluster: one whose HDFS is away holds up few others.
const discardsAtOnce = 16

// mostLeft bounds the folders that are remembered because they could not be cleaned up when their job
// ended: they take some 200 kB of the master's memory, and not more the longer HDFS is away.
const mostLeft = 1000

// outputs removes what jobs without a result have begun to write. Make it with newOutputs; its
// methods may be called from any goroutine.
type outputs struct {
	files  filesystem.FileSystem // nil: nothing is removed
	alone  bool                  // the cluster is for one job, which another attempt may have taken over
	config config.Config
	logger logrus.FieldLogger

	mu   sync.Mutex             // guards what follows
	open map[ids.JobID][]string // the folders of jobs that may have written, and have not ended
	left []leftover             // of jobs that have ended without a result; the oldest first, mostLeft at most
}

// leftover is a folder that could not be cleaned up when its job ended.
type leftover struct {
	job ids.JobID
	dir string
}

func newOutputs(c ComponentConfig, logger logrus.FieldLogger) *outputs {
	return &outputs{
		files: c.Files, alone: c.Mode == dispatcher.Detached || c.Mode == dispatcher.Attached,
		config: c.Config, logger: logger, open: make(map[ids.JobID][]string),
	}
}

// begin says that a job may write from now on, or has written in an earlier attempt of the application.
func (o *outputs) begin(job ids.JobID, graph *jobgraph.JobGraph) {
	var dirs []string
	for _, v := range graph.Vertices {
		dirs = append(dirs, v.Outputs...)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.open[job] = dirs
}

// end says how a job has ended. Nothing of it runs any more, but for tasks on workers that are taken
// for dead. If it has no result its parts go: they count against the quota that may have failed it.
// Those of a cluster for one job stay until discardAll, and so do those that cannot be removed now.
func (o *outputs) end(ctx context.Context, job ids.JobID, status msg.JobStatus) {
	var left []string
	if status != msg.JobFinished {
		if o.alone {
			return
		}
		o.mu.Lock()
		dirs := o.open[job]
		o.mu.Unlock()
		left = o.discard(ctx, job, dirs)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.open, job)
	for _, dir := range left {
		o.left = append(o.left, leftover{job, dir})
	}
	for len(o.left) > mostLeft {
		oldest := o.left[0]
		o.left = slices.Delete(o.left, 0, 1)
		o.logger.WithFields(logrus.Fields{"job": oldest.job, "output": oldest.dir}).Warnf(
			"the unfinished output of the job stays, as %d others could not be removed: remove %s/_temporary/%s", mostLeft, oldest.dir, oldest.job)
	}
}

// discardAll removes what is left of the jobs without a result as the cluster ends. YARN must have
// recorded that end: until then this attempt may be one that was given up, whose successor runs
// the same job. A worker that has not ended yet may begin to write again, and that stays.
func (o *outputs) discardAll(ctx context.Context) {
	o.mu.Lock()
	open, left := maps.Clone(o.open), slices.Clone(o.left)
	o.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, o.config.Duration(config.ServicesShutdownTimeout))
	defer cancel()
	var group errgroup.Group
	group.SetLimit(discardsAtOnce)
	for job, dirs := range open {
		group.Go(func() error {
			o.discard(ctx, job, dirs)
			return nil
		})
	}
	for _, l := range left {
		group.Go(func() error {
			o.discard(ctx, l.job, []string{l.dir})
			return nil
		})
	}
	_ = group.Wait() // each fault is logged
}

// discard removes what one job has begun to write, and gives the folders where another try may
// succeed. An HDFS that is away must not keep the job, or the cluster, from ending.
func (o *outputs) discard(ctx context.Context, job ids.JobID, dirs []string) (left []string) {
	if o.files == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, o.config.Duration(config.ServicesShutdownTimeout))
	defer cancel()
	var faults []error
	for _, dir := range dirs {
		err := dataflow.Discard(ctx, o.files, dir, string(job))
		if err != nil && !errors.Is(err, dataflow.ErrCommitBegun) {
			left = append(left, dir)
		}
		faults = append(faults, err)
	}
	if err := errors.Join(faults...); err != nil {
		o.logger.WithFields(logrus.Fields{"job": job, "err": err}).Warn("cannot remove the unfinished output of the job")
	}
	return left
}
