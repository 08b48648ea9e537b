package dispatcher

import (
	"cmp"
	"strings"

	"github.com/sirupsen/logrus"
)

// logStep logs one line for each change of state.
func (d *Dispatcher) logStep(event event, effects []effect) {
	switch e := event.(type) {
	case jobMasterFailed:
		d.logger.WithFields(logrus.Fields{"job": e.Job, "err": e.Err}).Error("job cannot be run")
	case changed:
		if e.Err != nil {
			d.logger.WithFields(logrus.Fields{"job": e.Job, "change": e.Change, "err": e.Err}).Error("the store has refused a change")
		}
	case stopStored:
		if e.Err != nil {
			d.logger.WithError(e.Err).Error("the store has refused the request for the end of the cluster")
		}
	case overviewLoaded:
		if e.Err != nil {
			d.logger.WithFields(logrus.Fields{"job": e.Job, "err": e.Err}).Error("the result of a job cannot be read")
		}
	case resultLoaded:
		if e.Err != nil {
			d.logger.WithFields(logrus.Fields{"job": e.Job, "err": e.Err}).Error("the result of a job cannot be read")
		}
	case recovered:
		d.logRecovered(e.Recovered)
	default: // the effects say more
	}
	for _, effect := range effects {
		switch e := effect.(type) {
		case StartJobMaster:
			d.logger.WithFields(logrus.Fields{"job": e.Submission.Job, "name": e.Submission.Graph.Name, "recovered": e.Recovered != nil}).Info("job is started")
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
		case archiveDelayed:
			s := d.logger.WithFields(logrus.Fields{"job": e.Job, "err": e.Why, "pause": e.Pause})
			if e.Tries == 1 {
				s.Warn("the job is not archived yet, and is tried again")
			} else {
				s.WithField("tries", e.Tries).Debug("the job is still not archived")
			}
		case archiveDone:
			if e.Why != nil {
				d.logger.WithFields(logrus.Fields{"job": e.Job, "err": e.Why}).Warn("the job is not archived")
			}
		case reply, resultRefused, storeJob, storeCancel, storeResult, storeStop, removeJob, removeResult, loadResult, loadOverview, archiveJob:
		}
	}
}

// logRecovered logs what an earlier master has left.
func (d *Dispatcher) logRecovered(r Recovered) {
	d.logger.WithFields(logrus.Fields{"jobs": len(r.Jobs), "ended": len(r.Results), "stopped": r.Stopped}).Info("jobs of an earlier ApplicationMaster are taken over")
	for _, job := range r.Jobs {
		if job.Err != nil {
			d.logger.WithFields(logrus.Fields{"job": job.Submission.Job, "err": job.Err}).Error("job cannot be recovered")
		}
	}
}
