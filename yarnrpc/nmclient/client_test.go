package nmclient

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/pbconv"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/sasl"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	testNode      = records.NodeID{Host: "n1", Port: 8041}
	testContainer = records.Container{
		ID: records.ContainerID{
			Attempt: records.ApplicationAttemptID{Application: records.ApplicationID{ClusterTimestamp: 1, ID: 1}, Attempt: 1},
			ID:      2,
		},
		Node:  testNode,
		Token: &creds.Token{Kind: creds.KindContainer, Identifier: []byte{}, Password: []byte("secret")},
	}
)

// nmModel is a NodeManager with a set of containers, whose next answers can be lost.
type nmModel struct {
	t          *testing.T
	containers map[records.ContainerID]bool
	calls      []string
	fault      []func(call func() error) error // of the next calls
	closed     bool
	resets     int
}

func lost(executed bool) func(func() error) error {
	return func(call func() error) error {
		if executed {
			_ = call()
		}
		return &yarnrpc.CallError{MaybeSent: true, Err: io.ErrUnexpectedEOF}
	}
}

// lateLookup is a query that comes before the start is executed: the answer knows no
// container.
func lateLookup(func() error) error { return nil }

func refused(class string) func(func() error) error {
	return func(func() error) error { return &yarnrpc.RemoteError{Class: class, Message: "no"} }
}

func (m *nmModel) Reset() { m.resets++ }

func (m *nmModel) Close() error {
	m.closed = true
	return nil
}

func (m *nmModel) Call(_ context.Context, method string, request, response proto.Message) error {
	m.calls = append(m.calls, method)
	call := func() error {
		switch r := request.(type) {
		case *yarnpb.StartContainersRequestProto:
			m.start(r, response.(*yarnpb.StartContainersResponseProto))
		case *yarnpb.StopContainersRequestProto:
			for _, id := range pbconv.ContainerIDs(r.GetContainerId()) {
				if !m.containers[id] {
					failed := &response.(*yarnpb.StopContainersResponseProto).FailedRequests
					*failed = append(*failed, yarnFailure(id, "is not handled by this NodeManager"))
				}
			}
		case *yarnpb.GetContainerStatusesRequestProto:
			answer := response.(*yarnpb.GetContainerStatusesResponseProto)
			for _, id := range pbconv.ContainerIDs(r.GetContainerId()) {
				if m.containers[id] {
					answer.Status = append(answer.Status, pbconv.ContainerStatusProto(records.ContainerStatus{ID: id, State: records.ContainerRunning}))
				} else {
					answer.FailedRequests = append(answer.FailedRequests, yarnFailure(id, "is not handled by this NodeManager"))
				}
			}
		}
		return nil
	}
	if len(m.fault) > 0 {
		fault := m.fault[0]
		m.fault = m.fault[1:]
		if fault != nil {
			return fault(call)
		}
	}
	return call()
}

func (m *nmModel) start(r *yarnpb.StartContainersRequestProto, response *yarnpb.StartContainersResponseProto) {
	for _, one := range r.GetStartContainerRequest() {
		if string(one.GetContainerToken().GetPassword()) != "secret" {
			m.t.Errorf("container token is %v", one.GetContainerToken())
		}
		id := testContainer.ID
		if m.containers[id] {
			response.FailedRequests = append(response.FailedRequests, yarnFailure(id, "Container "+id.String()+" already is running on this node!!"))
			continue
		}
		m.containers[id] = true
		response.SucceededRequests = append(response.SucceededRequests, pbconv.ContainerIDProto(id))
	}
}

func yarnFailure(id records.ContainerID, message string) *yarnpb.ContainerExceptionMapProto {
	return &yarnpb.ContainerExceptionMapProto{
		ContainerId: pbconv.ContainerIDProto(id),
		Exception: &yarnpb.SerializedExceptionProto{
			ClassName: proto.String("org.apache.hadoop.yarn.exceptions.YarnException"),
			Message:   proto.String(message + "\n\tat somewhere"),
		},
	}
}

func modelled(t *testing.T, faults ...func(func() error) error) (*Client, *nmModel) {
	t.Helper()
	m := &nmModel{t: t, containers: map[records.ContainerID]bool{}, fault: faults}
	c := newClient(func(id records.NodeID) yarnrpc.Connection {
		if id != testNode {
			t.Errorf("connected to %s", id)
		}
		return m
	})
	c.SetTokens(map[records.NodeID]*creds.Token{testNode: {Kind: creds.KindNM}})
	return c, m
}

func TestStart(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		faults []func(func() error) error
		before bool // the container runs already
		want   error
		open   bool // it is unknown whether it runs
		calls  string
	}{
		"a start is one call":                               {calls: "startContainers"},
		"a lost answer is looked up, not started again":     {faults: []func(func() error) error{lost(true)}, calls: "startContainers getContainerStatuses"},
		"a lost request is looked up and made again":        {faults: []func(func() error) error{lost(false)}, calls: "startContainers getContainerStatuses startContainers"},
		"a refusal after a lost answer is looked up":        {faults: []func(func() error) error{lost(true), lateLookup, nil}, calls: "startContainers getContainerStatuses startContainers getContainerStatuses"},
		"a look that fails leaves it open":                  {faults: []func(func() error) error{lost(true), lost(true)}, want: io.ErrUnexpectedEOF, open: true, calls: "startContainers getContainerStatuses"},
		"a container that was started before is an error":   {before: true, want: yarnrpc.ErrYarn, calls: "startContainers"},
		"a refusal of the call is an error":                 {faults: []func(func() error) error{refused("org.apache.hadoop.security.token.SecretManager$InvalidToken")}, want: yarnrpc.ErrInvalidToken, calls: "startContainers"},
		"a connection that was never made is not looked up": {faults: []func(func() error) error{func(func() error) error { return &yarnrpc.CallError{Err: io.EOF} }}, want: io.EOF, calls: "startContainers"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c, m := modelled(t, test.faults...)
				m.containers[testContainer.ID] = test.before
				err := c.Start(t.Context(), testContainer, records.ContainerLaunchContext{Commands: []string{"sleep 1"}})
				if !errors.Is(err, test.want) {
					t.Errorf("error is %v, want %v", err, test.want)
				}
				if yarnrpc.MaybeSent(err) != test.open {
					t.Errorf("error is %v, of a container that may run: %v", err, test.open)
				}
				if got := strings.Join(m.calls, " "); got != test.calls {
					t.Errorf("calls are %s, want %s", got, test.calls)
				}
				if err == nil && !m.containers[testContainer.ID] {
					t.Error("the container does not run")
				}
			})
		})
	}
}

// If a NodeManager breaks every connection, the client must not call it in a tight loop,
// and not beyond the caller's time.
func TestStartsThatAreLostAreMadeAgainAtLeisure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var faults []func(func() error) error
		for range 100 {
			faults = append(faults, lost(false), lateLookup)
		}
		c, m := modelled(t, faults...)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second+time.Millisecond)
		defer cancel()
		err := c.Start(ctx, testContainer, records.ContainerLaunchContext{})
		if !errors.Is(err, context.DeadlineExceeded) || !yarnrpc.MaybeSent(err) {
			t.Errorf("error is %v, want the deadline, and that the container may run", err)
		}
		if len(m.calls) != 22 {
			t.Errorf("%d calls in 10 s, want a start and a look each second", len(m.calls))
		}
	})
}

func TestStartErrorsNameTheContainerAndKeepTheFirstLine(t *testing.T) {
	t.Parallel()
	c, m := modelled(t)
	m.containers[testContainer.ID] = true
	err := c.Start(t.Context(), testContainer, records.ContainerLaunchContext{})
	if err == nil || !strings.Contains(err.Error(), testContainer.ID.String()+" on n1:8041") ||
		!strings.Contains(err.Error(), "already is running") || strings.Contains(err.Error(), "at somewhere") {
		t.Errorf("error is %v", err)
	}
}

// YARN sends a node's token only once. A driver that forgets to pass it on must not wait
// for an unexplained refusal.
func TestANodeWithoutTokenIsNotCalled(t *testing.T) {
	t.Parallel()
	c, m := modelled(t)
	container := testContainer
	container.Node.Host = "n2"
	if err := c.Start(t.Context(), container, records.ContainerLaunchContext{}); !errors.Is(err, ErrNoToken) {
		t.Errorf("error is %v", err)
	}
	if len(m.calls) > 0 {
		t.Errorf("calls are %v", m.calls)
	}
}

func TestARefusedStartOfAnExpiredContainerSaysSo(t *testing.T) {
	t.Parallel()
	for expires, want := range map[time.Duration]bool{-time.Minute: true, time.Minute: false} {
		identifier, err := proto.Marshal(&yarnpb.ContainerTokenIdentifierProto{
			ContainerId:     pbconv.ContainerIDProto(testContainer.ID),
			ExpiryTimeStamp: proto.Int64(time.Now().Add(expires).UnixMilli()),
		})
		if err != nil {
			t.Fatal(err)
		}
		container := testContainer
		container.Token = &creds.Token{Kind: creds.KindContainer, Identifier: identifier, Password: []byte("secret")}
		c, m := modelled(t)
		m.containers[testContainer.ID] = true // makes the model refuse
		err = c.Start(t.Context(), container, records.ContainerLaunchContext{})
		if errors.Is(err, ErrTokenExpired) != want || !errors.Is(err, yarnrpc.ErrYarn) {
			t.Errorf("expires in %s: error is %v", expires, err)
		}
	}
}

func TestStop(t *testing.T) {
	t.Parallel()
	c, m := modelled(t)
	m.containers[testContainer.ID] = true
	if err := c.Stop(t.Context(), testNode, testContainer.ID); err != nil {
		t.Errorf("a stop of a running container: %v", err)
	}
	other := testContainer.ID
	other.ID++
	if err := c.Stop(t.Context(), testNode, other); !errors.Is(err, yarnrpc.ErrYarn) || !strings.Contains(err.Error(), other.String()) {
		t.Errorf("a stop of an unknown container: %v", err)
	}
}

func TestFromConf(t *testing.T) {
	t.Parallel()
	o, err := FromConf(new(hadoopconf.Conf))
	want := yarnrpc.Policy{MaxWait: 3 * time.Minute, BaseDelay: 10 * time.Second}
	if err != nil || o.Policy != want || o.RPC.RPCTimeout != defaultCallTimeout {
		t.Errorf("Hadoop's defaults are %+v, %v", o, err)
	}
	o, err = FromConf(new(hadoopconf.Conf).With("test", map[string]string{
		"yarn.rpc.nm-command-timeout":                 "5000",
		"yarn.client.nodemanager-connect.max-wait-ms": "7000",
		"hadoop.rpc.protection":                       "privacy",
	}))
	if err != nil || o.Policy.MaxWait != 7*time.Second || o.RPC.RPCTimeout != 5*time.Second || !slices.Equal(o.RPC.QOPs, []sasl.QOP{sasl.QOPPrivacy}) {
		t.Errorf("options are %+v, %v", o, err)
	}
	for _, name := range []string{"yarn.rpc.nm-command-timeout", "yarn.client.nodemanager-connect.max-wait-ms", "ipc.ping.interval"} {
		if _, err := FromConf(new(hadoopconf.Conf).With("test", map[string]string{name: "soon"})); err == nil {
			t.Errorf("a malformed %s is accepted", name)
		}
	}
}

func TestStatusesTellOfTheKnownAndNameTheUnknown(t *testing.T) {
	t.Parallel()
	c, m := modelled(t)
	m.containers[testContainer.ID] = true
	other := testContainer.ID
	other.ID++
	got, err := c.Statuses(t.Context(), testNode, testContainer.ID, other)
	if len(got) != 1 || got[0].ID != testContainer.ID || got[0].State != records.ContainerRunning {
		t.Errorf("statuses are %+v", got)
	}
	if err == nil || !strings.Contains(err.Error(), other.String()) || strings.Contains(err.Error(), testContainer.ID.String()+":") {
		t.Errorf("error is %v", err)
	}
}

func TestCloseEndsConnectionsAndCalls(t *testing.T) {
	t.Parallel()
	c, m := modelled(t)
	if err := c.Start(t.Context(), testContainer, records.ContainerLaunchContext{}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	if !m.closed {
		t.Error("the connection is still open")
	}
	if err := c.Stop(t.Context(), testNode, testContainer.ID); !errors.Is(err, ErrClosed) {
		t.Errorf("error after Close is %v", err)
	}
}
