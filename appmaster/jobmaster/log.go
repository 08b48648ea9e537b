package jobmaster

import (
	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// logStep logs one line for each change of state. At debug level it logs all messages.
func (j *JobMaster) logStep(event event, effects []effect) {
	if said, is := event.(taskExecutorSaid); is {
		j.logTaskExecutor(said)
	}
	if stored, is := event.(commitStored); is && stored.Err == nil {
		j.logger.WithField("region", stored.Region).Info("commit is stored")
	}
	for _, effect := range effects {
		j.logEffect(effect)
	}
}

func (j *JobMaster) logTaskExecutor(said taskExecutorSaid) {
	logger := j.logger.WithField("container", said.From.Resource)
	switch m := said.Message.(type) {
	case msg.RegisterAtJobMaster:
		logger.WithField("node", m.Host).Info("task executor registers")
	case msg.HostReady:
		logger.WithFields(logrus.Fields{"host": m.Host, "address": m.DataAddress}).Info("task host is ready")
	case msg.HostLost:
		logger = logger.WithFields(logrus.Fields{"host": m.Host, "err": m.Failure.Message})
		if m.Reason == msg.HostStopped {
			logger.Info("task host is stopped")
		} else {
			logger.Warn("task host is lost")
		}
	case msg.TaskStatesChanged:
		for _, change := range m.Changes {
			if change.State == msg.ExecutionFailed && change.Failure != nil {
				logger.WithFields(logrus.Fields{"execution": change.Execution, "err": change.Failure.Message}).Warn("task failed")
			} else {
				logger.WithFields(logrus.Fields{"execution": change.Execution, "state": change.State}).Debug("task state")
			}
		}
	default:
		logger.WithField("message", msg.Kind(m)).Debug("message of a task executor")
	}
}

func (j *JobMaster) logEffect(effect effect) {
	switch e := effect.(type) {
	case statusChanged:
		j.logger.WithFields(logrus.Fields{"from": e.From, "status": e.To}).Info("job changes its status")
	case commitsRecovered:
		j.logger.WithFields(logrus.Fields{"regions": e.Regions, "committed": e.Committed}).Info("only commits run again")
	case exchangesBlocking:
		j.logger.WithField("why", e.Why).Warn("the job runs in waves")
	case storeCommit:
		j.logger.WithFields(logrus.Fields{"region": e.Region, "outputs": len(e.Record.Winners)}).Info("all is written, and the commit is being stored")
	case storeCommitted:
		j.logger.WithField("region", e.Region).Debug("the region has committed")
	case regionFailed:
		logger := j.logger.WithFields(logrus.Fields{
			"region": e.Region, "task": e.Root.Task, "container": e.Root.Resource, "err": e.Root.Failure.Message,
		})
		if e.Restart {
			logger.WithField("delay", e.Delay).Warn("region failed and is restarted")
		} else {
			logger.Error("region failed and is not restarted")
		}
	case taskSlow:
		j.logger.WithFields(logrus.Fields{"task": e.Task, "node": e.Node, "runs": e.Took, "baseline": e.Baseline}).Info("task is slow, and gets another attempt")
	case furtherDeployed:
		j.logger.WithFields(logrus.Fields{"task": e.Task, "node": e.Node, "execution": e.Execution}).Info("another attempt of a slow task runs")
	case furtherEnded:
		j.logger.WithFields(logrus.Fields{"task": e.Task, "execution": e.Execution, "others": e.Others}).Info("one attempt of a slow task has finished first, and the others are cancelled")
	case diskFailed:
		j.logger.WithFields(logrus.Fields{"container": e.Resource, "node": e.Node, "disk": e.Disk, "tasks": e.Tasks}).Warn("a disk has lost several partitions, and all tasks that have written there run again")
	case nodeBlocked:
		j.logger.WithFields(logrus.Fields{"node": e.Node, "until": e.Until, "cause": e.Cause}).Warn("node is set aside")
	case noOtherNode:
		j.logger.WithFields(logrus.Fields{
			"container": e.Root.Resource, "err": e.Root.Failure.Message, "why": e.Reason, "restart": e.Restart, "delay": e.Delay,
		}).Warn("all nodes that could serve the job are set aside")
	case slotsTimedOut:
		j.logger.WithFields(logrus.Fields{
			"regions": e.Regions, "err": e.Root.Failure.Message, "restart": e.Restart, "delay": e.Delay,
		}).Warn("no region got its slots in time")
	case slotsDescribed:
		j.logger.WithFields(logrus.Fields{
			"free": e.Free, "allocated": e.Allocated, "required": e.Required, "least": e.Least,
			"waiting": e.Waiting, "failing": e.Failing, "starved": e.Starved,
		}).Debug("slot pool")
	case workerGone:
		j.logger.WithFields(logrus.Fields{"container": e.Resource, "cause": e.Cause}).Info("worker is gone")
	case resultDropped:
		j.logger.WithFields(logrus.Fields{"result": e.Name, "after": e.After}).Warn("collected records are dropped: no client asks for them")
	case tellResourceManager:
		if declared, is := e.Message.(msg.DeclareRequirements); is {
			for _, need := range declared.Needs { // this comes with each region that ends
				j.logger.WithFields(logrus.Fields{"slots": need.Slots, "profile": need.Profile}).Debug("slots declared")
			}
		}
	case sendTaskExecutor:
		if deploy, is := e.Message.(msg.DeployTasks); is {
			j.logger.WithFields(logrus.Fields{"host": deploy.Host, "tasks": len(deploy.Tasks)}).Info("tasks deployed")
		}
	case dropped:
		j.logger.WithFields(logrus.Fields{
			"container": e.From.Resource, "message": msg.Kind(e.Message), "why": e.Why,
		}).Debug("message dropped")
	case closeTaskExecutor, resultChanged, reply, ended:
	}
}
