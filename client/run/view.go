package run

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/client/live"
	"github.com/bobbin-yarn/bobbin/client/progress"
	"github.com/bobbin-yarn/bobbin/client/terminal/canvas"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
)

const (
	// viewInterval is the shortest time between two questions about the vertices of a job, and before the first one: a
	// job that ends sooner needs no view.
	viewInterval = 2 * time.Second
	// viewShare bounds the part of the time in which the master works on these questions: to one of so many parts.
	viewShare = 10
)

// viewed is the part of a *client.ClusterClient that describes the vertices of a job.
type viewed interface {
	Details(context.Context, ids.JobID) (restapi.JobDetailsInfo, error)
	Activity(context.Context, ids.JobID) (restapi.JobVertices, error)
	Waiting(context.Context, ids.JobID) (words string, since time.Time, err error)
}

// views tells whether a job has a view. It has none if the driver prints the job's records on a terminal while it runs:
// they would be written over the picture.
func (r *runner) views(graph *jobgraph.JobGraph) bool {
	collects := slices.ContainsFunc(graph.Vertices, func(v jobgraph.Vertex) bool { return v.Collect != "" })
	return r.Pictures() && !(collects && r.prints)
}

// view shows below the moving line what the vertices of a job do, until ctx ends. A master that does not answer is the
// business of watch: the picture then vanishes, and view asks again later. It ends early if the master cannot tell, as
// one of an earlier release.
func (r *runner) view(ctx context.Context, of viewed, job ids.JobID) {
	defer r.Below(nil)
	wait := viewInterval
	for pause(ctx, wait) == nil {
		asked := time.Now()
		draw, err := viewOf(ctx, of, job)
		switch {
		case err == nil:
			r.Below(draw)
		case client.Unreachable(err):
			r.Below(nil)
		default:
			return
		}
		wait = max(viewInterval, (viewShare-1)*time.Since(asked))
	}
}

// errNoActivity says that the master is of an earlier release.
var errNoActivity = errors.New("the ApplicationMaster does not tell what tasks do")

// viewOf asks once about all vertices. It asks why tasks wait only if some do while others run: watch tells why a whole
// job waits.
func viewOf(ctx context.Context, of viewed, id ids.JobID) (progress.Draw, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	details, err := of.Details(ctx, id)
	if err != nil {
		return nil, err
	}
	activity, err := of.Activity(ctx, id)
	if err != nil {
		return nil, err
	}
	if activity.Now == 0 { // not "no vertices": a job has none until it is set up
		return nil, errNoActivity
	}
	job := live.JobOf(details, activity)
	waits := ""
	if slices.ContainsFunc(job.Vertices, func(v live.Vertex) bool { return v.Tasks[msg.ExecutionScheduled] > 0 }) {
		if waits, _, err = of.Waiting(ctx, id); err != nil {
			return nil, err
		}
	}
	return func(width, height int) *canvas.Picture { return job.Compact(waits, width, height) }, nil
}
