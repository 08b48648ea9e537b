package books

import (
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/pbconv"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

const (
	notAvailable = "N/A"
	queueName    = "default"
	queuePath    = "root.default"
)

func millis(t time.Time) *int64 { return proto.Int64(pbconv.Millis(t)) }

func (n *node) http() string { return n.id.Host + ":8042" }

func (b *ResourceManager) nodeReport(n *node) *yarnpb.NodeReportProto {
	state := records.NodeRunning
	if n.lost {
		state = records.NodeLost
	}
	return pbconv.NodeReportProto(records.NodeReport{
		ID: n.id, HTTPAddress: n.http(), Rack: defaultRack, Used: n.used, Capability: n.capability,
		Containers: n.containers, State: state, LastHealthReport: n.heard,
	})
}

// active returns the number of nodes that accept containers.
func (b *ResourceManager) active() int32 {
	var count int32
	for _, n := range b.nodes {
		if !n.lost {
			count++
		}
	}
	return count
}

// headroom returns the free resources.
func (b *ResourceManager) headroom() records.Resource {
	var free records.Resource
	for _, n := range b.nodes {
		if !n.lost {
			free = free.Add(n.capability.Sub(n.used))
		}
	}
	return free
}

func (b *ResourceManager) applicationReport(app *application, caller string) *yarnpb.ApplicationReportProto {
	a := app.attempt()
	r := &yarnpb.ApplicationReportProto{
		ApplicationId:               pbconv.ApplicationIDProto(app.id),
		User:                        proto.String(app.user),
		Queue:                       proto.String(queuePath),
		Name:                        proto.String(app.context.Name),
		Host:                        proto.String(a.host),
		RpcPort:                     proto.Int32(a.rpcPort),
		YarnApplicationState:        pbconv.ApplicationStateProto(app.state),
		TrackingUrl:                 proto.String(a.trackingURL),
		OriginalTrackingUrl:         proto.String(a.trackingURL),
		Diagnostics:                 proto.String(app.diagnostics),
		StartTime:                   millis(app.submitted),
		SubmitTime:                  millis(app.submitted),
		LaunchTime:                  millis(app.launched),
		FinishTime:                  millis(app.finished),
		FinalApplicationStatus:      pbconv.FinalApplicationStatusProto(app.final),
		CurrentApplicationAttemptId: pbconv.ApplicationAttemptIDProto(a.id),
		Progress:                    proto.Float32(a.progress),
		ApplicationType:             proto.String(app.context.Type),
		ApplicationTags:             app.context.Tags,
		UnmanagedApplication:        proto.Bool(app.context.Unmanaged),
		Priority:                    pbconv.PriorityProto(app.priority()),
		AppResource_Usage:           app.usage(),
	}
	if app.context.Unmanaged && a.state == records.AttemptLaunched && caller == app.user {
		r.AmRmToken = pbconv.TokenProto(b.keys.amrmToken(a.id))
	}
	if b.settings.ClientTokens && a.registered && a.live() {
		r.ClientToAmToken = pbconv.TokenProto(b.keys.clientToken(a.id, caller))
	}
	return r
}

// priority returns the application's priority, by default 0.
func (app *application) priority() records.Priority {
	if p := app.context.Priority; p != nil {
		return *p
	}
	return 0
}

func (app *application) usage() *yarnpb.ApplicationResourceUsageReportProto {
	var used records.Resource
	var count int32
	for _, c := range app.containers {
		if c.state != records.ContainerComplete {
			used = used.Add(c.resource)
			count++
		}
	}
	return &yarnpb.ApplicationResourceUsageReportProto{
		NumUsedContainers:     proto.Int32(count),
		NumReservedContainers: proto.Int32(0),
		UsedResources:         pbconv.ResourceProto(used),
		ReservedResources:     pbconv.ResourceProto(records.Resource{}),
		NeededResources:       pbconv.ResourceProto(used),
	}
}

func attemptReport(a *attempt) *yarnpb.ApplicationAttemptReportProto {
	r := &yarnpb.ApplicationAttemptReportProto{
		ApplicationAttemptId:        pbconv.ApplicationAttemptIDProto(a.id),
		Host:                        proto.String(a.host),
		RpcPort:                     proto.Int32(a.rpcPort),
		TrackingUrl:                 proto.String(a.trackingURL),
		OriginalTrackingUrl:         proto.String(a.trackingURL),
		Diagnostics:                 proto.String(a.diagnostics),
		YarnApplicationAttemptState: yarnpb.YarnApplicationAttemptStateProto(yarnpb.YarnApplicationAttemptStateProto_value["APP_ATTEMPT_"+string(a.state)]).Enum(),
		StartTime:                   millis(a.began),
		FinishTime:                  millis(a.ended),
	}
	if a.master != nil {
		r.AmContainerId = pbconv.ContainerIDProto(a.master.id)
	}
	return r
}

// containerReport describes a container that has not ended. YARN says of it that it runs, with the exit status 0, also
// before it is started (RMContainerImpl#createContainerReport).
func containerReport(c *container) *yarnpb.ContainerReportProto {
	return &yarnpb.ContainerReportProto{
		ContainerId:         pbconv.ContainerIDProto(c.id),
		Resource:            pbconv.ResourceProto(c.resource),
		NodeId:              pbconv.NodeIDProto(c.node.id),
		NodeHttpAddress:     proto.String("http://" + c.node.http()),
		Priority:            pbconv.PriorityProto(c.priority),
		CreationTime:        millis(c.created),
		FinishTime:          millis(c.finished),
		DiagnosticsInfo:     proto.String(c.diagnostics),
		ContainerExitStatus: proto.Int32(0),
		ContainerState:      yarnpb.ContainerStateProto_C_RUNNING.Enum(),
		ExecutionType:       yarnpb.ExecutionTypeProto_GUARANTEED.Enum(),
	}
}

func (b *ResourceManager) metrics() *yarnpb.YarnClusterMetricsProto {
	all, active := int32(len(b.nodes)), b.active()
	return &yarnpb.YarnClusterMetricsProto{
		NumNodeManagers: proto.Int32(active), NumActiveNms: proto.Int32(active), NumLostNms: proto.Int32(all - active),
		NumDecommissionedNms: proto.Int32(0), NumUnhealthyNms: proto.Int32(0), NumRebootedNms: proto.Int32(0),
		NumDecommissioningNms: proto.Int32(0), NumShutdownNms: proto.Int32(0),
	}
}

// queue describes a queue. Like a real ResourceManager, it returns nil for an unknown
// queue.
func (b *ResourceManager) queue(r *yarnpb.GetQueueInfoRequestProto, caller string) *yarnpb.QueueInfoProto {
	q := &yarnpb.QueueInfoProto{
		QueueName: proto.String(queueName), QueuePath: proto.String(queuePath),
		Capacity: proto.Float32(1), MaximumCapacity: proto.Float32(1), CurrentCapacity: proto.Float32(0),
		State: yarnpb.QueueStateProto_Q_RUNNING.Enum(), SchedulerType: proto.String("CapacityScheduler"),
	}
	if r.GetIncludeApplications() {
		for _, app := range b.apps {
			if !app.state.Terminal() {
				q.Applications = append(q.Applications, b.applicationReport(app, caller))
			}
		}
	}
	switch r.GetQueueName() {
	case queueName, queuePath:
		return q
	case "root":
		root := proto.CloneOf(q)
		root.QueueName, root.QueuePath = proto.String("root"), proto.String("root")
		if r.GetIncludeChildQueues() {
			root.ChildQueues = []*yarnpb.QueueInfoProto{q}
		}
		return root
	default:
		return nil
	}
}

// queueRights returns the rights in the queue: every user has all.
func queueRights() *yarnpb.GetQueueUserAclsInfoResponseProto {
	response := new(yarnpb.GetQueueUserAclsInfoResponseProto)
	for _, path := range []string{"root", queuePath} {
		response.QueueUserAcls = append(response.QueueUserAcls, &yarnpb.QueueUserACLInfoProto{
			QueueName: proto.String(path),
			UserAcls:  []yarnpb.QueueACLProto{yarnpb.QueueACLProto_QACL_SUBMIT_APPLICATIONS, yarnpb.QueueACLProto_QACL_ADMINISTER_QUEUE},
		})
	}
	return response
}

// selected reports whether an application passes the filters of a request.
func (app *application) selected(r *yarnpb.GetApplicationsRequestProto, caller string) bool {
	among := func(list []string, value string) bool { return len(list) == 0 || slices.Contains(list, value) }
	states := r.GetApplicationStates()
	tags := len(r.GetApplicationTags()) == 0 || slices.ContainsFunc(app.context.Tags, func(tag string) bool {
		return slices.Contains(r.GetApplicationTags(), tag)
	})
	return among(r.GetApplicationTypes(), app.context.Type) &&
		(len(states) == 0 || slices.Contains(states, *pbconv.ApplicationStateProto(app.state))) &&
		among(r.GetUsers(), app.user) && (among(r.GetQueues(), queueName) || among(r.GetQueues(), queuePath)) && tags &&
		(r.Name == nil || r.GetName() == app.context.Name) &&
		(r.GetScope() != yarnpb.ApplicationsRequestScopeProto_OWN || app.user == caller)
}
