package taskexecutor

import (
	"fmt"
	"strings"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// logStep logs one line for each change that users ask about later.
func (t *TaskExecutor) logStep(event event, effects []effect) {
	t.logEvent(event)
	for _, effect := range effects {
		t.logEffect(effect)
	}
}

func (t *TaskExecutor) logEvent(event event) {
	switch e := event.(type) {
	case linkLost:
		t.logger.WithFields(logrus.Fields{"link": e.Link, "err": e.Cause}).Info("stream lost")
	case leaderFound:
		t.logger.WithFields(logrus.Fields{"attempt": e.Epoch, "address": e.Address}).Info("leader found")
	case leaderNotFound:
		t.logger.WithField("err", e.Cause).Info("no leader found yet")
	case roleSaid:
		t.logRole(e)
	case hostSaid:
		if m, is := e.Message.(msg.HostReady); is {
			t.logger.WithFields(logrus.Fields{"host": e.Host, "address": m.DataAddress}).Info("task host ready")
		}
	case hostExited:
		t.logger.WithFields(logrus.Fields{"host": e.Host, "exit": e.Exit.How, "crash": e.Exit.announcement()}).Info("task host ended")
	case hostOverMemory:
		t.logger.WithFields(logrus.Fields{"host": e.Host, "resident": e.Resident, "share": e.Share}).Warn("container is about to exceed its memory")
	case fetched:
		t.logger.WithFields(logrus.Fields{"copy": e.Copy, "file": e.File, "size": e.Size}).Info("copy fetched")
	case fetchFailed:
		t.logger.WithFields(logrus.Fields{"copy": e.Copy, "err": e.Cause}).Warn("copy cannot be fetched")
	case inquiryAnswered:
		t.logger.WithFields(logrus.Fields{"inquiry": e.Inquiry, "bytes": len(e.Answer.Content), "err": e.Answer.Reason}).Debug("inquiry answered")
	case started, linkOpened, terminated, measured, woken:
		t.logger.WithField("event", fmt.Sprintf("%T%+v", event, event)).Debug("event")
	}
}

func (t *TaskExecutor) logRole(e roleSaid) {
	switch m := e.Message.(type) {
	case msg.TaskExecutorRegistered:
		t.logger.WithFields(logrus.Fields{"link": e.Link, "instance": m.Instance}).Info("registered at resource manager")
	case msg.RegisteredAtJobMaster:
		t.logger.WithFields(logrus.Fields{"link": e.Link, "job": m.Job.ID}).Info("registered at job master")
	case msg.RequestSlots:
		t.logger.WithFields(logrus.Fields{"job": m.Job, "slots": names(m.Slots)}).Info("slots requested")
	case msg.FreeSlots:
		t.logger.WithFields(logrus.Fields{"slots": len(m.Allocations), "first": first(m.Allocations), "cause": m.Cause}).Info("slots given back")
	default:
		t.logger.WithFields(logrus.Fields{"link": e.Link, "message": msg.Kind(m)}).Debug("message received")
	}
}

func (t *TaskExecutor) logEffect(effect effect) {
	switch e := effect.(type) {
	case openLink:
		t.logger.WithFields(logrus.Fields{"link": e.Link, "target": target(e.Job), "address": e.Address}).Info("opening stream")
	case fetchProgram:
		t.logger.WithFields(logrus.Fields{"copy": e.Copy, "program": e.Program.Name, "sha256": e.Program.SHA256, "uri": e.Program.URI}).Info("fetching program")
	case fetchFile:
		t.logger.WithFields(logrus.Fields{"copy": e.Copy, "sha256": e.File.SHA256, "uri": e.File.URI}).Info("fetching cached file")
	case dropCopy:
		t.logger.WithField("copy", e.Copy).Info("copy dropped")
	case startHost:
		t.logger.WithFields(logrus.Fields{"host": e.Host, "job": e.Job, "memory": e.Memory}).Info("starting task host")
	case answerInquiry:
		t.logInquiry(e)
	case removePartitions:
		t.logger.WithFields(logrus.Fields{"job": e.Job, "partitions": len(e.Files), "first": e.Files[0].Partition}).Info("partitions removed")
	case killHost:
		t.logger.WithField("host", e.Host).Warn("killing task host")
	case sendHost:
		switch m := e.Message.(type) {
		case msg.StopHost:
			t.logger.WithFields(logrus.Fields{"host": e.Host, "cause": m.Cause}).Info("stopping task host")
		case msg.ResetHost:
			t.logger.WithFields(logrus.Fields{"host": e.Host, "as": m.Host}).Info("JobMaster is lost: task host begins anew")
		}
	case sendRole:
		switch m := e.Message.(type) {
		case msg.SlotRequestsAnswered:
			for _, r := range m.Refused {
				t.logger.WithFields(logrus.Fields{"slot": r.Index, "allocation": r.Allocation, "cause": r.Reason}).Warn("slot refused")
			}
		case msg.SlotsFreed:
			t.logger.WithField("slots", names(m.Slots)).Info("slots freed")
		case msg.HostLost:
			if m.Reason != msg.HostStopped { // sendHost logs that
				t.logger.WithFields(logrus.Fields{"host": m.Host, "permanent": m.Failure.Permanent, "reason": m.Reason, "err": m.Failure.Message}).Warn("task host lost")
			}
		default:
			t.logger.WithFields(logrus.Fields{"link": e.Link, "message": msg.Kind(m)}).Debug("message sent")
		}
	case end:
		t.logger.WithFields(logrus.Fields{"reason": e.Reason, "cause": e.Cause}).Info("task executor ends")
	case servePartitions:
		t.logger.WithFields(logrus.Fields{"job": e.Job, "partitions": len(e.Files), "first": e.Files[0].Partition}).Debug("partitions served")
	case setToken, closeLink, findLeader, updateTokens, instructHost, setHostMemory, tidyPartitions, showMetrics:
		// instructHost carries the job's arguments, which may be a secret of the user.
		t.logger.WithField("effect", fmt.Sprintf("%T", effect)).Debug("effect")
	}
}

// logInquiry logs a profile that a user asks for, because it costs the process some time.
func (t *TaskExecutor) logInquiry(e answerInquiry) {
	log := t.logger.WithFields(logrus.Fields{"inquiry": e.Inquiry, "about": e.About.Topic})
	if e.About.Topic == msg.AboutNewProfile {
		log.WithField("mode", e.About.Profile.Mode).Info("profile requested")
		return
	}
	log.Debug("inquiry")
}

// names lists the first of these slots, and their number if there are more.
func names(slots []msg.SlotOffer) string {
	const most = 4
	var text strings.Builder
	for _, s := range slots[:min(len(slots), most)] {
		fmt.Fprintf(&text, "%d:%s ", s.Index, s.Allocation)
	}
	if len(slots) > most {
		fmt.Fprintf(&text, "… of %d", len(slots))
	}
	return strings.TrimSuffix(text.String(), " ")
}

func first(allocations []ids.AllocationID) ids.AllocationID {
	if len(allocations) == 0 {
		return ""
	}
	return allocations[0]
}
