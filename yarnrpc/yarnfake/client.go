package yarnfake

import (
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/commonpb"
	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/pbconv"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/testing/rpctest"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// clientRequests returns the implemented methods of ApplicationClientProtocol, each with
// an empty request.
func clientRequests() map[string]proto.Message {
	return map[string]proto.Message{
		"getNewApplication":           &yarnpb.GetNewApplicationRequestProto{},
		"submitApplication":           &yarnpb.SubmitApplicationRequestProto{},
		"getApplicationReport":        &yarnpb.GetApplicationReportRequestProto{},
		"getApplications":             &yarnpb.GetApplicationsRequestProto{},
		"forceKillApplication":        &yarnpb.KillApplicationRequestProto{},
		"failApplicationAttempt":      &yarnpb.FailApplicationAttemptRequestProto{},
		"getApplicationAttemptReport": &yarnpb.GetApplicationAttemptReportRequestProto{},
		"getApplicationAttempts":      &yarnpb.GetApplicationAttemptsRequestProto{},
		"getContainerReport":          &yarnpb.GetContainerReportRequestProto{},
		"getContainers":               &yarnpb.GetContainersRequestProto{},
		"getClusterMetrics":           &yarnpb.GetClusterMetricsRequestProto{},
		"getClusterNodes":             &yarnpb.GetClusterNodesRequestProto{},
		"getQueueInfo":                &yarnpb.GetQueueInfoRequestProto{},
		"getQueueUserAcls":            &yarnpb.GetQueueUserAclsInfoRequestProto{},
		"getDelegationToken":          &commonpb.GetDelegationTokenRequestProto{},
		"renewDelegationToken":        &commonpb.RenewDelegationTokenRequestProto{},
		"cancelDelegationToken":       &commonpb.CancelDelegationTokenRequestProto{},
	}
}

// client answers the calls of ApplicationClientProtocol that change the books. look
// answers the others.
func (b *books) client(now time.Time, call clientCall) (proto.Message, []effect, error) {
	switch r := call.request.(type) {
	case *yarnpb.GetNewApplicationRequestProto:
		b.lastApp++
		return &yarnpb.GetNewApplicationResponseProto{
			ApplicationId:     pbconv.ApplicationIDProto(records.ApplicationID{ClusterTimestamp: b.started, ID: b.lastApp}),
			MaximumCapability: pbconv.ResourceProto(b.settings.maximum),
		}, nil, nil
	case *yarnpb.SubmitApplicationRequestProto:
		return &yarnpb.SubmitApplicationResponseProto{}, nil, b.submit(now, call.user, r.GetApplicationSubmissionContext())
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
		var effects []effect
		if a.live() {
			effects = b.failAttempt(now, a, 1, "Attempt failed by user.")
		}
		return &yarnpb.FailApplicationAttemptResponseProto{}, effects, nil
	case *commonpb.GetDelegationTokenRequestProto:
		token := b.issue(now, call.user, r.GetRenewer())
		return &commonpb.GetDelegationTokenResponseProto{Token: pbconv.TokenProto(token)}, nil, nil
	case *commonpb.RenewDelegationTokenRequestProto:
		d, err := b.delegation(now, r.GetToken().GetIdentifier())
		if err == nil && d.Renewer != call.user {
			err = rpctest.Exception("org.apache.hadoop.security.AccessControlException", call.user+" tries to renew a token with renewer "+d.Renewer)
		}
		if err != nil {
			return nil, nil, err
		}
		expiry := now.Add(delegationRenewal)
		if d.Max.Before(expiry) {
			expiry = d.Max
		}
		b.tokens.expiry[d.Sequence] = expiry
		return &commonpb.RenewDelegationTokenResponseProto{NewExpiryTime: proto.Uint64(uint64(expiry.UnixMilli()))}, nil, nil
	case *commonpb.CancelDelegationTokenRequestProto:
		d, err := b.delegation(now, r.GetToken().GetIdentifier())
		if err == nil && d.Renewer != call.user && d.Owner != call.user {
			err = rpctest.Exception("org.apache.hadoop.security.AccessControlException", call.user+" is not authorized to cancel the token")
		}
		if err != nil {
			return nil, nil, err
		}
		delete(b.tokens.expiry, d.Sequence)
		return &commonpb.CancelDelegationTokenResponseProto{}, nil, nil
	default:
		message, err := b.look(call)
		return message, nil, err
	}
}

// look answers calls that change nothing.
func (b *books) look(call clientCall) (proto.Message, error) {
	switch r := call.request.(type) {
	case *yarnpb.GetApplicationReportRequestProto:
		app, err := b.known(r.GetApplicationId())
		if err != nil {
			return nil, err
		}
		return &yarnpb.GetApplicationReportResponseProto{ApplicationReport: b.applicationReport(app, call.user)}, nil
	case *yarnpb.GetApplicationsRequestProto:
		response := new(yarnpb.GetApplicationsResponseProto)
		for _, app := range b.apps {
			if r.Limit != nil && int64(len(response.Applications)) >= r.GetLimit() {
				break
			}
			if app.selected(r, call.user) {
				response.Applications = append(response.Applications, b.applicationReport(app, call.user))
			}
		}
		return response, nil
	case *yarnpb.GetApplicationAttemptReportRequestProto:
		a, err := b.knownAttempt(r.GetApplicationAttemptId())
		if err != nil {
			return nil, err
		}
		return &yarnpb.GetApplicationAttemptReportResponseProto{ApplicationAttemptReport: attemptReport(a)}, nil
	case *yarnpb.GetApplicationAttemptsRequestProto:
		app, err := b.known(r.GetApplicationId())
		if err != nil {
			return nil, err
		}
		response := new(yarnpb.GetApplicationAttemptsResponseProto)
		for _, a := range app.attempts {
			response.ApplicationAttempts = append(response.ApplicationAttempts, attemptReport(a))
		}
		return response, nil
	case *yarnpb.GetContainerReportRequestProto:
		id := pbconv.ContainerID(r.GetContainerId())
		if _, err := b.knownAttempt(r.GetContainerId().GetAppAttemptId()); err != nil {
			return nil, err
		}
		c := b.container(id)
		if c == nil || c.state == records.ContainerComplete { // a ResourceManager forgets ended containers
			return nil, exception("ContainerNotFoundException", "Container with id '%s' doesn't exist in RM.", id)
		}
		return &yarnpb.GetContainerReportResponseProto{ContainerReport: containerReport(c)}, nil
	case *yarnpb.GetContainersRequestProto:
		a, err := b.knownAttempt(r.GetApplicationAttemptId())
		if err != nil {
			return nil, err
		}
		response := new(yarnpb.GetContainersResponseProto)
		for _, c := range a.app.containers {
			if c.owner == a && c.state != records.ContainerComplete {
				response.Containers = append(response.Containers, containerReport(c))
			}
		}
		return response, nil
	case *yarnpb.GetClusterMetricsRequestProto:
		return &yarnpb.GetClusterMetricsResponseProto{ClusterMetrics: b.metrics()}, nil
	case *yarnpb.GetClusterNodesRequestProto:
		return b.nodesIn(r.GetNodeStates()), nil
	case *yarnpb.GetQueueInfoRequestProto:
		return &yarnpb.GetQueueInfoResponseProto{QueueInfo: b.queue(r, call.user)}, nil
	case *yarnpb.GetQueueUserAclsInfoRequestProto:
		return queueRights(), nil
	default:
		return nil, fmt.Errorf("no such request: %T", r)
	}
}

func (b *books) nodesIn(states []yarnpb.NodeStateProto) *yarnpb.GetClusterNodesResponseProto {
	response := new(yarnpb.GetClusterNodesResponseProto)
	for _, n := range b.nodes {
		report := b.nodeReport(n)
		wanted := len(states) == 0
		for _, s := range states {
			wanted = wanted || s == report.GetNodeState()
		}
		if wanted {
			response.NodeReports = append(response.NodeReports, report)
		}
	}
	return response
}

// submit adds an application. A known id is accepted without a change.
func (b *books) submit(now time.Time, user string, context *yarnpb.ApplicationSubmissionContextProto) error {
	id := pbconv.ApplicationID(context.GetApplicationId())
	switch {
	case id.IsZero():
		return exception("ApplicationIdNotProvidedException", "ApplicationId is not provided in ApplicationSubmissionContext")
	case b.app(id) != nil:
		return nil
	case context.GetAmContainerSpec() == nil:
		return exception("YarnException", "Failed to submit %s: there is no launch context", id)
	case !context.GetUnmanagedAm() && !b.settings.asked(context.GetResource()).Fits(b.settings.maximum):
		return exception("InvalidResourceRequestException",
			"Invalid resource request! Cannot allocate containers as requested resource is greater than maximum allowed allocation. Requested: %s, maximum: %s",
			b.settings.asked(context.GetResource()), b.settings.maximum)
	}
	app := &application{
		id: id, user: user, context: proto.CloneOf(context),
		state: records.ApplicationSubmitted, final: records.FinalUndefined, submitted: now,
	}
	b.apps = append(b.apps, app)
	if context.GetQueue() != queueName && context.GetQueue() != queuePath {
		// A ResourceManager also finds out only after it has accepted the application.
		app.state, app.final, app.finished = records.ApplicationFailed, records.FinalFailed, now
		app.diagnostics = fmt.Sprintf("Application %s submitted by user %s to unknown queue: %s", id, user, context.GetQueue())
		return nil
	}
	b.begin(now, app)
	return nil
}

func (b *books) known(p *yarnpb.ApplicationIdProto) (*application, error) {
	id := pbconv.ApplicationID(p)
	if app := b.app(id); app != nil {
		return app, nil
	}
	return nil, exception("ApplicationNotFoundException", "Application with id '%s' doesn't exist in RM. Please check that the job submission was successful.", id)
}

func (b *books) knownAttempt(p *yarnpb.ApplicationAttemptIdProto) (*attempt, error) {
	if _, err := b.known(p.GetApplicationId()); err != nil {
		return nil, err
	}
	if a := b.attempt(pbconv.ApplicationAttemptID(p)); a != nil {
		return a, nil
	}
	return nil, exception("ApplicationAttemptNotFoundException", "ApplicationAttempt with id '%s' doesn't exist in RM.", pbconv.ApplicationAttemptID(p))
}
