package books

import (
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/commonpb"
	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/pbconv"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

func (b *ResourceManager) clientCall(now time.Time, call ClientCall) []Effect {
	request := clientRequest(call.Method)
	if err := decode(call.Method, request, call.Request); err != nil {
		return []Effect{answer(nil, err)}
	}
	message, effects, err := b.client(now, call.User, request)
	return append(effects, answer(message, err))
}

// client answers the calls of ApplicationClientProtocol that change the books. look
// answers the others.
func (b *ResourceManager) client(now time.Time, user string, request proto.Message) (proto.Message, []Effect, error) {
	switch r := request.(type) {
	case *yarnpb.GetNewApplicationRequestProto:
		b.lastApp++
		return &yarnpb.GetNewApplicationResponseProto{
			ApplicationId:     pbconv.ApplicationIDProto(records.ApplicationID{ClusterTimestamp: b.started, ID: b.lastApp}),
			MaximumCapability: pbconv.ResourceProto(b.maximum),
		}, nil, nil
	case *yarnpb.SubmitApplicationRequestProto:
		return &yarnpb.SubmitApplicationResponseProto{}, nil, b.submit(now, user, r.GetApplicationSubmissionContext())
	case *yarnpb.KillApplicationRequestProto:
		app, err := b.known(r.GetApplicationId())
		if err != nil {
			return nil, nil, err
		}
		done, effects := b.kill(now, app, r.GetDiagnostics())
		return &yarnpb.KillApplicationResponseProto{IsKillCompleted: proto.Bool(done)}, effects, nil
	case *yarnpb.FailApplicationAttemptRequestProto:
		a, err := b.knownAttempt(r.GetApplicationAttemptId())
		if err != nil {
			return nil, nil, err
		}
		var effects []Effect
		if a.live() && !a.finishing { // RMAppAttemptImpl ignores it in FINISHING
			effects = b.failAttempt(now, a, 1, "Attempt failed by user.")
		}
		return &yarnpb.FailApplicationAttemptResponseProto{}, effects, nil
	case *commonpb.GetDelegationTokenRequestProto:
		token := b.issue(now, user, r.GetRenewer())
		return &commonpb.GetDelegationTokenResponseProto{Token: pbconv.TokenProto(token)}, nil, nil
	case *commonpb.RenewDelegationTokenRequestProto:
		message, err := b.renew(now, user, r)
		return message, nil, err
	case *commonpb.CancelDelegationTokenRequestProto:
		message, err := b.cancel(now, user, r)
		return message, nil, err
	default:
		message, err := b.look(user, request)
		return message, nil, err
	}
}

// submit adds an application. A known id is accepted without a change.
func (b *ResourceManager) submit(now time.Time, user string, p *yarnpb.ApplicationSubmissionContextProto) error {
	context := pbconv.SubmissionContext(p)
	id := context.ID
	switch {
	case id.IsZero():
		return exception("ApplicationIdNotProvidedException", "ApplicationId is not provided in ApplicationSubmissionContext")
	case b.app(id) != nil:
		return nil
	case p.GetAmContainerSpec() == nil:
		return exception("YarnException", "Failed to submit %s: there is no launch context", id)
	case !context.Unmanaged && !b.settings.asked(context.Resource).Fits(b.maximum):
		return exception("InvalidResourceRequestException",
			"Invalid resource request! Cannot allocate containers as requested resource is greater than maximum allowed allocation. Requested: %s, maximum: %s",
			b.settings.asked(context.Resource), b.maximum)
	}
	app := &application{
		id: id, user: user, context: context,
		state: records.ApplicationSubmitted, final: records.FinalUndefined, submitted: now,
	}
	b.apps = append(b.apps, app)
	if context.Queue != queueName && context.Queue != queuePath {
		// A ResourceManager also finds out only after it has accepted the application.
		app.state, app.final, app.finished = records.ApplicationFailed, records.FinalFailed, now
		app.diagnostics = fmt.Sprintf("Application %s submitted by user %s to unknown queue: %s", id, user, context.Queue)
		return nil
	}
	b.begin(now, app)
	return nil
}

func (b *ResourceManager) known(p *yarnpb.ApplicationIdProto) (*application, error) {
	id := pbconv.ApplicationID(p)
	if app := b.app(id); app != nil {
		return app, nil
	}
	return nil, exception("ApplicationNotFoundException", "Application with id '%s' doesn't exist in RM. Please check that the job submission was successful.", id)
}

func (b *ResourceManager) knownAttempt(p *yarnpb.ApplicationAttemptIdProto) (*attempt, error) {
	if _, err := b.known(p.GetApplicationId()); err != nil {
		return nil, err
	}
	if a := b.attempt(pbconv.ApplicationAttemptID(p)); a != nil {
		return a, nil
	}
	return nil, exception("ApplicationAttemptNotFoundException", "ApplicationAttempt with id '%s' doesn't exist in RM.", pbconv.ApplicationAttemptID(p))
}
