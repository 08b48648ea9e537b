package dispatcher

import (
	"cmp"
	"strings"

	"github.com/sirupsen/logrus"
)

// logStep logs one line for each change of state.
func (d *Dispatcher) logStep(event event, effects []effect) {
	if failed, is := event.(jobMasterFailed); is {
		d.logger.WithFields(logrus.Fields{"job": failed.Job, "err": failed.Err}).Error("job cannot be run")
	}
	for _, effect := range effects {
		switch e := effect.(type) {
		case StartJobMaster:
			d.logger.WithFields(logrus.Fields{"job": e.Submission.Job, "name": e.Submission.Graph.Name}).Info("job is started")
		case cancelJob:
			d.logger.WithFields(logrus.Fields{"job": e.Job, "why": cmp.Or(e.Why, "on request")}).Info("job is cancelled")
		case jobArchived:
			d.logger.WithFields(logrus.Fields{"job": e.Job, "status": e.Status}).Info("job has ended")
		case endCluster:
			why, _, _ := strings.Cut(e.Outcome.Diagnostics, "\n")
			d.logger.WithFields(logrus.Fields{"status": e.Outcome.Status, "why": why}).Info("cluster ends")
		case jobForgotten:
			d.logger.WithField("job", e.Job).Debug("job is not kept any longer")
		case dropped:
			d.logger.WithFields(logrus.Fields{"job": e.Job, "why": e.Why}).Debug("event dropped")
		case reply:
		}
	}
}
