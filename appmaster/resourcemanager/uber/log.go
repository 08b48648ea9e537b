package uber

import "github.com/bobbin-yarn/bobbin/appmaster/resourcemanager"

// logStep logs one line for each change of state.
func (d *Provider) logStep(e event, effects []effect) {
	if e, is := e.(ended); is {
		d.logger.WithField("worker", e.worker).Info("worker in this container has ended: " + e.cause)
	}
	for _, e := range effects {
		switch e := e.(type) {
		case report:
			if starting, is := e.event.(resourcemanager.WorkerStarting); is {
				d.logger.WithField("worker", starting.Worker).Info("worker starts in this container")
			}
		case stop:
			d.logger.WithField("worker", e.worker).Info("worker in this container is told to end")
		case start, reply:
		}
	}
}
