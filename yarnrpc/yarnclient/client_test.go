package yarnclient

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/pbconv"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var testID = records.ApplicationID{ClusterTimestamp: 12, ID: 3}

// script answers calls in order: with a response, an error or a context's end.
type script struct {
	t       *testing.T
	answers []any // proto.Message or error
	calls   []string
	last    proto.Message // request of the last call
}

func (s *script) Call(_ context.Context, method string, request, response proto.Message) error {
	s.calls = append(s.calls, method)
	s.last = request
	if len(s.answers) == 0 {
		s.t.Fatalf("unexpected call %s", method)
	}
	answer := s.answers[0]
	s.answers = s.answers[1:]
	if err, ok := answer.(error); ok {
		return err
	}
	proto.Merge(response, answer.(proto.Message))
	return nil
}

func scripted(t *testing.T, answers ...any) (*Client, *script) {
	s := &script{t: t, answers: answers}
	return newClient(s, func() error { return nil }, 0), s
}

// ofAttempt is the report of an application that the scheduler has accepted.
func ofAttempt(n int32, r *yarnpb.GetApplicationReportResponseProto) *yarnpb.GetApplicationReportResponseProto {
	attempt := records.ApplicationAttemptID{Application: testID, Attempt: n}
	r.ApplicationReport.CurrentApplicationAttemptId = pbconv.ApplicationAttemptIDProto(attempt)
	return r
}

func report(state yarnpb.YarnApplicationStateProto, diagnostics string) *yarnpb.GetApplicationReportResponseProto {
	return &yarnpb.GetApplicationReportResponseProto{ApplicationReport: &yarnpb.ApplicationReportProto{
		ApplicationId:        pbconv.ApplicationIDProto(testID),
		YarnApplicationState: state.Enum(),
		Diagnostics:          proto.String(diagnostics),
	}}
}

func exception(class string) error {
	return &yarnrpc.RemoteError{Class: "org.apache.hadoop.yarn.exceptions." + class, Message: "no"}
}

func TestSubmit(t *testing.T) {
	t.Parallel()
	accepted := &yarnpb.SubmitApplicationResponseProto{}
	tests := map[string]struct {
		answers []any
		state   records.ApplicationState
		err     func(error) bool
		calls   string
	}{
		"waits until the scheduler has accepted": {
			answers: []any{
				accepted, report(yarnpb.YarnApplicationStateProto_NEW_SAVING, ""),
				report(yarnpb.YarnApplicationStateProto_SUBMITTED, ""), report(yarnpb.YarnApplicationStateProto_ACCEPTED, ""),
			},
			state: records.ApplicationAccepted,
			calls: "submitApplication getApplicationReport getApplicationReport getApplicationReport",
		},
		"is content with one that has gone further": {
			answers: []any{accepted, report(yarnpb.YarnApplicationStateProto_FINISHED, "")},
			state:   records.ApplicationFinished,
			calls:   "submitApplication getApplicationReport",
		},
		"submits again what a failed-over ResourceManager has forgotten": {
			answers: []any{
				accepted, exception("ApplicationNotFoundException"),
				accepted, report(yarnpb.YarnApplicationStateProto_RUNNING, ""),
			},
			state: records.ApplicationRunning,
			calls: "submitApplication getApplicationReport submitApplication getApplicationReport",
		},
		"gives YARN's reason for a rejection": {
			answers: []any{accepted, report(yarnpb.YarnApplicationStateProto_FAILED, "queue is stopped")},
			state:   records.ApplicationFailed,
			err: func(err error) bool {
				var rejected *RejectedError
				return errors.As(err, &rejected) && rejected.Diagnostics == "queue is stopped" && strings.Contains(err.Error(), "application_12_0003")
			},
			calls: "submitApplication getApplicationReport",
		},
		"is content with one whose master has failed meanwhile": {
			answers: []any{accepted, ofAttempt(1, report(yarnpb.YarnApplicationStateProto_FAILED, "exit code 1"))},
			state:   records.ApplicationFailed,
			calls:   "submitApplication getApplicationReport",
		},
		"passes on a refusal": {
			answers: []any{exception("YarnException")},
			err:     func(err error) bool { return errors.Is(err, yarnrpc.ErrYarn) },
			calls:   "submitApplication",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c, s := scripted(t, test.answers...)
				got, err := c.Submit(t.Context(), records.SubmissionContext{ID: testID, Name: "n"})
				if got.State != test.state {
					t.Errorf("state is %q, want %q", got.State, test.state)
				}
				if test.err == nil && err != nil || test.err != nil && !test.err(err) {
					t.Errorf("error is %v", err)
				}
				if calls := strings.Join(s.calls, " "); calls != test.calls {
					t.Errorf("calls are %s, want %s", calls, test.calls)
				}
			})
		})
	}
}

// YARN would accept it, and let it wait for ever.
func TestAMasterOnAHostWithoutARackIsRefused(t *testing.T) {
	t.Parallel()
	c, s := scripted(t)
	_, err := c.Submit(t.Context(), records.SubmissionContext{ID: testID, Place: records.MasterPlace{Hosts: []string{"h7"}, Strict: true}})
	if err == nil || !strings.Contains(err.Error(), "h7") || !strings.Contains(err.Error(), "rack") || len(s.calls) > 0 {
		t.Errorf("error is %v, after %d calls", err, len(s.calls))
	}
}

func TestSubmitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, _ := scripted(t, &yarnpb.SubmitApplicationResponseProto{},
			report(yarnpb.YarnApplicationStateProto_NEW, ""), report(yarnpb.YarnApplicationStateProto_NEW, ""))
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		if _, err := c.Submit(ctx, records.SubmissionContext{ID: testID}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error is %v", err)
		}
	})
}

func TestKillAsksUntilTheApplicationIsDead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dead := func(yes bool) proto.Message {
			return &yarnpb.KillApplicationResponseProto{IsKillCompleted: proto.Bool(yes)}
		}
		c, s := scripted(t, dead(false), dead(false), dead(true))
		if err := c.Kill(t.Context(), testID, "by the user"); err != nil {
			t.Fatal(err)
		}
		request := s.last.(*yarnpb.KillApplicationRequestProto)
		if len(s.calls) != 3 || request.GetDiagnostics() != "by the user" || pbconv.ApplicationID(request.GetApplicationId()) != testID {
			t.Errorf("%d calls, the last is %v", len(s.calls), request)
		}
	})
}

func TestAQueueThatYarnSaysNothingOfDoesNotExist(t *testing.T) {
	t.Parallel()
	c, _ := scripted(t, &yarnpb.GetQueueInfoResponseProto{})
	if _, err := c.QueueInfo(t.Context(), "nope", QueueDetail{}); !errors.Is(err, ErrQueueNotFound) || !strings.Contains(err.Error(), "nope") {
		t.Errorf("error is %v", err)
	}
}

func TestApplicationsSendsTheFilter(t *testing.T) {
	t.Parallel()
	c, s := scripted(t, &yarnpb.GetApplicationsResponseProto{})
	_, err := c.Applications(t.Context(), Filter{
		States: []records.ApplicationState{records.ApplicationRunning, records.ApplicationAccepted},
		Types:  []string{"Bobbin"}, Users: []string{"u"}, Queues: []string{"q"}, Tags: []string{"Tag"}, Name: "n", Limit: 5,
	})
	if err != nil {
		t.Fatal(err)
	}
	want := &yarnpb.GetApplicationsRequestProto{
		ApplicationStates: []yarnpb.YarnApplicationStateProto{yarnpb.YarnApplicationStateProto_RUNNING, yarnpb.YarnApplicationStateProto_ACCEPTED},
		ApplicationTypes:  []string{"Bobbin"}, Users: []string{"u"}, Queues: []string{"q"}, ApplicationTags: []string{"tag"},
		Name: proto.String("n"), Limit: proto.Int64(5),
	}
	if !proto.Equal(want, s.last) {
		t.Errorf("request is %v, want %v", s.last, want)
	}
	if _, err := c.Applications(t.Context(), Filter{States: []records.ApplicationState{"ASLEEP"}}); err == nil || !strings.Contains(err.Error(), "ASLEEP") {
		t.Errorf("error for an unknown state is %v", err)
	}
	if _, err := c.ClusterNodes(t.Context(), "ASLEEP"); err == nil || !strings.Contains(err.Error(), "ASLEEP") {
		t.Errorf("error for an unknown node state is %v", err)
	}
}

func TestFromConf(t *testing.T) {
	t.Parallel()
	conf := (&hadoopconf.Conf{}).With("test", map[string]string{
		"yarn.resourcemanager.ha.enabled":                          "true",
		"yarn.resourcemanager.ha.rm-ids":                           "a,b",
		"yarn.resourcemanager.hostname.a":                          "rm1",
		"yarn.resourcemanager.hostname.b":                          "rm2",
		"yarn.client.application-client-protocol.poll-interval-ms": "50",
	})
	o, err := FromConf(conf, "alice")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"rm1:8032", "rm2:8032"}, o.Addresses); diff != "" || o.RPC.User.Effective != "alice" || o.PollInterval != 50*time.Millisecond {
		t.Errorf("options are %+v (-want +got):\n%s", o, diff)
	}
	if want := (yarnrpc.Policy{MaxWait: 15 * time.Minute, BaseDelay: 30 * time.Second, MaxDelay: 30 * time.Second}); o.Policy != want {
		t.Errorf("the retries are %+v, want Hadoop's, %+v", o.Policy, want)
	}
	if _, err := FromConf(conf.With("test", map[string]string{"yarn.resourcemanager.connect.max-wait.ms": "soon"}), "alice"); err == nil {
		t.Error("a malformed wait is accepted")
	}
}

// After the message that a server does not answer, users look for a server that is down,
// not for a wrong port or address.
func TestOnlyAResourceManagerThatIsAwayDoesNotAnswer(t *testing.T) {
	for name, tc := range map[string]struct {
		err  error
		away bool
	}{
		"nobody listens":                {&yarnrpc.CallError{Address: "rm:1", Err: syscall.ECONNREFUSED}, true},
		"it hangs":                      {&yarnrpc.CallError{Address: "rm:1", Err: yarnrpc.ErrTimeout}, true},
		"all of a pair are on standby":  {&yarnrpc.CallError{Address: "rm:1", Err: &yarnrpc.RemoteError{Class: "org.apache.hadoop.ipc.StandbyException"}}, true},
		"it is another kind of server":  {&yarnrpc.CallError{Address: "rm:1", Err: &wire.FrameError{Length: 1213486160, Head: []byte("HTTP")}}, false},
		"it wants Kerberos":             {&yarnrpc.CallError{Address: "rm:1", Err: yarnrpc.ErrNoCommonAuth}, false},
		"it answers with an exception":  {&yarnrpc.RemoteError{Class: "java.io.IOException"}, false},
		"it refuses the connection":     {&yarnrpc.CallError{Address: "rm:1", Err: &yarnrpc.RemoteError{Class: "org.apache.hadoop.security.AccessControlException"}}, false},
		"no address of it is known":     {yarnrpc.NewProxy(nil, yarnrpc.Options{}, yarnrpc.Policy{}).Call(t.Context(), "m", nil, nil), false},
		"it answers with what is wrong": {&yarnrpc.CallError{Address: "rm:1", Err: wire.ErrMalformed}, false},
	} {
		rm := resourceManager{&script{t: t, answers: []any{tc.err}}}
		err := rm.Call(t.Context(), "m", nil, nil)
		if away := strings.Contains(err.Error(), "does not answer"); away != tc.away || !errors.Is(err, tc.err) {
			t.Errorf("%s: error %q, want one that says that it does not answer: %v", name, err, tc.away)
		}
	}
}
