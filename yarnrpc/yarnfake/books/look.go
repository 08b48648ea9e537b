package books

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/pbconv"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// look answers calls that change nothing.
func (b *ResourceManager) look(user string, request proto.Message) (proto.Message, error) {
	switch r := request.(type) {
	case *yarnpb.GetApplicationReportRequestProto:
		app, err := b.known(r.GetApplicationId())
		if err != nil {
			return nil, err
		}
		return &yarnpb.GetApplicationReportResponseProto{ApplicationReport: b.applicationReport(app, user)}, nil
	case *yarnpb.GetApplicationsRequestProto:
		response := new(yarnpb.GetApplicationsResponseProto)
		for _, app := range b.apps {
			if r.Limit != nil && int64(len(response.Applications)) >= r.GetLimit() {
				break
			}
			if app.selected(r, user) {
				response.Applications = append(response.Applications, b.applicationReport(app, user))
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
		for _, c := range a.app.containers { // YARN asks only for the application (AbstractYarnScheduler#getApplicationAttempt)
			if c.state != records.ContainerComplete {
				response.Containers = append(response.Containers, containerReport(c))
			}
		}
		return response, nil
	case *yarnpb.GetClusterMetricsRequestProto:
		return &yarnpb.GetClusterMetricsResponseProto{ClusterMetrics: b.metrics()}, nil
	case *yarnpb.GetClusterNodesRequestProto:
		return b.nodesIn(r.GetNodeStates()), nil
	case *yarnpb.GetQueueInfoRequestProto:
		return &yarnpb.GetQueueInfoResponseProto{QueueInfo: b.queue(r, user)}, nil
	case *yarnpb.GetQueueUserAclsInfoRequestProto:
		return queueRights(), nil
	default:
		return nil, fmt.Errorf("no such request: %T", r)
	}
}

func (b *ResourceManager) nodesIn(states []yarnpb.NodeStateProto) *yarnpb.GetClusterNodesResponseProto {
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
