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

// discardsAtOnce bounds the jobs whose outputs are cleaned up side by side at the end of a
// cluster: one whose HDFS is away holds up few others.
const discardsAtOnce = 16

// outputs removes what jobs without a result have begun to write. Make it with newOutputs; its
// methods may be called from any goroutine.
type outputs struct {
	files  filesystem.FileSystem // nil: nothing is removed
	alone  bool                  // the cluster is for one job, which another attempt may have taken over
	config config.Config
	logger logrus.FieldLogger

	mu   sync.Mutex                       // guards open
	open map[ids.JobID]*jobgraph.JobGraph // of jobs that may have written, and neither finished nor been cleaned up
}

func newOutputs(c ComponentConfig, logger logrus.FieldLogger) *outputs {
	return &outputs{
		files: c.Files, alone: c.Mode == dispatcher.Detached || c.Mode == dispatcher.Attached,
		config: c.Config, logger: logger, open: make(map[ids.JobID]*jobgraph.JobGraph),
	}
}

// begin says that a job may write from now on, or has written in an earlier attempt of the application.
func (o *outputs) begin(job ids.JobID, graph *jobgraph.JobGraph) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.open[job] = graph
}

// end says how a job has ended. Nothing of it runs any more, but for tasks on workers that are taken
// for dead. If it has no result its parts go: they count against the quota that may have failed it.
// Those of a cluster for one job stay until discardAll.
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

// discardAll removes what is left of the jobs without a result as the cluster ends. YARN must have
// recorded that end: until then this attempt may be one that was given up, whose successor runs
// the same job. A worker that has not ended yet may begin to write again, and that stays.
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
	_ = group.Wait() // each fault is logged
}

// discard removes what one job has begun to write. An HDFS that is away must not keep the job, or
// the cluster, from ending.
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
