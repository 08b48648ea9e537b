package nmclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/pbconv"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/testing/rpctest"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// launches returns n launches for a node. The token names the container.
func launches(on records.NodeID, n int) []Launch {
	var all []Launch
	for i := range n {
		id := testContainer.ID
		id.ID = int64(i + 1)
		all = append(all, Launch{Container: records.Container{
			ID: id, Node: on, Token: &creds.Token{Kind: creds.KindContainer, Identifier: fmt.Append(nil, id.ID), Password: []byte("secret")},
		}})
	}
	return all
}

func startedBy(r *yarnpb.StartContainersRequestProto) []records.ContainerID {
	var ids []records.ContainerID
	for _, one := range r.GetStartContainerRequest() {
		id := testContainer.ID
		fmt.Sscan(string(one.GetContainerToken().GetIdentifier()), &id.ID)
		ids = append(ids, id)
	}
	return ids
}

// fussy is a NodeManager that stops a call at a container with a bad token, and refuses
// single containers.
type fussy struct {
	started        map[records.ContainerID]bool
	breaks, refuse int64
	loses          int // answers
	calls          int
}

func (f *fussy) Reset()       {}
func (f *fussy) Close() error { return nil }

func (f *fussy) Call(_ context.Context, method string, request, response proto.Message) error {
	f.calls++
	switch r := request.(type) {
	case *yarnpb.StartContainersRequestProto:
		answer := response.(*yarnpb.StartContainersResponseProto)
		for _, id := range startedBy(r) {
			switch {
			case id.ID == f.breaks:
				return &yarnrpc.RemoteError{Method: method, Class: "org.apache.hadoop.security.token.SecretManager$InvalidToken", Message: "forged"}
			case id.ID == f.refuse, f.started[id]:
				answer.FailedRequests = append(answer.FailedRequests, yarnFailure(id, "no"))
			default:
				f.started[id] = true
			}
		}
		if f.loses > 0 {
			f.loses--
			return &yarnrpc.CallError{MaybeSent: true, Err: io.ErrUnexpectedEOF}
		}
	case *yarnpb.GetContainerStatusesRequestProto:
		for _, id := range pbconv.ContainerIDs(r.GetContainerId()) {
			if f.started[id] {
				answer := response.(*yarnpb.GetContainerStatusesResponseProto)
				answer.Status = append(answer.Status, pbconv.ContainerStatusProto(records.ContainerStatus{ID: id}))
			}
		}
	}
	return nil
}

// A batch must have the same result as single starts, with fewer calls.
func TestABatchOfStarts(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		nm    fussy
		fails []int64
		calls int
	}{
		"a batch is one call":                        {calls: 1},
		"a refused container leaves the others":      {nm: fussy{refuse: 2}, fails: []int64{2}, calls: 1},
		"a bad token leaves those before and behind": {nm: fussy{breaks: 3}, fails: []int64{3}, calls: 2 + 3},
		"a lost answer is looked up for all":         {nm: fussy{loses: 1}, calls: 2},
		"a refusal in a lost answer is found":        {nm: fussy{loses: 1, refuse: 5}, fails: []int64{5}, calls: 3 + 1},
		"a bad token at the begin starts the others": {nm: fussy{breaks: 1}, fails: []int64{1}, calls: 2 + 5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				nm := &test.nm
				nm.started = map[records.ContainerID]bool{}
				c := newClient(func(records.NodeID) yarnrpc.Connection { return nm })
				c.SetTokens(map[records.NodeID]*creds.Token{testNode: {}})
				err := c.StartAll(t.Context(), launches(testNode, 5)...)
				failed, _ := errors.AsType[Failures](err)
				var ids []int64
				for _, f := range failed {
					ids = append(ids, f.Container.ID)
					if nm.started[f.Container] || f.Node != testNode {
						t.Errorf("%s is told as failed and runs", f.Container)
					}
				}
				if !slices.Equal(ids, test.fails) || len(nm.started) != 5-len(test.fails) || (err == nil) != (len(test.fails) == 0) {
					t.Errorf("%v failed (%v), want %v; %d run", ids, err, test.fails, len(nm.started))
				}
				if nm.calls != test.calls {
					t.Errorf("%d calls, want %d", nm.calls, test.calls)
				}
			})
		})
	}
}

// slow is a NodeManager whose calls take a second.
type slow struct{ now, most *atomic.Int32 }

func (s slow) Reset()       {}
func (s slow) Close() error { return nil }

func (s slow) Call(ctx context.Context, _ string, request, response proto.Message) error {
	n := s.now.Add(1)
	defer s.now.Add(-1)
	for most := s.most.Load(); n > most && !s.most.CompareAndSwap(most, n); most = s.most.Load() {
	}
	timer := time.NewTimer(time.Second)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return &yarnrpc.CallError{MaybeSent: true, Err: ctx.Err()}
	}
	if r, is := request.(*yarnpb.GetContainerStatusesRequestProto); is {
		answer := response.(*yarnpb.GetContainerStatusesResponseProto)
		for _, id := range pbconv.ContainerIDs(r.GetContainerId()) {
			answer.Status = append(answer.Status, pbconv.ContainerStatusProto(records.ContainerStatus{ID: id}))
		}
	}
	return nil
}

// Calls to thousands of nodes one after the other take minutes. All at once, they need as
// many connections.
func TestNodesAreCalledSideBySideAndNotAllAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var now, most atomic.Int32
		c := newClient(func(records.NodeID) yarnrpc.Connection { return slow{&now, &most} })
		c.parallel = 10
		var all []Launch
		var containers []records.Container
		tokens := map[records.NodeID]*creds.Token{}
		for i := range 100 {
			on := records.NodeID{Host: fmt.Sprint("n", i), Port: 1}
			tokens[on] = &creds.Token{}
			for _, l := range launches(on, 3) {
				l.Container.ID.ID += int64(10 * i)
				all, containers = append(all, l), append(containers, l.Container)
			}
		}
		c.SetTokens(tokens)
		began := time.Now()
		if err := c.StartAll(t.Context(), all...); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took != 10*time.Second || most.Load() != 10 {
			t.Errorf("it took %v with at most %d calls at once, want 10 s with 10", took, most.Load())
		}
		statuses, err := c.StatusesAll(t.Context(), containers...)
		if err != nil || len(statuses) != 300 {
			t.Errorf("%d statuses, %v", len(statuses), err)
		}
		delete(tokens, all[0].Container.Node)
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		failed, _ := errors.AsType[Failures](c.StopAll(ctx, containers...))
		if len(failed) != 3*90 {
			t.Errorf("%d stops failed, want those of 90 nodes", len(failed))
		}
		if !yarnrpc.MaybeSent(failed.Of(containers[30].ID)) || failed.Of(containers[29].ID) != nil {
			t.Errorf("the stop of the eleventh node is %v, that of the tenth %v", failed.Of(containers[30].ID), failed.Of(containers[29].ID))
		}
	})
}

// All failures of a dead node have one reason, however many containers it had.
func TestFailuresTellEachReasonOnce(t *testing.T) {
	t.Parallel()
	c := newClient(nil)
	err := c.StartAll(t.Context(), launches(testNode, 40)...)
	if !errors.Is(err, ErrNoToken) || strings.Count(err.Error(), ErrNoToken.Error()) != 1 || !strings.Contains(err.Error(), "and 39 more on n1:8041") {
		t.Errorf("error is %v", err)
	}
}

func TestReplacedTokensMakeANewConnection(t *testing.T) {
	t.Parallel()
	c, m := modelled(t)
	if _, err := c.Statuses(t.Context(), testNode); err != nil {
		t.Fatal(err)
	}
	set := func(password string, resets int) {
		t.Helper()
		c.SetTokens(map[records.NodeID]*creds.Token{testNode: {Kind: creds.KindNM, Password: []byte(password)}})
		if m.resets != resets {
			t.Errorf("%d resets after the token %q, want %d", m.resets, password, resets)
		}
	}
	set("", 0)
	set("second", 1)
	set("second", 1)
}

// rolling is a NodeManager over the wire whose key is rolled.
func rolling(t *testing.T, password *atomic.Value) (records.NodeID, *rpctest.Server) {
	server := &rpctest.Server{
		Passwords: func([]byte) ([]byte, error) { return []byte(password.Load().(string)), nil },
		Handler: func(*rpctest.Call) (proto.Message, error) {
			return &yarnpb.GetContainerStatusesResponseProto{Status: []*yarnpb.ContainerStatusProto{
				pbconv.ContainerStatusProto(records.ContainerStatus{ID: testContainer.ID}),
			}}, nil
		},
	}
	on, err := records.ParseNodeID(server.Listen(t))
	if err != nil {
		t.Fatal(err)
	}
	return on, server
}

// An ApplicationMaster that runs for days calls NodeManagers that no longer have the key
// of its first tokens.
func TestARolledTokenIsUsedFromTheNextConnectionOn(t *testing.T) {
	t.Parallel()
	var password atomic.Value
	password.Store("first")
	on, server := rolling(t, &password)
	c := New(Options{})
	defer func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}()
	token := func(password string) map[records.NodeID]*creds.Token {
		return map[records.NodeID]*creds.Token{on: {Kind: creds.KindNM, Identifier: []byte("attempt"), Password: []byte(password)}}
	}
	look := func() error {
		_, err := c.Statuses(t.Context(), on, testContainer.ID)
		return err
	}
	c.SetTokens(token("first"))
	if err := look(); err != nil {
		t.Fatal(err)
	}
	password.Store("second")
	if err := look(); err != nil || server.Logins() != 1 {
		t.Errorf("a connection from before is of no use: %v, %d logins", err, server.Logins())
	}
	server.Disconnect()
	if err := look(); !errors.Is(err, yarnrpc.ErrInvalidToken) && !errors.Is(err, yarnrpc.ErrSASL) {
		t.Errorf("error with a token from before is %v", err)
	}
	c.SetTokens(token("second"))
	if err := look(); err != nil {
		t.Errorf("with the new token: %v", err)
	}
}

// A token that arrives while the old one is being refused must be used.
func TestALoginThatIsRefusedWhileATokenComesIsMadeAgain(t *testing.T) {
	t.Parallel()
	c, m := modelled(t)
	m.fault = append(m.fault, func(func() error) error {
		c.SetTokens(map[records.NodeID]*creds.Token{testNode: {Kind: creds.KindNM, Password: []byte("new")}})
		return &yarnrpc.CallError{Err: &yarnrpc.RemoteError{Class: "org.apache.hadoop.security.token.SecretManager$InvalidToken"}}
	})
	if _, err := c.Statuses(t.Context(), testNode); err != nil || len(m.calls) != 2 {
		t.Errorf("error is %v after %d calls", err, len(m.calls))
	}
	m.fault = append(m.fault, func(func() error) error {
		return &yarnrpc.CallError{Err: &yarnrpc.RemoteError{Class: "org.apache.hadoop.security.token.SecretManager$InvalidToken"}}
	})
	if _, err := c.Statuses(t.Context(), testNode, testContainer.ID); !errors.Is(err, yarnrpc.ErrInvalidToken) || len(m.calls) != 3 {
		t.Errorf("error without a newer token is %v after %d calls", err, len(m.calls))
	}
}
