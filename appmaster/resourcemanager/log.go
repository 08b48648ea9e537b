package resourcemanager

import (
	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// logStep logs one line for each change of state. At debug level it logs more messages.
func (r *ResourceManager) logStep(event event, effects []effect) {
	if _, ok := event.(leading); ok {
		r.logger.WithField("token", r.token).Info("resource manager leads")
	}
	if reported, ok := event.(workersReported); ok {
		for _, e := range reported.Events {
			r.logWorkerEvent(e)
		}
	}
	for _, effect := range effects {
		r.logEffect(event, effect)
	}
}

func (r *ResourceManager) logWorkerEvent(event WorkerEvent) {
	switch e := event.(type) {
	case NodesChanged:
		r.logger.WithField("nodes", len(e.Nodes)).Debug("nodes that could have workers")
	case PreviousWorkers:
		r.logger.WithField("workers", len(e.Workers)).Info("workers of earlier masters run")
	case WorkerStarting:
		r.logger.WithFields(logrus.Fields{"container": e.Worker, "node": e.Host}).Info("worker is starting")
	case WorkersRefused:
		r.logger.WithField("reason", e.Reason).Warn("worker provider cannot get more workers")
	case RefusalEnded:
		r.logger.Info("worker provider asks for workers again")
	case OrdersTaken:
		r.logger.Info("worker provider can get workers again")
	case WorkerLaunched:
		r.logger.WithField("container", e.Worker).Debug("worker is launched")
	case RoomChanged:
		r.logger.WithField("room", e.Room).Debug("room for workers")
	case WorkerFailed, WorkerCompleted: // workerGone logs it, unless the worker was released before
	}
}

func (r *ResourceManager) logEffect(event event, effect effect) {
	switch e := effect.(type) {
	case sendTaskExecutor:
		r.logSent(event, e)
	case sendJobMaster:
		switch m := e.Message.(type) {
		case msg.JobMasterRegistered:
			r.logger.WithField("jobmaster", e.To).Info("job master registered")
		case msg.NotEnoughResources:
			r.logger.WithFields(logrus.Fields{"job": m.Job, "reason": m.Reason}).Warn("job cannot get the slots that it needs")
		case msg.PreviousWorkersReturned:
			r.logger.WithFields(logrus.Fields{"job": m.Job, "workers": len(m.Workers)}).Info("workers of earlier masters have returned; these have partitions of the job")
		case msg.AllNodesBlocked:
			r.logger.WithField("job", m.Job).Warn("job has set all nodes aside")
		}
	case orderWorkers:
		r.logger.WithFields(logrus.Fields{
			"workers": e.Orders.Workers, "release": len(e.Orders.Release), "check": len(e.Orders.Check), "avoid": e.Orders.Avoid,
		}).Info("workers ordered")
	case workerGone:
		r.logger.WithFields(logrus.Fields{"container": e.Worker, "cause": e.Cause}).Info("worker is gone")
	case deregister:
		r.logger.WithField("status", e.Status).Info("cluster shuts down")
	case dropped:
		r.logger.WithFields(logrus.Fields{
			"message": msg.Kind(e.Message), "from": e.From, "reason": e.Why,
		}).Debug("message dropped")
	case closeTaskExecutor, forgetJobMaster, reply:
	}
}

func (r *ResourceManager) logSent(event event, e sendTaskExecutor) {
	var from actor.Peer
	if said, ok := event.(taskExecutorSaid); ok {
		from = said.From
	}
	switch m := e.Message.(type) {
	case msg.TaskExecutorRegistered:
		r.logger.WithFields(logrus.Fields{"container": from.Resource, "instance": m.Instance}).Info("task executor registered")
	case msg.RegistrationRejected:
		r.logger.WithFields(logrus.Fields{"container": from.Resource, "reason": m.Reason}).Warn("task executor rejected")
	case msg.RequestSlots:
		r.logger.WithFields(logrus.Fields{"job": m.Job, "slots": len(m.Slots), "connection": e.To}).Debug("slots granted")
	case msg.UpdateTokens:
		r.logger.WithField("connection", e.To).Debug("delegation tokens sent")
	case msg.ReleaseTaskExecutor:
		r.logger.WithFields(logrus.Fields{"connection": e.To, "cause": m.Cause}).Info("task executor is told to end")
	}
}
