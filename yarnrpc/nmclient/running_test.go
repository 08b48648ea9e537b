package nmclient

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

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

// recorder keeps the last call and answers it.
type recorder struct {
	method  string
	request proto.Message
	answer  proto.Message // merged into the response, nil: none
	err     error
}

func (r *recorder) Reset()       {}
func (r *recorder) Close() error { return nil }

func (r *recorder) Call(_ context.Context, method string, request, response proto.Message) error {
	r.method, r.request = method, request
	if r.answer != nil {
		proto.Merge(response, r.answer)
	}
	return r.err
}

// Every call must have its own name, message and container. Its error must name both, and
// tell whether the call may have been executed.
func TestCallsForARunningContainer(t *testing.T) {
	t.Parallel()
	id := testContainer.ID
	launch := records.ContainerLaunchContext{Commands: []string{"sleep 2"}}
	file := records.LocalResource{URL: records.URL{Scheme: "hdfs", Host: "nn", Port: 8020, Path: "/f"}, Timestamp: 5, Type: records.LocalFile}
	for method, test := range map[string]struct {
		call func(context.Context, *Client) error
		want proto.Message
	}{
		"signalToContainer": {
			func(ctx context.Context, c *Client) error {
				return c.Signal(ctx, testNode, id, records.SignalThreadDump)
			},
			&yarnpb.SignalContainerRequestProto{ContainerId: pbconv.ContainerIDProto(id), Command: yarnpb.SignalContainerCommandProto_OUTPUT_THREAD_DUMP.Enum()},
		},
		"updateContainer": {
			func(ctx context.Context, c *Client) error { return c.Update(ctx, testContainer) },
			&yarnpb.ContainerUpdateRequestProto{UpdateContainerToken: tokens(testContainer.Token)},
		},
		"localize": {
			func(ctx context.Context, c *Client) error {
				return c.Localize(ctx, testNode, id, map[string]records.LocalResource{"f": file})
			},
			&yarnpb.ResourceLocalizationRequestProto{
				ContainerId:    pbconv.ContainerIDProto(id),
				LocalResources: []*yarnpb.StringLocalResourceMapProto{{Key: proto.String("f"), Value: pbconv.LocalResourceProto(file)}},
			},
		},
		"reInitializeContainer": {
			func(ctx context.Context, c *Client) error {
				return c.Reinitialize(ctx, testNode, id, launch, CommitLater)
			},
			&yarnpb.ReInitializeContainerRequestProto{
				ContainerId: pbconv.ContainerIDProto(id), ContainerLaunchContext: pbconv.ContainerLaunchContextProto(launch), AutoCommit: proto.Bool(false),
			},
		},
		"restartContainer": {
			func(ctx context.Context, c *Client) error { return c.Restart(ctx, testNode, id) },
			pbconv.ContainerIDProto(id),
		},
		"rollbackLastReInitialization": {
			func(ctx context.Context, c *Client) error { return c.Rollback(ctx, testNode, id) },
			pbconv.ContainerIDProto(id),
		},
		"commitLastReInitialization": {
			func(ctx context.Context, c *Client) error { return c.Commit(ctx, testNode, id) },
			pbconv.ContainerIDProto(id),
		},
		"getLocalizationStatuses": {
			func(ctx context.Context, c *Client) error {
				if _, err := c.LocalizationStatuses(ctx, testNode, id); !errors.Is(err, ErrNotTold) {
					return err
				}
				return nil
			},
			&yarnpb.GetLocalizationStatusesRequestProto{ContainerId: pbconv.ContainerIDProtos([]records.ContainerID{id})},
		},
	} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			nm := new(recorder)
			c := newClient(func(records.NodeID) yarnrpc.Connection { return nm })
			c.SetTokens(map[records.NodeID]*creds.Token{testNode: {}})
			if err := test.call(t.Context(), c); err != nil {
				t.Error(err)
			}
			if diff := cmp.Diff(test.want, nm.request, protocmp.Transform()); nm.method != method || diff != "" {
				t.Errorf("called %s with (-want +got):\n%s", nm.method, diff)
			}
			nm.err = &yarnrpc.CallError{MaybeSent: true, Err: io.EOF}
			if err := test.call(t.Context(), c); !yarnrpc.MaybeSent(err) || !strings.Contains(err.Error(), id.String()+" on n1:8041") {
				t.Errorf("error of a lost call is %v", err)
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			if err := test.call(t.Context(), c); !errors.Is(err, ErrClosed) {
				t.Errorf("error after Close is %v", err)
			}
		})
	}
}

func tokens(all ...*creds.Token) (out []*commonpb.TokenProto) {
	for _, token := range all {
		out = append(out, pbconv.TokenProto(token))
	}
	return out
}

func TestASignalThatYarnDoesNotHaveIsNotSent(t *testing.T) {
	t.Parallel()
	c, m := modelled(t)
	if err := c.Signal(t.Context(), testNode, testContainer.ID, "SIGHUP"); err == nil || !strings.Contains(err.Error(), "SIGHUP") || len(m.calls) > 0 {
		t.Errorf("error is %v after %d calls", err, len(m.calls))
	}
}

func TestARefusedUpdateIsAnError(t *testing.T) {
	t.Parallel()
	nm := &recorder{answer: &yarnpb.ContainerUpdateResponseProto{
		FailedRequests: []*yarnpb.ContainerExceptionMapProto{yarnFailure(testContainer.ID, "has update version [1]")},
	}}
	c := newClient(func(records.NodeID) yarnrpc.Connection { return nm })
	c.SetTokens(map[records.NodeID]*creds.Token{testNode: {}})
	err := c.Update(t.Context(), testContainer)
	if !errors.Is(err, yarnrpc.ErrYarn) || yarnrpc.MaybeSent(err) || !strings.Contains(err.Error(), "has update version [1]") {
		t.Errorf("error is %v", err)
	}
}

func TestLocalizationStatusesTellOfTheKnownAndNameTheUnknown(t *testing.T) {
	t.Parallel()
	other := testContainer.ID
	other.ID++
	nm := &recorder{answer: &yarnpb.GetLocalizationStatusesResponseProto{
		CntnLocalizationStatuses: []*yarnpb.ContainerLocalizationStatusesProto{{
			ContainerId: pbconv.ContainerIDProto(testContainer.ID),
			LocalizationStatuses: []*yarnpb.LocalizationStatusProto{
				{ResourceKey: proto.String("f"), LocalizationState: yarnpb.LocalizationStateProto_L_FAILED.Enum(), Diagnostics: proto.String("not there")},
			},
		}},
		FailedRequests: []*yarnpb.ContainerExceptionMapProto{yarnFailure(other, "is not handled by this NodeManager")},
	}}
	c := newClient(func(records.NodeID) yarnrpc.Connection { return nm })
	c.SetTokens(map[records.NodeID]*creds.Token{testNode: {}})
	third := other
	third.ID++
	got, err := c.LocalizationStatuses(t.Context(), testNode, testContainer.ID, other, third)
	want := map[records.ContainerID][]records.LocalizationStatus{
		testContainer.ID: {{Name: "f", State: records.LocalizationFailed, Diagnostics: "not there"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("statuses (-want +got):\n%s", diff)
	}
	failed, _ := errors.AsType[Failures](err)
	if len(failed) != 2 || !errors.Is(failed.Of(other), yarnrpc.ErrYarn) || !errors.Is(failed.Of(third), ErrNotTold) {
		t.Errorf("error is %v", err)
	}
}
