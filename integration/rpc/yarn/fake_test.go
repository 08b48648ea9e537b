package yarn

import (
	"fmt"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// It would catch other states, response ids or exceptions of the fake in a life without failures.
func TestTheFakeClusterAnswersAsARealOne(t *testing.T) {
	t.Parallel()
	compare(t, (*conversation).whole)
}

// whole has a conversation as a client and a master without failures.
func (c *conversation) whole() {
	c.strangers()
	token := c.submit()
	c.master = c.proxy(c.resourceManager().Scheduler, yarnrpc.ApplicationMasterProtocol, token)
	c.register()
	response, id := c.allocate()
	c.contain(response, id)
	c.finish()
}

// strangers requests unknown objects.
func (c *conversation) strangers() {
	unknown := &yarnpb.ApplicationIdProto{Id: proto.Int32(77), ClusterTimestamp: proto.Int64(1)}
	attempt := &yarnpb.ApplicationAttemptIdProto{ApplicationId: unknown, AttemptId: proto.Int32(1)}
	c.ask(c.client, "report of an unknown application", "getApplicationReport",
		&yarnpb.GetApplicationReportRequestProto{ApplicationId: unknown}, new(yarnpb.GetApplicationReportResponseProto), nothing)
	c.ask(c.client, "kill of an unknown application", "forceKillApplication",
		&yarnpb.KillApplicationRequestProto{ApplicationId: unknown}, new(yarnpb.KillApplicationResponseProto), nothing)
	c.ask(c.client, "attempt of an unknown application", "getApplicationAttemptReport",
		&yarnpb.GetApplicationAttemptReportRequestProto{ApplicationAttemptId: attempt}, new(yarnpb.GetApplicationAttemptReportResponseProto), nothing)
	c.ask(c.client, "unknown method", "makeCoffee", &yarnpb.GetClusterMetricsRequestProto{}, new(yarnpb.GetClusterMetricsResponseProto), nothing)
	metrics := new(yarnpb.GetClusterMetricsResponseProto)
	c.ask(c.client, "metrics", "getClusterMetrics", &yarnpb.GetClusterMetricsRequestProto{}, metrics, func() string {
		return fmt.Sprint(metrics.GetClusterMetrics().GetNumActiveNms())
	})
}

// submit submits an application with an unmanaged master twice, and one to an unknown queue.
func (c *conversation) submit() *creds.Token {
	bad := c.submission("nowhere")
	c.ask(c.client, "submission to an unknown queue", "submitApplication", bad, new(yarnpb.SubmitApplicationResponseProto), nothing)
	client := c.typed()
	defer client.Close()
	lost := rpctest.Await(c.t, client, idOf(bad.GetApplicationSubmissionContext().GetApplicationId()), "rejected", rpctest.Ended)
	c.note("rejected: %s %s, after an attempt: %t", lost.State, lost.FinalStatus, lost.Attempt.Attempt > 0)
	good := c.submission("default")
	for range 2 {
		c.ask(c.client, "submission", "submitApplication", good, new(yarnpb.SubmitApplicationResponseProto), nothing)
	}
	report := c.launched(good)
	c.note("launched: %s %s attempt %d, host %q, unmanaged %t", report.State, report.FinalStatus, report.Attempt.Attempt, report.Host, report.Unmanaged)
	return report.AMRMToken
}

// submission requests a new id, and makes the submission of an application with an unmanaged master.
func (c *conversation) submission(queue string) *yarnpb.SubmitApplicationRequestProto {
	c.t.Helper()
	created := new(yarnpb.GetNewApplicationResponseProto)
	if err := c.client.Call(c.ctx, "getNewApplication", &yarnpb.GetNewApplicationRequestProto{}, created); err != nil {
		c.t.Fatal(err)
	}
	return &yarnpb.SubmitApplicationRequestProto{ApplicationSubmissionContext: &yarnpb.ApplicationSubmissionContextProto{
		ApplicationId: created.GetApplicationId(), ApplicationName: proto.String("conversation"), Queue: proto.String(queue),
		AmContainerSpec: &yarnpb.ContainerLaunchContextProto{}, UnmanagedAm: proto.Bool(true),
		Resource: &yarnpb.ResourceProto{Memory: proto.Int64(128), VirtualCores: proto.Int32(1)},
	}}
}

// launched waits until the master of a submitted application may register. report is then about this application.
func (c *conversation) launched(s *yarnpb.SubmitApplicationRequestProto) records.ApplicationReport {
	c.t.Helper()
	client := c.typed()
	defer client.Close()
	c.app = s.GetApplicationSubmissionContext().GetApplicationId()
	return rpctest.Await(c.t, client, idOf(c.app), "launched", func(r records.ApplicationReport) bool { return r.AMRMToken != nil })
}

// register makes a master's first calls in a wrong order, and then in the right one.
func (c *conversation) register() {
	c.beat("allocate before registration", 0, &yarnpb.AllocateRequestProto{})
	c.ask(c.master, "finish before registration", "finishApplicationMaster", &yarnpb.FinishApplicationMasterRequestProto{
		FinalApplicationStatus: yarnpb.FinalApplicationStatusProto_APP_FAILED.Enum(),
	}, new(yarnpb.FinishApplicationMasterResponseProto), nothing)
	for range 2 {
		response := new(yarnpb.RegisterApplicationMasterResponseProto)
		c.ask(c.master, "registration", "registerApplicationMaster", &yarnpb.RegisterApplicationMasterRequestProto{
			Host: proto.String("here"), RpcPort: proto.Int32(-1), TrackingUrl: proto.String(""),
		}, response, func() string { return response.GetQueue() })
	}
	client := c.typed()
	defer client.Close()
	// The ResourceManager answers before it has recorded the registration.
	rpctest.Await(c.t, client, idOf(c.app), "running", func(r records.ApplicationReport) bool { return r.State == records.ApplicationRunning })
	c.report("registered")
}

// beat makes an allocate call and records its response id.
func (c *conversation) beat(what string, id int32, request *yarnpb.AllocateRequestProto) *yarnpb.AllocateResponseProto {
	request.ResponseId, request.Progress = proto.Int32(id), proto.Float32(0)
	response := new(yarnpb.AllocateResponseProto)
	c.ask(c.master, what, "allocate", request, response, func() string { return fmt.Sprint("response ", response.GetResponseId()) })
	return response
}

// allocate tests the rules of response ids and asks, and gets a container.
func (c *conversation) allocate() (*yarnpb.AllocateResponseProto, int32) {
	c.beat("first", 0, &yarnpb.AllocateRequestProto{})
	c.beat("first again", 0, &yarnpb.AllocateRequestProto{})
	c.beat("wrong id", 5, &yarnpb.AllocateRequestProto{})
	c.beat("too large", 1, askFor(1<<40))
	c.beat("everything blacklisted", 1, &yarnpb.AllocateRequestProto{
		BlacklistRequest: &yarnpb.ResourceBlacklistRequestProto{BlacklistAdditions: []string{"*"}},
	})
	c.beat("release of another's", 1, &yarnpb.AllocateRequestProto{Release: []*yarnpb.ContainerIdProto{{
		AppAttemptId: &yarnpb.ApplicationAttemptIdProto{ApplicationId: c.app, AttemptId: proto.Int32(2)}, Id: proto.Int64(1),
	}}})
	c.beat("asked", 1, askFor(200))
	response, id := c.heartbeat(2, func(r *yarnpb.AllocateResponseProto) bool { return len(r.GetAllocatedContainers()) > 0 })
	got := response.GetAllocatedContainers()[0]
	c.note("granted: %d with %d MB, %d cores, priority %d, request %d, %d NM tokens", got.GetId().GetId(), got.GetResource().GetMemory(),
		got.GetResource().GetVirtualCores(), got.GetPriority().GetPriority(), got.GetAllocationRequestId(), len(response.GetNmTokens()))
	return response, id
}

// heartbeat calls allocate until the answer is the wanted one. The number of calls depends on the
// cluster.
func (c *conversation) heartbeat(id int32, done func(*yarnpb.AllocateResponseProto) bool) (*yarnpb.AllocateResponseProto, int32) {
	c.t.Helper()
	var response *yarnpb.AllocateResponseProto
	wait.Until(c.t, "the heartbeats bring it", func() bool {
		response = new(yarnpb.AllocateResponseProto)
		request := &yarnpb.AllocateRequestProto{ResponseId: proto.Int32(id), Progress: proto.Float32(0)}
		if err := c.master.Call(c.ctx, "allocate", request, response); err != nil {
			c.t.Fatal(err)
		}
		if id++; response.GetResponseId() != id {
			c.t.Fatalf("response %d, want %d", response.GetResponseId(), id)
		}
		return done(response)
	})
	return response, id
}

// contain starts the granted container, correctly and wrongly, and stops it.
func (c *conversation) contain(response *yarnpb.AllocateResponseProto, id int32) {
	granted := response.GetAllocatedContainers()[0]
	p := response.GetNmTokens()[0].GetToken()
	token := &creds.Token{Identifier: p.GetIdentifier(), Password: p.GetPassword(), Kind: p.GetKind(), Service: p.GetService()}
	node := records.NodeID{Host: granted.GetNodeId().GetHost(), Port: int(granted.GetNodeId().GetPort())}
	manager := c.proxy(node.String(), yarnrpc.ContainerManagementProtocol, token)

	start := func(what string, change func(*yarnpb.StartContainerRequestProto)) {
		one := &yarnpb.StartContainerRequestProto{
			ContainerLaunchContext: &yarnpb.ContainerLaunchContextProto{Command: []string{"sleep 1000"}},
			ContainerToken:         proto.CloneOf(granted.GetContainerToken()),
		}
		change(one)
		started := new(yarnpb.StartContainersResponseProto)
		request := &yarnpb.StartContainersRequestProto{StartContainerRequest: []*yarnpb.StartContainerRequestProto{one}}
		c.ask(manager, what, "startContainers", request, started, func() string {
			return fmt.Sprintf("%d started, refused %s", len(started.GetSucceededRequests()), refusals(started.GetFailedRequests()))
		})
	}
	start("forged token", func(r *yarnpb.StartContainerRequestProto) { r.ContainerToken.Password[0]++ })
	start("start", func(*yarnpb.StartContainerRequestProto) {})
	start("start again", func(*yarnpb.StartContainerRequestProto) {})
	// A NodeManager ignores the stop of a container that it is about to start.
	wait.Until(c.t, "the container runs", func() bool {
		request := &yarnpb.GetContainerStatusesRequestProto{ContainerId: []*yarnpb.ContainerIdProto{granted.GetId()}}
		statuses := new(yarnpb.GetContainerStatusesResponseProto)
		if err := manager.Call(c.ctx, "getContainerStatuses", request, statuses); err != nil {
			c.t.Fatal(err)
		}
		return len(statuses.GetStatus()) == 1 && statuses.GetStatus()[0].GetContainerSubState() == yarnpb.ContainerSubStateProto_CSS_RUNNING
	})

	stranger := proto.CloneOf(granted.GetId())
	stranger.Id = proto.Int64(999)
	for _, one := range []*yarnpb.ContainerIdProto{stranger, granted.GetId()} {
		statuses := new(yarnpb.GetContainerStatusesResponseProto)
		c.ask(manager, "status", "getContainerStatuses", &yarnpb.GetContainerStatusesRequestProto{ContainerId: []*yarnpb.ContainerIdProto{one}}, statuses, func() string {
			if len(statuses.GetStatus()) == 0 {
				return refusals(statuses.GetFailedRequests())
			}
			return fmt.Sprint(statuses.GetStatus()[0].GetState(), statuses.GetStatus()[0].GetExitStatus())
		})
		stopped := new(yarnpb.StopContainersResponseProto)
		c.ask(manager, "stop", "stopContainers", &yarnpb.StopContainersRequestProto{ContainerId: []*yarnpb.ContainerIdProto{one}}, stopped, func() string {
			return fmt.Sprintf("%d stopped, refused %s", len(stopped.GetSucceededRequests()), refusals(stopped.GetFailedRequests()))
		})
	}
	last, id := c.heartbeat(id, func(r *yarnpb.AllocateResponseProto) bool { return len(r.GetCompletedContainerStatuses()) > 0 })
	ended := last.GetCompletedContainerStatuses()[0]
	c.note("completed: %d as %v %d", ended.GetContainerId().GetId(), ended.GetState(), ended.GetExitStatus())
	again, _ := c.heartbeat(id, func(*yarnpb.AllocateResponseProto) bool { return true })
	c.note("then: %d completed, %d granted", len(again.GetCompletedContainerStatuses()), len(again.GetAllocatedContainers()))
}

// finish ends the application, and calls again.
func (c *conversation) finish() {
	response := new(yarnpb.FinishApplicationMasterResponseProto)
	c.ask(c.master, "finish", "finishApplicationMaster", &yarnpb.FinishApplicationMasterRequestProto{
		Diagnostics: proto.String("all is well"), TrackingUrl: proto.String(""),
		FinalApplicationStatus: yarnpb.FinalApplicationStatusProto_APP_SUCCEEDED.Enum(),
	}, response, func() string { return fmt.Sprint(response.GetIsUnregistered()) })
	client := c.typed()
	defer client.Close()
	report := rpctest.Await(c.t, client, idOf(c.app), "finished", rpctest.Ended)
	c.note("finished: %s %s, %q", report.State, report.FinalStatus, report.Diagnostics)
	killed := new(yarnpb.KillApplicationResponseProto)
	c.ask(c.client, "kill of a finished application", "forceKillApplication", &yarnpb.KillApplicationRequestProto{ApplicationId: c.app}, killed, func() string {
		return fmt.Sprint(killed.GetIsKillCompleted())
	})
	attempts := new(yarnpb.GetApplicationAttemptsResponseProto)
	c.ask(c.client, "attempts", "getApplicationAttempts", &yarnpb.GetApplicationAttemptsRequestProto{ApplicationId: c.app}, attempts, func() string {
		return fmt.Sprint(len(attempts.GetApplicationAttempts()), attempts.GetApplicationAttempts()[0].GetYarnApplicationAttemptState())
	})
	c.beat("allocate after the end", 9, &yarnpb.AllocateRequestProto{})
}

// report records the client's report of the application.
func (c *conversation) report(when string) {
	response := new(yarnpb.GetApplicationReportResponseProto)
	c.ask(c.client, when, "getApplicationReport", &yarnpb.GetApplicationReportRequestProto{ApplicationId: c.app}, response, func() string {
		r := response.GetApplicationReport()
		return fmt.Sprintf("%v %v at %s:%d, queue %s, type %s, AMRM token %t", r.GetYarnApplicationState(), r.GetFinalApplicationStatus(),
			r.GetHost(), r.GetRpcPort(), r.GetQueue(), r.GetApplicationType(), r.AmRmToken != nil)
	})
}
