package books

import (
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/pbconv"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// finalRecord is what an attempt has said at its end, until the ResourceManager has recorded it.
type finalRecord struct {
	due         time.Time // when it is recorded; zero: there is none
	final       records.FinalApplicationStatus
	diagnostics string
	trackingURL string
}

// finish unregisters an attempt. The first answer is false: the end is not recorded. Later ones are
// true as soon as it is. Every attempt of an application that has ended gets true, also an old one
// that has not ended the application (ApplicationMasterService#finishApplicationMaster asks the
// application first, and the attempt second). Before the record, an old attempt gets an exception.
func (b *ResourceManager) finish(now time.Time, call MasterCall, r *yarnpb.FinishApplicationMasterRequestProto) (proto.Message, []Effect, error) {
	app, a := b.app(call.Attempt.Application), b.attempt(call.Attempt)
	switch {
	case app != nil && app.state.Terminal():
		return &yarnpb.FinishApplicationMasterResponseProto{IsUnregistered: proto.Bool(true)}, nil, nil
	case a == nil || !a.live():
		return nil, nil, gone(call)
	case !a.registered:
		return nil, nil, exception("ApplicationMasterNotRegisteredException",
			"Application Master is trying to unregister before registering for: %s", a.app.id)
	}
	a.heard = now
	var effects []Effect
	if !a.finishing {
		a.finishing = true
		a.unrecorded = finalRecord{
			due: now.Add(b.settings.StoreDelay), final: pbconv.FinalApplicationStatus(r.FinalApplicationStatus),
			diagnostics: r.GetDiagnostics(), trackingURL: r.GetTrackingUrl(),
		}
		if b.settings.StoreDelay <= 0 {
			effects = b.record(now, a)
		}
	}
	// YARN confirms an unmanaged master at once.
	return &yarnpb.FinishApplicationMasterResponseProto{IsUnregistered: proto.Bool(app.context.Unmanaged)}, effects, nil
}

// record records that an attempt has finished its application.
func (b *ResourceManager) record(now time.Time, a *attempt) []Effect {
	said := a.unrecorded
	if said.due.IsZero() {
		return nil
	}
	a.unrecorded = finalRecord{}
	a.state, a.diagnostics, a.progress = records.AttemptFinishing, said.diagnostics, 1
	if said.trackingURL != "" {
		a.trackingURL = said.trackingURL
	}
	a.app.state, a.app.finished = records.ApplicationFinished, now
	a.app.final, a.app.diagnostics = said.final, said.diagnostics
	if a.app.context.Unmanaged {
		return b.conclude(now, a, records.AttemptFinished)
	}
	return nil
}
