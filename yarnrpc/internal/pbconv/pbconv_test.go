package pbconv

import (
	"bytes"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// encoded marshals and unmarshals a message, as the wire does.
func encoded[M proto.Message](t *testing.T, m M) M {
	t.Helper()
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	again := m.ProtoReflect().New().Interface().(M)
	if err := proto.Unmarshal(b, again); err != nil {
		t.Fatal(err)
	}
	return again
}

var (
	app       = records.ApplicationID{ClusterTimestamp: 1410901177871, ID: 7}
	attempt   = records.ApplicationAttemptID{Application: app, Attempt: 2}
	container = records.ContainerID{Attempt: attempt, ID: 3<<40 | 9}
)

func TestLaunchContextsSurviveTheWire(t *testing.T) {
	want := records.ContainerLaunchContext{
		LocalResources: map[string]records.LocalResource{
			"bobbin": {
				URL:  records.URL{Scheme: "hdfs", Host: "ns", Port: -1, Path: "/x/bobbin"},
				Size: 5, Timestamp: 1410901177871,
				Type: records.LocalFile, Visibility: records.VisibilityPrivate,
			},
			"lib/a.jar": {
				URL:  records.URL{Scheme: "hdfs", UserInfo: "me", Host: "nn", Port: 8020, Path: "/a.jar"},
				Type: records.LocalPattern, Visibility: records.VisibilityPublic, Pattern: ".*",
			},
		},
		Environment: map[string]string{"A": "1", "B": ""},
		Commands:    []string{"./bobbin", "appmaster"},
		Tokens:      []byte("HDTS"),
		RenewalConf: map[string]string{"dfs.nameservices": "far", "dfs.ha.namenodes.far": "nn1,nn2"},
		ServiceData: map[string][]byte{"shuffle": {1}},
		ACLs:        map[records.ApplicationAccess]string{records.AccessView: "*", records.AccessModify: " "},
		Retry: records.ContainerRetry{
			Policy: records.RetryOnSpecificCodes, ErrorCodes: []int32{1, 2}, MaxRetries: -1,
			Interval: 3 * time.Second, FailuresValidity: time.Minute,
		},
	}
	p := encoded(t, ContainerLaunchContextProto(want))
	if diff := cmp.Diff(want, ContainerLaunchContext(p)); diff != "" {
		t.Error(diff)
	}
	first, err := proto.Marshal(ContainerLaunchContextProto(want))
	if err != nil {
		t.Fatal(err)
	}
	for range 10 { // maps have no order, and a resent request must be the same bytes
		again, err := proto.Marshal(ContainerLaunchContextProto(want))
		if err != nil || !bytes.Equal(first, again) {
			t.Fatalf("equal launch contexts gave different bytes (%v)", err)
		}
	}
}

func TestSubmissionsSurviveTheWire(t *testing.T) {
	priority := records.Priority(4)
	for name, want := range map[string]records.SubmissionContext{
		"everything": {
			ID: app, Name: "word count", Queue: "small", Priority: &priority,
			Container:   records.ContainerLaunchContext{Commands: []string{"true"}},
			Resource:    records.Resource{MemoryMB: 512, VCores: 1},
			Place:       records.MasterPlace{Hosts: []string{"h1", "h2"}, Racks: []string{"/r"}, Strict: true},
			NodeLabel:   "gpu",
			KeepTokens:  true,
			Unmanaged:   true,
			MaxAttempts: 3, FailuresValidity: time.Hour,
			Type: "BOBBIN", KeepContainers: true, Tags: []string{"a", "b"},
			Lifetime:             90 * time.Second,
			Reservation:          records.ReservationID{ClusterTimestamp: 1, ID: 2},
			SchedulingProperties: map[string]string{"a": "b"},
			Logs: records.LogAggregation{
				Include: ".*", Exclude: "tmp", RolledInclude: "r", RolledExclude: "e", PolicyClass: "c", PolicyParams: "p",
			},
		},
		"little": {ID: app, Name: "x", Queue: "default", Type: "YARN", Resource: records.Resource{MemoryMB: 1, VCores: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			got := SubmissionContext(encoded(t, SubmissionContextProto(want)))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	t.Run("a lifetime is sent in whole seconds, rounded up", func(t *testing.T) {
		p := SubmissionContextProto(records.SubmissionContext{Lifetime: 1500 * time.Millisecond})
		if got := p.GetApplicationTimeouts()[0].GetTimeout(); got != 2 {
			t.Errorf("got %d", got)
		}
	})
	t.Run("what is empty takes the server's default", func(t *testing.T) {
		p := SubmissionContextProto(records.SubmissionContext{})
		if p.Queue != nil || p.Priority != nil || p.ApplicationType != nil || p.NodeLabelExpression != nil || p.ApplicationTimeouts != nil || p.ReservationId != nil {
			t.Errorf("got %v", p)
		}
		if !p.GetCancelTokensWhenComplete() || p.GetAttemptFailuresValidityInterval() != -1 {
			t.Errorf("got %v", p)
		}
	})
}

// To allow no other place, Hadoop sets relaxed locality for the allowed places and clears it for the places above them.
// It would catch a master that runs in a forbidden place, or nowhere.
func TestAMasterGetsItsPlace(t *testing.T) {
	type asked struct {
		Name  string
		Relax bool
	}
	for name, tc := range map[string]struct {
		place records.MasterPlace
		want  []asked
	}{
		"anywhere":                      {records.MasterPlace{Strict: true}, nil},
		"a host, if it can be":          {records.MasterPlace{Hosts: []string{"h"}, Racks: []string{"/r"}}, []asked{{"*", true}, {"/r", true}, {"h", true}}},
		"a host and no other":           {records.MasterPlace{Hosts: []string{"h"}, Racks: []string{"/r"}, Strict: true}, []asked{{"*", false}, {"/r", false}, {"h", true}}},
		"any host of one of two racks":  {records.MasterPlace{Racks: []string{"/r", "/s"}, Strict: true}, []asked{{"*", false}, {"/r", true}, {"/s", true}}},
		"a rack, or another if need be": {records.MasterPlace{Racks: []string{"/r"}}, []asked{{"*", true}, {"/r", true}}},
	} {
		t.Run(name, func(t *testing.T) {
			size := records.Resource{MemoryMB: 512, VCores: 1}
			var got []asked
			for _, r := range SubmissionContextProto(records.SubmissionContext{Resource: size, Place: tc.place}).GetAmContainerResourceRequest() {
				got = append(got, asked{r.GetResourceName(), r.GetRelaxLocality()})
				if Resource(r.GetCapability()) != size || r.GetNumContainers() != 1 {
					t.Errorf("%d of %v are asked for", r.GetNumContainers(), r.GetCapability())
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestContainersSurviveTheWire(t *testing.T) {
	want := records.Container{
		ID: container, Node: records.NodeID{Host: "127.0.0.2", Port: 8041}, NodeHTTPAddress: "127.0.0.2:8042",
		Resource: records.Resource{MemoryMB: 1 << 40, VCores: 4}.With("yarn.io/gpu", records.ResourceAmount{Value: 2}), Priority: 5,
		Token:         &creds.Token{Identifier: []byte("i"), Password: []byte("p"), Kind: creds.KindContainer, Service: "s"},
		ExecutionType: records.ExecutionOpportunistic, AllocationRequestID: 77, Version: 2, AllocationTags: []string{"t"},
		ExposedPorts: `{"8080/tcp":[{"HostIp":"0.0.0.0","HostPort":"32768"}]}`,
	}
	got := Container(encoded(t, ContainerProto(want)))
	if diff := cmp.Diff(want, got); diff != "" || string(got.Token.Password) != "p" {
		t.Error(diff)
	}
	status := records.ContainerStatus{
		ID: container, State: records.ContainerComplete, SubState: records.ContainerSubDone,
		ExitStatus: records.ExitPreempted, Diagnostics: "gone", Capability: want.Resource,
		ExecutionType: records.ExecutionGuaranteed, Attributes: map[string]string{"HOST": "h"},
	}
	if diff := cmp.Diff(status, ContainerStatus(encoded(t, ContainerStatusProto(status)))); diff != "" {
		t.Error(diff)
	}
	node := records.NodeReport{
		ID: want.Node, HTTPAddress: "h:1", Rack: "/default-rack", Used: records.Resource{MemoryMB: 1, VCores: 2},
		Capability: want.Resource, Containers: 3, State: records.NodeDecommissioning, HealthReport: "well",
		LastHealthReport: time.UnixMilli(1410901177871), Labels: []string{"x"}, DecommissioningTimeout: 30 * time.Second,
		Attributes:            []records.NodeAttribute{{Key: records.NodeAttributeKey{Prefix: "nm.yarn.io", Name: "os"}, Type: records.AttributeString, Value: "linux"}},
		ContainersUtilization: records.Utilization{PhysicalMB: 1, VirtualMB: 2, CPU: 0.5},
		NodeUtilization:       records.Utilization{PhysicalMB: 3, VirtualMB: 4, CPU: 1.5},
		Change:                records.NodeDecommissions,
	}
	if diff := cmp.Diff(node, NodeReport(encoded(t, NodeReportProto(node)))); diff != "" {
		t.Error(diff)
	}
}

func TestReportsAreRead(t *testing.T) {
	token := &creds.Token{Identifier: []byte{}, Password: []byte{}, Kind: "k"}
	report := ApplicationReport(encoded(t, &yarnpb.ApplicationReportProto{
		ApplicationId:               ApplicationIDProto(app),
		CurrentApplicationAttemptId: ApplicationAttemptIDProto(attempt),
		YarnApplicationState:        yarnpb.YarnApplicationStateProto_NEW_SAVING.Enum(),
		FinalApplicationStatus:      yarnpb.FinalApplicationStatusProto_APP_KILLED.Enum(),
		LogAggregationStatus:        yarnpb.LogAggregationStatusProto_LOG_TIME_OUT.Enum(),
		StartTime:                   proto.Int64(1410901177871),
		FinishTime:                  proto.Int64(0),
		RpcPort:                     proto.Int32(-1),
		ClientToAmToken:             TokenProto(token),
		AppResource_Usage: &yarnpb.ApplicationResourceUsageReportProto{
			NumUsedContainers:                    proto.Int32(-1),
			MemorySeconds:                        proto.Int64(7),
			ApplicationResourceUsageMap:          seconds("memory-mb", 7, "vcores", 8, "yarn.io/gpu", 9),
			ApplicationPreemptedResourceUsageMap: seconds("yarn.io/gpu", 2),
		},
		AppNodeLabelExpression: proto.String("gpu"),
		AmNodeLabelExpression:  proto.String("cpu"),
		AppTimeouts: []*yarnpb.AppTimeoutsMapProto{{
			ApplicationTimeoutType: yarnpb.ApplicationTimeoutTypeProto_APP_TIMEOUT_LIFETIME.Enum(),
			ApplicationTimeout: &yarnpb.ApplicationTimeoutProto{
				ApplicationTimeoutType: yarnpb.ApplicationTimeoutTypeProto_APP_TIMEOUT_LIFETIME.Enum(),
				ExpireTime:             proto.String("2014-09-16T22:59:37.871+0200"),
			},
		}},
	}))
	want := records.ApplicationReport{
		ID: app, Attempt: attempt, State: records.ApplicationNewSaving, FinalStatus: records.FinalKilled,
		Logs: records.LogsTimedOut, Started: time.UnixMilli(1410901177871), RPCPort: -1,
		ClientToAMToken: token,
		Usage: records.ResourceUsage{
			UsedContainers: -1, MemoryMBSeconds: 7,
			OtherSeconds:          records.NewResourceValues(map[string]records.ResourceAmount{"yarn.io/gpu": {Value: 9}}),
			PreemptedOtherSeconds: records.NewResourceValues(map[string]records.ResourceAmount{"yarn.io/gpu": {Value: 2}}),
		},
		Expires: time.UnixMilli(1410901177871), NodeLabel: "gpu", MasterNodeLabel: "cpu",
		Diagnostics: "N/A", // Hadoop's default
	}
	if diff := cmp.Diff(want, report); diff != "" {
		t.Error(diff)
	}
	attemptReport := AttemptReport(encoded(t, &yarnpb.ApplicationAttemptReportProto{
		YarnApplicationAttemptState: yarnpb.YarnApplicationAttemptStateProto_APP_ATTEMPT_ALLOCATED_SAVING.Enum(),
		AmContainerId:               ContainerIDProto(container),
	}))
	if attemptReport.State != records.AttemptAllocatedSaving || attemptReport.MasterContainer != container {
		t.Errorf("got %+v", attemptReport)
	}
	queue := QueueInfo(encoded(t, &yarnpb.QueueInfoProto{
		QueueName: proto.String("root"), State: yarnpb.QueueStateProto_Q_RUNNING.Enum(),
		ChildQueues: []*yarnpb.QueueInfoProto{{QueueName: proto.String("a"), State: yarnpb.QueueStateProto_Q_STOPPED.Enum()}},
	}))
	if queue.State != records.QueueRunning || len(queue.Children) != 1 || queue.Children[0].State != records.QueueStopped {
		t.Errorf("got %+v", queue)
	}
	acls := QueueUserACLs([]*yarnpb.QueueUserACLInfoProto{{
		QueueName: proto.String("a"), UserAcls: []yarnpb.QueueACLProto{yarnpb.QueueACLProto_QACL_SUBMIT_APPLICATIONS},
	}})
	if len(acls) != 1 || len(acls[0].ACLs) != 1 || acls[0].ACLs[0] != records.QueueSubmitApplications {
		t.Errorf("got %+v", acls)
	}
}

func seconds(pairs ...any) []*yarnpb.StringLongMapProto {
	var ps []*yarnpb.StringLongMapProto
	for i := 0; i < len(pairs); i += 2 {
		ps = append(ps, &yarnpb.StringLongMapProto{Key: proto.String(pairs[i].(string)), Value: proto.Int64(int64(pairs[i+1].(int)))})
	}
	return ps
}

func TestAContainersPortsAreReported(t *testing.T) {
	const ports = `{"53/udp":null}`
	if got := ContainerReport(encoded(t, &yarnpb.ContainerReportProto{ExposedPorts: proto.String(ports)})).ExposedPorts; got != ports {
		t.Errorf("got %q", got)
	}
}

// Hadoop 3.4.3 writes the cores of the maximum over those of the minimum. It would catch a maximum without cores, and a
// later release with exchanged fields.
func TestAFairQueueHasItsShares(t *testing.T) {
	p := &yarnpb.QueueInfoProto{
		MinResourceMemory: proto.Int64(1), MinResourceVCore: proto.Int32(20), MaxResourceMemory: proto.Int64(10),
		ReservedResourceMemory: proto.Int64(3), ReservedResourceVCore: proto.Int32(4),
		SteadyFairShareMemory: proto.Int64(5), SteadyFairShareVCore: proto.Int32(6), MaxRunningApp: proto.Int32(7),
	}
	want := records.FairQueue{
		Minimum: records.Resource{MemoryMB: 1}, Maximum: records.Resource{MemoryMB: 10, VCores: 20},
		Reserved: records.Resource{MemoryMB: 3, VCores: 4}, Steady: records.Resource{MemoryMB: 5, VCores: 6}, MaxRunningApps: 7,
	}
	if diff := cmp.Diff(want, QueueInfo(encoded(t, p)).Fair); diff != "" {
		t.Error(diff)
	}
	p.MinResourceVCore, p.MaxResourceVCore = proto.Int32(2), proto.Int32(20)
	want.Minimum.VCores = 2
	if diff := cmp.Diff(want, QueueInfo(encoded(t, p)).Fair); diff != "" {
		t.Error(diff)
	}
}

// The constants of records are compared with the generated names. A misspelt one would not be sent, and would never
// match a server's value.
func TestEveryStateHasItsNumber(t *testing.T) {
	for name, tc := range map[string]struct {
		values map[string]int32
		prefix string
		known  []string
	}{
		"application": {yarnpb.YarnApplicationStateProto_value, "", names(records.ApplicationNew, records.ApplicationNewSaving,
			records.ApplicationSubmitted, records.ApplicationAccepted, records.ApplicationRunning, records.ApplicationFinished,
			records.ApplicationFailed, records.ApplicationKilled)},
		"attempt": {yarnpb.YarnApplicationAttemptStateProto_value, attemptPrefix, names(records.AttemptNew, records.AttemptSubmitted,
			records.AttemptScheduled, records.AttemptAllocatedSaving, records.AttemptAllocated, records.AttemptLaunched,
			records.AttemptFailed, records.AttemptRunning, records.AttemptFinishing, records.AttemptFinished, records.AttemptKilled)},
		"final": {yarnpb.FinalApplicationStatusProto_value, finalPrefix, names(records.FinalUndefined, records.FinalSucceeded,
			records.FinalFailed, records.FinalKilled, records.FinalEnded)},
		"container": {yarnpb.ContainerStateProto_value, containerPrefix, names(records.ContainerNew, records.ContainerRunning,
			records.ContainerComplete)},
		"container sub-state": {yarnpb.ContainerSubStateProto_value, containerSubPrefix, names(records.ContainerSubScheduled,
			records.ContainerSubRunning, records.ContainerSubPaused, records.ContainerSubCompleting, records.ContainerSubDone)},
		"execution type": {yarnpb.ExecutionTypeProto_value, "", names(records.ExecutionGuaranteed, records.ExecutionOpportunistic)},
		"node": {yarnpb.NodeStateProto_value, nodePrefix, names(records.NodeNew, records.NodeRunning, records.NodeUnhealthy,
			records.NodeDecommissioned, records.NodeLost, records.NodeRebooted, records.NodeDecommissioning, records.NodeShutdown)},
		"queue":     {yarnpb.QueueStateProto_value, queuePrefix, names(records.QueueStopped, records.QueueRunning, records.QueueDraining)},
		"queue ACL": {yarnpb.QueueACLProto_value, queueACLPrefix, names(records.QueueSubmitApplications, records.QueueAdminister)},
		"logs": {yarnpb.LogAggregationStatusProto_value, logsPrefix, names(records.LogsDisabled, records.LogsNotStarted, records.LogsRunning,
			records.LogsSucceeded, records.LogsFailed, records.LogsTimedOut, records.LogsRunningWithFailure)},
		"access":              {yarnpb.ApplicationAccessTypeProto_value, accessPrefix, names(records.AccessView, records.AccessModify)},
		"retry":               {yarnpb.ContainerRetryPolicyProto_value, "", names(records.RetryNever, records.RetryOnAllErrors, records.RetryOnSpecificCodes)},
		"local resource type": {yarnpb.LocalResourceTypeProto_value, "", names(records.LocalFile, records.LocalArchive, records.LocalPattern)},
		"signal":              {yarnpb.SignalContainerCommandProto_value, "", names(records.SignalThreadDump, records.SignalGracefulShutdown, records.SignalForcefulShutdown)},
		"order":               {yarnpb.ReservationRequestInterpreterProto_value, "", names(records.ReserveAny, records.ReserveAll, records.ReserveOrder, records.ReserveOrderNoGap)},
		"node change":         {yarnpb.NodeUpdateTypeProto_value, "", names(records.NodeBecameUsable, records.NodeBecameUnusable, records.NodeDecommissions)},
		"attribute type":      {yarnpb.NodeAttributeTypeProto_value, "", names(records.AttributeString)},
		"visibility": {yarnpb.LocalResourceVisibilityProto_value, "", names(records.VisibilityPublic, records.VisibilityPrivate,
			records.VisibilityApplication)},
	} {
		t.Run(name, func(t *testing.T) {
			if len(tc.known) != len(tc.values) {
				t.Errorf("%d constants for %d values", len(tc.known), len(tc.values))
			}
			for _, known := range tc.known {
				if _, there := tc.values[tc.prefix+known]; !there {
					t.Errorf("protobuf has no %s%s", tc.prefix, known)
				}
			}
		})
	}
}

func names[S ~string](states ...S) []string {
	out := make([]string, len(states))
	for i, s := range states {
		out[i] = string(s)
	}
	return out
}

// A newer server may send values that the .proto files do not have.
func TestAStateOfTheFutureIsNoState(t *testing.T) {
	var b []byte
	b = protowire.AppendTag(b, 8, protowire.VarintType) // yarn_application_state
	b = protowire.AppendVarint(b, 99)
	var p yarnpb.ApplicationReportProto
	if err := proto.Unmarshal(b, &p); err != nil {
		t.Fatal(err)
	}
	if got := ApplicationReport(&p).State; got != "" {
		t.Errorf("got %q", got)
	}
	if got := ApplicationStateProto("FUTURE"); got != nil {
		t.Errorf("got %v", got)
	}
}

func TestMissingMessagesAreZeroValues(t *testing.T) {
	for name, zero := range map[string]bool{
		"application":    ApplicationID(nil).IsZero(),
		"attempt":        ApplicationAttemptID(nil).IsZero(),
		"container id":   ContainerID(nil).IsZero(),
		"node":           NodeID(nil).IsZero(),
		"resource":       Resource(nil) == records.Resource{},
		"priority":       Priority(nil) == 0,
		"token":          Token(nil) == nil && TokenProto(nil) == nil,
		"container":      Container(nil).ID.IsZero(),
		"status":         ContainerStatus(nil).ExitStatus == records.ExitUnknown,
		"report":         ApplicationReport(nil).State == "",
		"attempt report": AttemptReport(nil).State == "",
		"node report":    NodeReport(nil).State == "",
		"metrics":        ClusterMetrics(nil) == records.ClusterMetrics{},
		"queue":          QueueInfo(nil).State == "",
		"local resource": LocalResource(nil) == records.LocalResource{},
		"launch context": ContainerLaunchContext(nil).Commands == nil,
		"submission":     SubmissionContext(nil).ID.IsZero(),
		"execution type": ExecutionType(nil) == records.ExecutionGuaranteed,
		"time":           Time(0).IsZero() && Time(-1).IsZero() && Millis(time.Time{}) == 0,
		"report of one":  ContainerReport(nil).ID.IsZero(),
		"reservation":    ReservationDefinition(nil).Requests == nil && ReservationID(nil).IsZero(),
		"attribute":      NodeAttribute(nil) == records.NodeAttribute{} && NodeAttributeKey(nil) == records.NodeAttributeKey{},
		"utilization":    Utilization(nil) == records.Utilization{},
		"expiry":         ExpireTime("UNLIMITED").IsZero() && ExpireTime("").IsZero(),
	} {
		if !zero {
			t.Errorf("%s is not zero", name)
		}
	}
}

func TestRequiredFieldsOfTokensAreThere(t *testing.T) {
	if _, err := proto.Marshal(TokenProto(&creds.Token{})); err != nil {
		t.Error(err)
	}
}

// Hadoop's own messages hold memory and cores both as fields and in the map. Without its unit, an ask would become a
// thousand times as large.
func TestResourceTypesBeyondMemoryAndCores(t *testing.T) {
	entry := func(name string, value int64, units string) *yarnpb.ResourceInformationProto {
		return &yarnpb.ResourceInformationProto{Key: proto.String(name), Value: proto.Int64(value), Units: proto.String(units)}
	}
	sent := &yarnpb.ResourceProto{Memory: proto.Int64(2048), VirtualCores: proto.Int32(4), ResourceValueMap: []*yarnpb.ResourceInformationProto{
		entry("memory-mb", 1, "Gi"), entry("vcores", 9, ""), entry("example.com/disk", 1, "Gi"), entry("yarn.io/fpga", 0, ""), entry("example.com/disk", 5, "Gi"),
	}}
	want := records.Resource{MemoryMB: 2048, VCores: 4}.With("example.com/disk", records.ResourceAmount{Value: 5, Units: "Gi"})
	got := Resource(encoded(t, sent))
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	back := &yarnpb.ResourceProto{Memory: proto.Int64(2048), VirtualCores: proto.Int32(4), ResourceValueMap: []*yarnpb.ResourceInformationProto{
		entry("example.com/disk", 5, "Gi"),
	}}
	if diff := cmp.Diff(back, ResourceProto(got), protocmp.Transform()); diff != "" {
		t.Errorf("sent again (-want +got):\n%s", diff)
	}
}

func TestNumbersThatDoNotFitDoNotWrapAround(t *testing.T) {
	if got := ResourceProto(records.Resource{VCores: math.MaxInt}).GetVirtualCores(); got != math.MaxInt32 {
		t.Errorf("got %d", got)
	}
	if got := ResourceProto(records.Resource{VCores: math.MinInt}).GetVirtualCores(); got != math.MinInt32 {
		t.Errorf("got %d", got)
	}
}

// A window or a lifetime of more than 292 years would become negative, which means "always" or none.
func TestTimesThatDoNotFitDoNotWrapAround(t *testing.T) {
	longest := proto.Int64(math.MaxInt64)
	submission := SubmissionContext(&yarnpb.ApplicationSubmissionContextProto{
		AttemptFailuresValidityInterval: longest,
		ApplicationTimeouts:             []*yarnpb.ApplicationTimeoutMapProto{{Timeout: longest}},
	})
	const centuries = 200 * 365 * 24 * time.Hour
	if submission.FailuresValidity < centuries || submission.Lifetime < centuries {
		t.Errorf("failures count for %v, lifetime %v", submission.FailuresValidity, submission.Lifetime)
	}
	sent := SubmissionContextProto(records.SubmissionContext{Lifetime: math.MaxInt64})
	if got := sent.GetApplicationTimeouts()[0].GetTimeout(); got != math.MaxInt64/int64(time.Second)+1 {
		t.Errorf("lifetime of %d s", got)
	}
	node := NodeReportProto(records.NodeReport{DecommissioningTimeout: math.MaxUint32 * time.Second})
	if got := node.GetDecommissioningTimeout(); got != math.MaxUint32 {
		t.Errorf("decommissioning takes %d s", got)
	}
}

// Hadoop leaves out a field with its default value (NEVER_RETRY).
func TestARetryContextWithoutPolicyHasTheDefault(t *testing.T) {
	got := ContainerLaunchContext(&yarnpb.ContainerLaunchContextProto{
		ContainerRetryContext: &yarnpb.ContainerRetryContextProto{MaxRetries: proto.Int32(3)},
	})
	if got.Retry.Policy != records.RetryNever || got.Retry.MaxRetries != 3 {
		t.Errorf("got %+v", got.Retry)
	}
}
