package yarnworkers

import (
	"errors"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/yarnrpc/amrm"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// logStep logs one line for each change of state, and no heartbeats.
func (d *Provider) logStep(e event, effects []effect) {
	switch e := e.(type) {
	case registered:
		d.logger.WithFields(logrus.Fields{
			"queue": e.registration.Queue, "maximum": e.registration.Maximum.String(), "previous": len(e.registration.PreviousContainers),
		}).Info("registered with YARN")
	case allocated:
		d.logAllocated(e)
	case containerStarted:
		log := d.logger.WithField("container", e.id)
		if e.err != nil {
			log.WithError(e.err).Warn("container could not be started")
		} else {
			log.Info("container started")
		}
	case finished:
		if e.err == nil {
			d.logger.Info("unregistered from YARN")
		}
	case confirmed:
		log := d.logger.WithField("attempt", d.config.Attempt)
		if e.err != nil {
			log = log.WithError(e.err)
		}
		log.Warn("YARN does not answer; looked whether a later attempt leads")
	case nodesKnown, ordered, containerStopped, containerChecked, finishAsked, woken:
	}
	for _, e := range effects {
		switch e := e.(type) {
		case allocate:
			for _, ask := range e.asks {
				d.logger.WithFields(logrus.Fields{
					"priority": ask.Key.Priority, "capability": ask.Capability.String(), "count": ask.Count, "hosts": len(ask.Hosts),
				}).Info("containers requested")
			}
			for _, request := range e.requests {
				d.logger.WithFields(logrus.Fields{
					"priority": request.Key.Priority, "capability": request.Capability.String(), "count": request.Count, "constraint": request.Constraint.String(),
				}).Info("containers requested")
			}
			if len(e.avoid) > 0 || len(e.dontAvoid) > 0 {
				d.logger.WithFields(logrus.Fields{"avoid": e.avoid, "nomore": e.dontAvoid}).Info("blacklist changed")
			}
			if len(e.release) > 0 {
				d.logger.WithField("containers", containerNames(e.release)).Info("containers released")
			}
		case stopContainer:
			d.logger.WithFields(logrus.Fields{"container": e.id, "node": e.node}).Info("node is told to stop the container")
		case fail:
			d.logger.WithError(e.err).Error("this application attempt is not the current one any more")
		case report, startContainers, checkContainer, confirm, finish, reply, tellLargest, noteWaits:
		}
	}
}

func (d *Provider) logAllocated(e allocated) {
	if errors.Is(e.err, amrm.ErrAttemptGone) {
		return // the effect fail is logged
	}
	if e.err != nil {
		d.logger.WithError(e.err).Warn("allocate failed and is repeated")
		return
	}
	for _, k := range e.response.Allocated {
		d.logger.WithFields(logrus.Fields{"container": k.ID, "node": k.Node, "capability": k.Resource.String()}).Info("container allocated")
	}
	for _, k := range e.response.Surplus {
		d.logger.WithFields(logrus.Fields{"container": k.ID, "node": k.Node}).Info("container allocated without a request")
	}
	for _, k := range e.response.PreviousContainers {
		d.logger.WithFields(logrus.Fields{"container": k.ID, "node": k.Node}).Info("container of an earlier attempt runs")
	}
	for _, s := range e.response.Completed {
		d.logger.WithFields(logrus.Fields{"container": s.ID, "status": s.ExitStatus}).Info("container completed")
	}
}

func containerNames(list []records.ContainerID) []string {
	names := make([]string, len(list))
	for i, id := range list {
		names[i] = id.String()
	}
	return names
}
