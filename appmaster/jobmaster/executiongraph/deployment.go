package executiongraph

import "time"

// deployment measures for how long a job only deploys: at least one execution is DEPLOYING, and none is RUNNING. Flink's
// DeploymentStateTimeMetrics has the same rule for batch jobs.
type deployment struct {
	since time.Time     // zero: not now
	spent time.Duration // before
}

func (d *deployment) update(deploys bool, now time.Time) {
	switch {
	case deploys && d.since.IsZero():
		d.since = now
	case !deploys && !d.since.IsZero():
		d.spent += now.Sub(d.since)
		d.since = time.Time{}
	}
}

// Deploying is since when the job only deploys its tasks (zero: it does not), and for how long it has done so before.
func (g *Graph) Deploying() (since time.Time, before time.Duration) {
	return g.deployment.since, g.deployment.spent
}
