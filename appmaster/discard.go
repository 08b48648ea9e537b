package appmaster

import (
	"context"
	"maps"
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

// discardsAtOnce is how many jobs have their outputs removed at the same time when a cluster ends. A job
// whose HDFS does not answer then delays few others.
const discardsAtOnce = 16

// outputs removes the unfinished output of jobs without a result. Make it with newOutputs. Its methods may
// be called from any goroutine.
type outputs struct {
	files  filesystem.FileSystem // nil: nothing is removed
	alone  bool                  // the cluster is for one job, and another attempt may already run that job
	config config.Config
	logger logrus.FieldLogger

	mu   sync.Mutex                       // guards open
	open map[ids.JobID]*jobgraph.JobGraph // jobs that may have written, have not finished, and whose output was not removed
}

func newOutputs(c ComponentConfig, logger logrus.FieldLogger) *outputs {
	return &outputs{
		files: c.Files, alone: c.Mode == dispatcher.Detached || c.Mode == dispatcher.Attached,
		config: c.Config, logger: logger, open: make(map[ids.JobID]*jobgraph.JobGraph),
	}
}

// begin notes that a job may write from now on, or has written in an earlier attempt of the application.
func (o *outputs) begin(job ids.JobID, graph *jobgraph.JobGraph) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.open[job] = graph
}

// end notes how a job has ended. Nothing of the job runs any more, except tasks on workers that are
// presumed dead. If the job has no result, end removes its parts, because they count against the quota that
// may have failed the job. The parts of a cluster for one job stay until discardAll.
func (o *outputs) end(ctx context.Context, job ids.JobID, graph *jobgraph.JobGraph, status msg.JobStatus) {
	if status != msg.JobFinished {
		if o.alone {
			return
		}
		o.discard(ctx, job, graph)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.open, job)
}

// discardAll removes the output of all jobs without a result when the cluster ends. YARN must have recorded
// that end: until then YARN may have given up this attempt, and the next attempt runs the same job. If a
// worker has not ended yet, it may write again, and that output stays.
func (o *outputs) discardAll(ctx context.Context) {
	o.mu.Lock()
	open := maps.Clone(o.open)
	o.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, o.config.Duration(config.ServicesShutdownTimeout))
	defer cancel()
	var group errgroup.Group
	group.SetLimit(discardsAtOnce)
	for job, graph := range open {
		group.Go(func() error {
			o.discard(ctx, job, graph)
			return nil
		})
	}
	_ = group.Wait() // discard logs each error
}

// discard removes the unfinished output of one job. If HDFS does not answer, the job and the cluster must
// end nevertheless.
func (o *outputs) discard(ctx context.Context, job ids.JobID, graph *jobgraph.JobGraph) {
	if o.files == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, o.config.Duration(config.ServicesShutdownTimeout))
	defer cancel()
	if err := dataflow.Discard(ctx, o.files, graph, string(job)); err != nil {
		o.logger.WithFields(logrus.Fields{"job": job, "err": err}).Warn("cannot remove the unfinished output of the job")
	}
}
