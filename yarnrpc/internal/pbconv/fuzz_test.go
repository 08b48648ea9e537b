package pbconv

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protopath"
	"google.golang.org/protobuf/reflect/protorange"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// FuzzRecords makes records from arbitrary messages of a YARN daemon. It would catch a
// message that crashes its reader, and a number, time or name that changes between a
// message and its record.
func FuzzRecords(f *testing.F) {
	f.Add(marshalled(f, ContainerProto(records.Container{ID: container, Node: records.NodeID{Host: "h", Port: 8041}, Token: nil})))
	f.Add(marshalled(f, ContainerStatusProto(records.ContainerStatus{ID: container, ExitStatus: records.ExitPreempted, Attributes: map[string]string{"HOST": "h"}})))
	f.Add(marshalled(f, NodeReportProto(records.NodeReport{State: records.NodeLost, DecommissioningTimeout: 1})))
	f.Add(marshalled(f, SubmissionContextProto(records.SubmissionContext{
		ID: app, Name: "n", Lifetime: 1, FailuresValidity: 1, Logs: records.LogAggregation{Include: ".*"},
		Place: records.MasterPlace{Hosts: []string{"h"}, Racks: []string{"/r"}, Strict: true},
		Container: records.ContainerLaunchContext{
			LocalResources: map[string]records.LocalResource{"x": {URL: records.URL{Scheme: "hdfs", Host: "ns", Port: -1, Path: "/x"}, Type: records.LocalFile}},
			ACLs:           map[records.ApplicationAccess]string{records.AccessView: "*"}, Retry: records.ContainerRetry{Policy: records.RetryNever},
		},
	})))
	f.Add(marshalled(f, &yarnpb.ApplicationReportProto{
		YarnApplicationState: yarnpb.YarnApplicationStateProto_RUNNING.Enum(), StartTime: proto.Int64(1), RpcPort: proto.Int32(-1), Progress: proto.Float32(0.5),
	}))
	f.Add(marshalled(f, ContainerLaunchContextProto(records.ContainerLaunchContext{RenewalConf: map[string]string{"dfs.nameservices": "far", "a": ""}})))
	f.Add(marshalled(f, &yarnpb.QueueInfoProto{QueueName: proto.String("root"), ChildQueues: []*yarnpb.QueueInfoProto{{}}, Applications: []*yarnpb.ApplicationReportProto{{}}}))
	f.Add(marshalled(f, ReservationDefinitionProto(records.ReservationDefinition{
		Name: "n", Arrival: time.UnixMilli(1410901177871), Recurrence: time.Hour, Order: records.ReserveAny,
		Requests: []records.ReservationRequest{{Containers: 2, Duration: time.Minute}},
	})))
	f.Add(marshalled(f, NodeAttributeProto(records.NodeAttribute{Key: records.NodeAttributeKey{Prefix: "p", Name: "n"}, Type: records.AttributeString, Value: "v"})))
	f.Add(marshalled(f, ResourceProto(records.Resource{MemoryMB: 1, VCores: 2}.With("yarn.io/gpu", records.ResourceAmount{Value: 3, Units: "Ki"}))))
	f.Add(marshalled(f, &yarnpb.ReservationAllocationStateProto{
		ReservationId:      ReservationIDProto(records.ReservationID{ClusterTimestamp: 1, ID: 2}),
		AllocationRequests: []*yarnpb.ResourceAllocationRequestProto{{StartTime: proto.Int64(1)}},
	}))
	f.Fuzz(func(t *testing.T, b []byte) {
		survives(t, b, &yarnpb.ContainerProto{}, Container, ContainerProto)
		survives(t, b, &yarnpb.ContainerStatusProto{}, ContainerStatus, ContainerStatusProto)
		survives(t, b, &yarnpb.NodeReportProto{}, NodeReport, NodeReportProto)
		survives(t, b, &yarnpb.ContainerLaunchContextProto{}, ContainerLaunchContext, ContainerLaunchContextProto)
		survives(t, b, &yarnpb.ApplicationSubmissionContextProto{}, submission, SubmissionContextProto)
		survives(t, b, &yarnpb.LocalResourceProto{}, LocalResource, LocalResourceProto)
		survives(t, b, &yarnpb.ContainerIdProto{}, ContainerID, ContainerIDProto)
		survives(t, b, &yarnpb.ReservationDefinitionProto{}, ReservationDefinition, ReservationDefinitionProto)
		survives(t, b, &yarnpb.ReservationIdProto{}, ReservationID, ReservationIDProto)
		survives(t, b, &yarnpb.NodeLabelProto{}, NodeLabel, NodeLabelProto)
		survives(t, b, &yarnpb.NodeAttributeProto{}, NodeAttribute, NodeAttributeProto)
		survives(t, b, &yarnpb.ResourceUtilizationProto{}, Utilization, UtilizationProto)
		survives(t, b, &yarnpb.ResourceProto{}, Resource, ResourceProto)
		reads(t, b, &yarnpb.ReservationListResponseProto{}, func(p *yarnpb.ReservationListResponseProto) { Reservations(p.GetReservations()) })
		reads(t, b, &yarnpb.GetNodesToLabelsResponseProto{}, func(p *yarnpb.GetNodesToLabelsResponseProto) { NodesToLabels(p.GetNodeToLabels()) })
		reads(t, b, &yarnpb.GetLabelsToNodesResponseProto{}, func(p *yarnpb.GetLabelsToNodesResponseProto) { LabelsToNodes(p.GetLabelsToNodes()) })
		reads(t, b, &yarnpb.GetAttributesToNodesResponseProto{}, func(p *yarnpb.GetAttributesToNodesResponseProto) { AttributesToNodes(p.GetAttributesToNodes()) })
		reads(t, b, &yarnpb.GetNodesToAttributesResponseProto{}, func(p *yarnpb.GetNodesToAttributesResponseProto) { NodesToAttributes(p.GetNodesToAttributes()) })
		reads(t, b, &yarnpb.GetClusterNodeAttributesResponseProto{}, func(p *yarnpb.GetClusterNodeAttributesResponseProto) { NodeAttributeInfos(p.GetNodeAttributes()) })
		reads(t, b, &yarnpb.ResourceProfilesProto{}, func(p *yarnpb.ResourceProfilesProto) { ResourceProfiles(p) })
		reads(t, b, &yarnpb.GetAllResourceTypeInfoResponseProto{}, func(p *yarnpb.GetAllResourceTypeInfoResponseProto) { ResourceTypes(p.GetResourceTypeInfo()) })
		reads(t, b, &yarnpb.ApplicationReportProto{}, func(p *yarnpb.ApplicationReportProto) { checkReport(t, ApplicationReport(p)) })
		reads(t, b, &yarnpb.ApplicationAttemptReportProto{}, func(p *yarnpb.ApplicationAttemptReportProto) { AttemptReport(p) })
		reads(t, b, &yarnpb.ContainerReportProto{}, func(p *yarnpb.ContainerReportProto) { ContainerReport(p) })
		reads(t, b, &yarnpb.QueueInfoProto{}, func(p *yarnpb.QueueInfoProto) { checkQueue(t, p, QueueInfo(p)) })
		reads(t, b, &yarnpb.QueueUserACLInfoProto{}, func(p *yarnpb.QueueUserACLInfoProto) { QueueUserACLs([]*yarnpb.QueueUserACLInfoProto{p}) })
		reads(t, b, &yarnpb.YarnClusterMetricsProto{}, func(p *yarnpb.YarnClusterMetricsProto) { ClusterMetrics(p) })
	})
}

func checkReport(t *testing.T, r records.ApplicationReport) {
	t.Helper()
	if r.State != "" && ApplicationStateProto(r.State) == nil || r.FinalStatus != "" && FinalApplicationStatusProto(r.FinalStatus) == nil {
		t.Errorf("YARN has no state %q, %q", r.State, r.FinalStatus)
	}
	if r.Started.UnixMilli() < 0 && !r.Started.IsZero() {
		t.Errorf("started in %v", r.Started)
	}
}

func checkQueue(t *testing.T, p *yarnpb.QueueInfoProto, q records.QueueInfo) {
	t.Helper()
	if len(q.Children) != len(p.GetChildQueues()) || len(q.Applications) != len(p.GetApplications()) {
		t.Errorf("queue %s has %d children and %d applications, its message %d and %d",
			q.Name, len(q.Children), len(q.Applications), len(p.GetChildQueues()), len(p.GetApplications()))
	}
}

// submission leaves out empty fields: they are not sent on, and the server's default
// applies.
func submission(p *yarnpb.ApplicationSubmissionContextProto) records.SubmissionContext {
	if p.GetQueue() == "" {
		p.Queue = nil
	}
	if p.GetApplicationType() == "" {
		p.ApplicationType = nil
	}
	return SubmissionContext(p)
}

// survives checks that a record does not change when it is sent on.
func survives[P proto.Message, R any](t *testing.T, b []byte, p P, record func(P) R, message func(R) P) {
	t.Helper()
	reads(t, b, p, func(p P) {
		want := record(p)
		if ofTheFuture(t, p) {
			return // a state without a name cannot be sent on
		}
		if diff := cmp.Diff(want, record(encoded(t, message(want))), cmpopts.EquateNaNs()); diff != "" {
			t.Errorf("%T: %s", want, diff)
		}
	})
}

// ofTheFuture reports whether a message holds an enumeration value that the .proto files
// do not have.
func ofTheFuture(t *testing.T, p proto.Message) bool {
	t.Helper()
	found := false
	err := protorange.Range(p.ProtoReflect(), func(path protopath.Values) error {
		last := path.Index(-1)
		if number, is := last.Value.Interface().(protoreflect.EnumNumber); is && last.Step.Kind() == protopath.FieldAccessStep {
			found = found || last.Step.FieldDescriptor().Enum().Values().ByNumber(number) == nil
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func reads[P proto.Message](t *testing.T, b []byte, p P, use func(P)) {
	t.Helper()
	if proto.Unmarshal(b, p) == nil {
		use(p)
	}
}

func marshalled(f *testing.F, p proto.Message) []byte {
	f.Helper()
	b, err := proto.Marshal(p)
	if err != nil {
		f.Fatal(err)
	}
	return b
}
