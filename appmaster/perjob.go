package appmaster

import (
	"context"
	"errors"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/dispatcher"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// perJob runs the staged job. The cluster ends with it.
type perJob struct {
	*Component
	outside Outside
	staged  staged
}

func (j *perJob) run(ctx context.Context, taken func()) (dispatcher.Outcome, error) {
	if j.staged.tooLarge != "" {
		return dispatcher.Failed(j.staged.tooLarge, ""), nil
	}
	j.outputs.begin(j.staged.Job.ID, &j.staged.graph) // an earlier attempt may have written
	err := j.Dispatcher.Submit(ctx, dispatcher.Submission{
		Job: j.staged.Job.ID, Graph: &j.staged.graph, Program: j.outside.Launch.ProgramRef,
		Detached: !j.outside.Launch.Attached, ClientTimeout: j.clientTimeout(),
	})
	if errors.Is(err, msg.ErrJobExists) || errors.Is(err, msg.ErrJobEnded) || errors.Is(err, msg.ErrEnding) { // an earlier attempt has accepted it, or a stop
		err = nil
	}
	if errors.Is(err, jobgraph.ErrInvalid) || errors.Is(err, msg.ErrJobTooLarge) { // another attempt would fail in the same way
		return dispatcher.Outcome{Status: msg.ApplicationFailed, Diagnostics: err.Error()}, nil
	}
	if err != nil {
		return dispatcher.Outcome{}, err
	}
	taken()
	return j.Dispatcher.Outcome(ctx)
}

// clientTimeout is how long a client may send no heartbeat before its job ends; 0 if the job does not end
// with its client.
func (j *perJob) clientTimeout() time.Duration {
	if j.outside.Launch.Attached && j.outside.Config.Bool(config.ShutdownOnAttachedExit) {
		return j.outside.Config.Duration(config.ClientHeartbeatTimeout)
	}
	return 0
}
