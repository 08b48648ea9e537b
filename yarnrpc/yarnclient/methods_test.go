package yarnclient

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/bobbin-yarn/bobbin/hadoopproto/commonpb"
	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/pbconv"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

var (
	testAttempt     = records.ApplicationAttemptID{Application: testID, Attempt: 2}
	testContainer   = records.ContainerID{Attempt: testAttempt, ID: 5}
	testReservation = records.ReservationID{ClusterTimestamp: 12, ID: 8}
	testToken       = &creds.Token{Identifier: []byte("i"), Password: []byte("p"), Kind: creds.KindRMDelegation, Service: "s"}
	testTime        = time.UnixMilli(1410901177871)
)

// exchange is a call of a Client's method: the expected request, and the answer.
type exchange struct {
	request, answer proto.Message
	call            func(context.Context, *Client) (any, error)
	want            any // result of the method; nil if it returns only an error
}

func only(err error) (any, error) { return nil, err }

// exchanges returns an exchange for each method of the protocol.
func exchanges() map[string]exchange {
	id, attempt, container := pbconv.ApplicationIDProto(testID), pbconv.ApplicationAttemptIDProto(testAttempt), pbconv.ContainerIDProto(testContainer)
	definition := records.ReservationDefinition{
		Name: "n", Arrival: testTime, Deadline: testTime.Add(time.Hour), Recurrence: 2 * time.Hour, Priority: 3, Order: records.ReserveAny,
		Requests: []records.ReservationRequest{{Capability: records.Resource{MemoryMB: 1, VCores: 2}, Containers: 4, Concurrency: 2, Duration: time.Minute}},
	}
	definitionProto := &yarnpb.ReservationDefinitionProto{
		ReservationName: proto.String("n"), Arrival: proto.Int64(1410901177871), Deadline: proto.Int64(1410904777871),
		RecurrenceExpression: proto.String("7200000"), Priority: &yarnpb.PriorityProto{Priority: proto.Int32(3)},
		ReservationRequests: &yarnpb.ReservationRequestsProto{
			Interpreter: yarnpb.ReservationRequestInterpreterProto_R_ANY.Enum(),
			ReservationResources: []*yarnpb.ReservationRequestProto{{
				Capability:    &yarnpb.ResourceProto{Memory: proto.Int64(1), VirtualCores: proto.Int32(2)},
				NumContainers: proto.Int32(4), Concurrency: proto.Int32(2), Duration: proto.Int64(60000),
			}},
		},
	}
	timeouts := []*yarnpb.ApplicationUpdateTimeoutMapProto{{
		ApplicationTimeoutType: yarnpb.ApplicationTimeoutTypeProto_APP_TIMEOUT_LIFETIME.Enum(),
		ExpireTime:             proto.String("2014-09-16T20:59:37.871+0000"),
	}}
	node := records.NodeID{Host: "h", Port: 1}
	disk := records.NodeAttributeKey{Prefix: records.AttributeCentralized, Name: "disk"}
	diskProto := pbconv.NodeAttributeKeyProto(disk)
	stringType := yarnpb.NodeAttributeTypeProto_STRING.Enum()
	large := &yarnpb.ResourceProto{Memory: proto.Int64(5), VirtualCores: proto.Int32(6), ResourceValueMap: []*yarnpb.ResourceInformationProto{
		{Key: proto.String("memory-mb"), Value: proto.Int64(5), Units: proto.String("Mi")}, {Key: proto.String("gpu"), Value: proto.Int64(7)},
	}}
	largeProfile := records.ResourceProfile{
		Name: "large", Resource: records.Resource{MemoryMB: 5, VCores: 6}.With("gpu", records.ResourceAmount{Value: 7}),
	}
	return map[string]exchange{
		"getNewApplication": {
			&yarnpb.GetNewApplicationRequestProto{},
			&yarnpb.GetNewApplicationResponseProto{ApplicationId: id, MaximumCapability: &yarnpb.ResourceProto{Memory: proto.Int64(9)}},
			func(ctx context.Context, c *Client) (any, error) { return c.NewApplication(ctx) },
			Application{ID: testID, Maximum: records.Resource{MemoryMB: 9}},
		},
		"getApplicationReport": {
			&yarnpb.GetApplicationReportRequestProto{ApplicationId: id},
			&yarnpb.GetApplicationReportResponseProto{ApplicationReport: &yarnpb.ApplicationReportProto{ApplicationId: id, Diagnostics: proto.String("d")}},
			func(ctx context.Context, c *Client) (any, error) { return c.ApplicationReport(ctx, testID) },
			records.ApplicationReport{ID: testID, Diagnostics: "d"},
		},
		"getApplications": {
			&yarnpb.GetApplicationsRequestProto{
				Users: []string{"u"}, Scope: yarnpb.ApplicationsRequestScopeProto_OWN.Enum(),
				StartBegin: proto.Int64(1410901177871), FinishEnd: proto.Int64(1410901177871),
			},
			&yarnpb.GetApplicationsResponseProto{Applications: []*yarnpb.ApplicationReportProto{{ApplicationId: id, Diagnostics: proto.String("d")}}},
			func(ctx context.Context, c *Client) (any, error) {
				return c.Applications(ctx, Filter{Users: []string{"u"}, Scope: ScopeOwn, Started: TimeRange{From: testTime}, Finished: TimeRange{To: testTime}})
			},
			[]records.ApplicationReport{{ID: testID, Diagnostics: "d"}},
		},
		"forceKillApplication": {
			&yarnpb.KillApplicationRequestProto{ApplicationId: id, Diagnostics: proto.String("why")},
			&yarnpb.KillApplicationResponseProto{IsKillCompleted: proto.Bool(true)},
			func(ctx context.Context, c *Client) (any, error) { return only(c.Kill(ctx, testID, "why")) },
			nil,
		},
		"moveApplicationAcrossQueues": {
			&yarnpb.MoveApplicationAcrossQueuesRequestProto{ApplicationId: id, TargetQueue: proto.String("q")},
			&yarnpb.MoveApplicationAcrossQueuesResponseProto{},
			func(ctx context.Context, c *Client) (any, error) { return only(c.Move(ctx, testID, "q")) },
			nil,
		},
		"updateApplicationPriority": {
			&yarnpb.UpdateApplicationPriorityRequestProto{ApplicationId: id, ApplicationPriority: &yarnpb.PriorityProto{Priority: proto.Int32(7)}},
			&yarnpb.UpdateApplicationPriorityResponseProto{ApplicationPriority: &yarnpb.PriorityProto{Priority: proto.Int32(5)}},
			func(ctx context.Context, c *Client) (any, error) { return c.UpdatePriority(ctx, testID, 7) },
			records.Priority(5),
		},
		"updateApplicationTimeouts": {
			&yarnpb.UpdateApplicationTimeoutsRequestProto{ApplicationId: id, ApplicationTimeouts: timeouts},
			&yarnpb.UpdateApplicationTimeoutsResponseProto{ApplicationTimeouts: timeouts},
			func(ctx context.Context, c *Client) (any, error) { return c.UpdateLifetime(ctx, testID, testTime) },
			testTime,
		},
		"getApplicationAttemptReport": {
			&yarnpb.GetApplicationAttemptReportRequestProto{ApplicationAttemptId: attempt},
			&yarnpb.GetApplicationAttemptReportResponseProto{ApplicationAttemptReport: &yarnpb.ApplicationAttemptReportProto{ApplicationAttemptId: attempt, Diagnostics: proto.String("")}},
			func(ctx context.Context, c *Client) (any, error) { return c.Attempt(ctx, testAttempt) },
			records.AttemptReport{ID: testAttempt},
		},
		"getApplicationAttempts": {
			&yarnpb.GetApplicationAttemptsRequestProto{ApplicationId: id},
			&yarnpb.GetApplicationAttemptsResponseProto{ApplicationAttempts: []*yarnpb.ApplicationAttemptReportProto{{ApplicationAttemptId: attempt, Diagnostics: proto.String("")}}},
			func(ctx context.Context, c *Client) (any, error) { return c.Attempts(ctx, testID) },
			[]records.AttemptReport{{ID: testAttempt}},
		},
		"failApplicationAttempt": {
			&yarnpb.FailApplicationAttemptRequestProto{ApplicationAttemptId: attempt},
			&yarnpb.FailApplicationAttemptResponseProto{},
			func(ctx context.Context, c *Client) (any, error) { return only(c.FailAttempt(ctx, testAttempt)) },
			nil,
		},
		"getContainerReport": {
			&yarnpb.GetContainerReportRequestProto{ContainerId: container},
			&yarnpb.GetContainerReportResponseProto{ContainerReport: &yarnpb.ContainerReportProto{ContainerId: container, LogUrl: proto.String("l")}},
			func(ctx context.Context, c *Client) (any, error) {
				report, err := c.Container(ctx, testContainer)
				return []any{report.ID, report.LogURL}, err
			},
			[]any{testContainer, "l"},
		},
		"getContainers": {
			&yarnpb.GetContainersRequestProto{ApplicationAttemptId: attempt},
			&yarnpb.GetContainersResponseProto{Containers: []*yarnpb.ContainerReportProto{{ContainerId: container}}},
			func(ctx context.Context, c *Client) (any, error) {
				reports, err := c.Containers(ctx, testAttempt)
				ids := []records.ContainerID{}
				for _, r := range reports {
					ids = append(ids, r.ID)
				}
				return ids, err
			},
			[]records.ContainerID{testContainer},
		},
		"signalToContainer": {
			&yarnpb.SignalContainerRequestProto{ContainerId: container, Command: yarnpb.SignalContainerCommandProto_OUTPUT_THREAD_DUMP.Enum()},
			&yarnpb.SignalContainerResponseProto{},
			func(ctx context.Context, c *Client) (any, error) {
				return only(c.SignalContainer(ctx, testContainer, records.SignalThreadDump))
			},
			nil,
		},
		"getClusterMetrics": {
			&yarnpb.GetClusterMetricsRequestProto{},
			&yarnpb.GetClusterMetricsResponseProto{ClusterMetrics: &yarnpb.YarnClusterMetricsProto{NumActiveNms: proto.Int32(3)}},
			func(ctx context.Context, c *Client) (any, error) { return c.ClusterMetrics(ctx) },
			records.ClusterMetrics{Active: 3},
		},
		"getClusterNodes": {
			&yarnpb.GetClusterNodesRequestProto{NodeStates: []yarnpb.NodeStateProto{yarnpb.NodeStateProto_NS_LOST}},
			&yarnpb.GetClusterNodesResponseProto{NodeReports: []*yarnpb.NodeReportProto{{NodeId: pbconv.NodeIDProto(node)}}},
			func(ctx context.Context, c *Client) (any, error) { return c.ClusterNodes(ctx, records.NodeLost) },
			[]records.NodeReport{{ID: node}},
		},
		"getQueueInfo": {
			&yarnpb.GetQueueInfoRequestProto{QueueName: proto.String("q"), IncludeApplications: proto.Bool(true), IncludeChildQueues: proto.Bool(true), Recursive: proto.Bool(true)},
			&yarnpb.GetQueueInfoResponseProto{QueueInfo: &yarnpb.QueueInfoProto{QueueName: proto.String("q"), Weight: proto.Float32(2), QueueConfigurationsMap: []*yarnpb.QueueConfigurationsMapProto{
				{PartitionName: proto.String("gpu"), QueueConfigurations: &yarnpb.QueueConfigurationsProto{Capacity: proto.Float32(1), AbsoluteMaxCapacity: proto.Float32(0.5)}},
			}}},
			func(ctx context.Context, c *Client) (any, error) {
				return c.QueueInfo(ctx, "q", QueueDetail{Applications: true, Recursive: true})
			},
			records.QueueInfo{Name: "q", Weight: 2, Partitions: map[string]records.QueuePartition{"gpu": {Capacity: 1, AbsoluteMaximumCapacity: 0.5}}},
		},
		"getQueueUserAcls": {
			&yarnpb.GetQueueUserAclsInfoRequestProto{},
			&yarnpb.GetQueueUserAclsInfoResponseProto{QueueUserAcls: []*yarnpb.QueueUserACLInfoProto{{QueueName: proto.String("q")}}},
			func(ctx context.Context, c *Client) (any, error) { return c.QueueUserACLs(ctx) },
			[]records.QueueUserACL{{Queue: "q"}},
		},
		"getNodeToLabels": {
			&yarnpb.GetNodesToLabelsRequestProto{},
			&yarnpb.GetNodesToLabelsResponseProto{NodeToLabels: []*yarnpb.NodeIdToLabelsProto{{NodeId: pbconv.NodeIDProto(node), NodeLabels: []string{"gpu"}}}},
			func(ctx context.Context, c *Client) (any, error) { return c.LabelsOfNodes(ctx) },
			map[records.NodeID][]string{node: {"gpu"}},
		},
		"getLabelsToNodes": {
			&yarnpb.GetLabelsToNodesRequestProto{NodeLabels: []string{"gpu"}},
			&yarnpb.GetLabelsToNodesResponseProto{LabelsToNodes: []*yarnpb.LabelsToNodeIdsProto{{NodeLabels: proto.String("gpu"), NodeId: []*yarnpb.NodeIdProto{pbconv.NodeIDProto(node)}}}},
			func(ctx context.Context, c *Client) (any, error) { return c.NodesOfLabels(ctx, "gpu") },
			map[string][]records.NodeID{"gpu": {node}},
		},
		"getClusterNodeLabels": {
			&yarnpb.GetClusterNodeLabelsRequestProto{},
			&yarnpb.GetClusterNodeLabelsResponseProto{DeprecatedNodeLabels: []string{"gpu"}, NodeLabels: []*yarnpb.NodeLabelProto{{Name: proto.String("gpu")}}},
			func(ctx context.Context, c *Client) (any, error) { return c.NodeLabels(ctx) },
			[]records.NodeLabel{{Name: "gpu", Exclusive: true}},
		},
		"getClusterNodeAttributes": {
			&yarnpb.GetClusterNodeAttributesRequestProto{},
			&yarnpb.GetClusterNodeAttributesResponseProto{NodeAttributes: []*yarnpb.NodeAttributeInfoProto{{AttributeKey: diskProto, AttributeType: stringType}}},
			func(ctx context.Context, c *Client) (any, error) { return c.NodeAttributes(ctx) },
			map[records.NodeAttributeKey]records.NodeAttributeType{disk: records.AttributeString},
		},
		"getAttributesToNodes": {
			&yarnpb.GetAttributesToNodesRequestProto{NodeAttributes: []*yarnpb.NodeAttributeKeyProto{diskProto}},
			&yarnpb.GetAttributesToNodesResponseProto{AttributesToNodes: []*yarnpb.AttributeToNodesProto{{
				NodeAttribute: diskProto, NodeValueMap: []*yarnpb.NodeToAttributeValueProto{{Hostname: proto.String("h"), AttributeValue: proto.String("ssd")}},
			}}},
			func(ctx context.Context, c *Client) (any, error) { return c.NodesOfAttributes(ctx, disk) },
			map[records.NodeAttributeKey]map[string]string{disk: {"h": "ssd"}},
		},
		"getNodesToAttributes": {
			&yarnpb.GetNodesToAttributesRequestProto{Hostnames: []string{"h"}},
			&yarnpb.GetNodesToAttributesResponseProto{NodesToAttributes: []*yarnpb.NodeToAttributesProto{{
				Node: proto.String("h"), NodeAttributes: []*yarnpb.NodeAttributeProto{{AttributeKey: diskProto, AttributeValue: proto.String("ssd")}},
			}}},
			func(ctx context.Context, c *Client) (any, error) { return c.AttributesOfNodes(ctx, "h") },
			map[string][]records.NodeAttribute{"h": {{Key: disk, Type: records.AttributeString, Value: "ssd"}}},
		},
		"getResourceTypeInfo": {
			&yarnpb.GetAllResourceTypeInfoRequestProto{},
			&yarnpb.GetAllResourceTypeInfoResponseProto{ResourceTypeInfo: []*yarnpb.ResourceTypeInfoProto{{Name: proto.String("gpu"), Units: proto.String("k")}}},
			func(ctx context.Context, c *Client) (any, error) { return c.ResourceTypes(ctx) },
			[]records.ResourceType{{Name: "gpu", Units: "k"}},
		},
		"getResourceProfiles": {
			&yarnpb.GetAllResourceProfilesRequestProto{},
			&yarnpb.GetAllResourceProfilesResponseProto{ResourceProfiles: &yarnpb.ResourceProfilesProto{ResourceProfilesMap: []*yarnpb.ResourceProfileEntry{{Name: proto.String("large"), Resources: large}}}},
			func(ctx context.Context, c *Client) (any, error) { return c.ResourceProfiles(ctx) },
			[]records.ResourceProfile{largeProfile},
		},
		"getResourceProfile": {
			&yarnpb.GetResourceProfileRequestProto{Profile: proto.String("large")},
			&yarnpb.GetResourceProfileResponseProto{Resources: large},
			func(ctx context.Context, c *Client) (any, error) { return c.ResourceProfile(ctx, "large") },
			largeProfile,
		},
		"getDelegationToken": {
			&commonpb.GetDelegationTokenRequestProto{Renewer: proto.String("r")},
			&commonpb.GetDelegationTokenResponseProto{Token: pbconv.TokenProto(testToken.WithService(""))},
			func(ctx context.Context, c *Client) (any, error) {
				return c.DelegationToken(ctx, "r")
			},
			testToken.WithService("10.1.1.1:1,[fe80::1]:2"),
		},
		"renewDelegationToken": {
			&commonpb.RenewDelegationTokenRequestProto{Token: pbconv.TokenProto(testToken)},
			&commonpb.RenewDelegationTokenResponseProto{NewExpiryTime: proto.Uint64(1410901177871)},
			func(ctx context.Context, c *Client) (any, error) { return c.RenewDelegationToken(ctx, testToken) },
			testTime,
		},
		"cancelDelegationToken": {
			&commonpb.CancelDelegationTokenRequestProto{Token: pbconv.TokenProto(testToken)},
			&commonpb.CancelDelegationTokenResponseProto{},
			func(ctx context.Context, c *Client) (any, error) {
				return only(c.CancelDelegationToken(ctx, testToken))
			},
			nil,
		},
		"getNewReservation": {
			&yarnpb.GetNewReservationRequestProto{},
			&yarnpb.GetNewReservationResponseProto{ReservationId: pbconv.ReservationIDProto(testReservation)},
			func(ctx context.Context, c *Client) (any, error) { return c.NewReservation(ctx) },
			testReservation,
		},
		"submitReservation": {
			&yarnpb.ReservationSubmissionRequestProto{Queue: proto.String("q"), ReservationDefinition: definitionProto, ReservationId: pbconv.ReservationIDProto(testReservation)},
			&yarnpb.ReservationSubmissionResponseProto{},
			func(ctx context.Context, c *Client) (any, error) {
				return only(c.SubmitReservation(ctx, testReservation, "q", definition))
			},
			nil,
		},
		"updateReservation": {
			&yarnpb.ReservationUpdateRequestProto{ReservationDefinition: definitionProto, ReservationId: pbconv.ReservationIDProto(testReservation)},
			&yarnpb.ReservationUpdateResponseProto{},
			func(ctx context.Context, c *Client) (any, error) {
				return only(c.UpdateReservation(ctx, testReservation, definition))
			},
			nil,
		},
		"deleteReservation": {
			&yarnpb.ReservationDeleteRequestProto{ReservationId: pbconv.ReservationIDProto(testReservation)},
			&yarnpb.ReservationDeleteResponseProto{},
			func(ctx context.Context, c *Client) (any, error) {
				return only(c.DeleteReservation(ctx, testReservation))
			},
			nil,
		},
		"listReservations": {
			&yarnpb.ReservationListRequestProto{
				Queue: proto.String("q"), ReservationId: proto.String("reservation_12_0008"), StartTime: proto.Int64(0),
				EndTime: proto.Int64(1410901177871), IncludeResourceAllocations: proto.Bool(true),
			},
			&yarnpb.ReservationListResponseProto{Reservations: []*yarnpb.ReservationAllocationStateProto{{
				ReservationId: pbconv.ReservationIDProto(testReservation), ReservationDefinition: definitionProto, User: proto.String("u"),
				AllocationRequests: []*yarnpb.ResourceAllocationRequestProto{{StartTime: proto.Int64(1410901177871), Resource: &yarnpb.ResourceProto{Memory: proto.Int64(9)}}},
			}}},
			func(ctx context.Context, c *Client) (any, error) {
				return c.Reservations(ctx, ReservationFilter{Queue: "q", ID: testReservation, Time: TimeRange{To: testTime}, Allocations: true})
			},
			[]records.Reservation{{
				ID: testReservation, Definition: definition, User: "u",
				Allocations: []records.ReservationAllocation{{Start: testTime, Resource: records.Resource{MemoryMB: 9}}},
			}},
		},
	}
}

// It would catch a field that is filled from the wrong source, or not at all.
func TestMethodsSendAndReadWhatTheyAreGiven(t *testing.T) {
	t.Parallel()
	for method, e := range exchanges() {
		c, s := scripted(t, e.answer)
		c.addresses = []string{"10.1.1.1:1", "[fe80::1]:2"}
		got, err := e.call(t.Context(), c)
		if err != nil {
			t.Errorf("%s: %v", method, err)
			continue
		}
		if !slices.Equal(s.calls, []string{method}) {
			t.Errorf("%s: called %v", method, s.calls)
		}
		if diff := cmp.Diff(e.request, s.last, protocmp.Transform()); diff != "" {
			t.Errorf("%s: request (-want +got):\n%s", method, diff)
		}
		if diff := cmp.Diff(e.want, got); diff != "" {
			t.Errorf("%s: result (-want +got):\n%s", method, diff)
		}
	}
}

func TestRefusalsKeepTheirClass(t *testing.T) {
	t.Parallel()
	for method, e := range exchanges() {
		c, _ := scripted(t, exception("YarnException"))
		c.addresses = []string{"10.1.1.1:1"}
		_, err := e.call(t.Context(), c)
		if !errors.Is(err, yarnrpc.ErrYarn) {
			t.Errorf("%s: error is %v", method, err)
		}
	}
}

// Only users would notice a method of Hadoop that the Client lacks.
func TestTheClientHasTheWholeProtocol(t *testing.T) {
	t.Parallel()
	service := yarnpb.File_bobbin_hadoop_yarn_application_client_proto.Services().ByName("ApplicationClientProtocolService")
	var want []string
	for i := range service.Methods().Len() {
		want = append(want, string(service.Methods().Get(i).Name()))
	}
	slices.Sort(want)
	got := append(slices.Collect(maps.Keys(exchanges())), "submitApplication") // TestSubmit
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("methods (-protocol +tried):\n%s", diff)
	}
}

// A name that YARN does not have would be left out, and the request would ask for
// something else.
func TestNamesThatYarnDoesNotHaveAreRefused(t *testing.T) {
	t.Parallel()
	c, s := scripted(t)
	for what, call := range map[string]func() error{
		"scope": func() error {
			_, err := c.Applications(t.Context(), Filter{Scope: "MINE"})
			return err
		},
		"signal": func() error { return c.SignalContainer(t.Context(), testContainer, "HANGUP") },
		"order of a new reservation": func() error {
			return c.SubmitReservation(t.Context(), testReservation, "q", records.ReservationDefinition{Order: "R_RANDOM"})
		},
		"order of a reservation": func() error {
			return c.UpdateReservation(t.Context(), testReservation, records.ReservationDefinition{Order: "R_RANDOM"})
		},
	} {
		if err := call(); err == nil || !strings.Contains(err.Error(), "yarn has no ") {
			t.Errorf("%s: error is %v", what, err)
		}
	}
	if len(s.calls) != 0 {
		t.Errorf("called %v", s.calls)
	}
}

func TestTokensAreMadeOutForAllResourceManagers(t *testing.T) {
	t.Parallel()
	answer := &commonpb.GetDelegationTokenResponseProto{Token: pbconv.TokenProto(testToken.WithService(""))}
	for name, test := range map[string]struct {
		addresses []string
		named     bool
		want      string
	}{
		"by address":  {[]string{"127.0.0.1:8032"}, false, "127.0.0.1:8032"},
		"looked up":   {[]string{"localhost:8032", "127.0.0.2:8032"}, false, "127.0.0.1:8032,127.0.0.2:8032"},
		"by name":     {[]string{"RM1.example:8032", "rm2.example:8032"}, true, "rm1.example:8032,rm2.example:8032"},
		"no port":     {[]string{"localhost"}, false, ""},
		"a bad port":  {[]string{"localhost:x"}, false, ""},
		"no such one": {[]string{"nowhere.invalid:1"}, false, ""},
	} {
		c, s := scripted(t, answer)
		c.addresses, c.namedTokens = test.addresses, test.named
		token, err := c.DelegationToken(t.Context(), "r")
		if test.want == "" {
			if err == nil || len(s.calls) != 0 {
				t.Errorf("%s: token is %v, %v", name, token, err)
			}
			continue
		}
		if err != nil || token.Service != test.want || string(token.Password) != "p" {
			t.Errorf("%s: token is %v, %v, want one for %s", name, token, err, test.want)
		}
	}
	c, _ := scripted(t, &commonpb.GetDelegationTokenResponseProto{})
	if _, err := c.DelegationToken(t.Context(), "r"); !errors.Is(err, ErrNoToken) {
		t.Errorf("error for an answer without token is %v", err)
	}
}
