package yarnclient

import (
	"context"
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/pbconv"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// Filter chooses applications; an application must meet every field that is
// not zero, by any of its values (GetApplicationsRequest).
type Filter struct {
	States []records.ApplicationState
	Types  []string // in any case
	Users  []string
	Queues []string // short names or full paths
	Tags   []string // in lower case, as they are kept
	Name   string   // exactly
	Scope  Scope
	// Times are compared to the millisecond; both ends belong to the range. One
	// that has not ended lies in no range of Finished that has a beginning.
	Started, Finished TimeRange
	// Limit bounds the answer; YARN does not say which applications it then leaves
	// out. 0: all.
	Limit int
}

// TimeRange is what lies from From to To; a zero time leaves that end open.
type TimeRange struct{ From, To time.Time }

// Scope is how far a list of applications looks (ApplicationsRequestScope).
type Scope string

const (
	ScopeAll      Scope = "ALL"      // the default: those of others, too, with what the user may see of them
	ScopeViewable Scope = "VIEWABLE" // those that the user may view
	ScopeOwn      Scope = "OWN"      // those that the user has submitted
)

// Applications lists the applications that the ResourceManager knows
// (getApplications): all that live, and of those that have ended the latest
// yarn.resourcemanager.max-completed-applications.
func (c *Client) Applications(ctx context.Context, f Filter) ([]records.ApplicationReport, error) {
	request, err := f.request()
	if err != nil {
		return nil, fmt.Errorf("list applications: %w", err)
	}
	var response yarnpb.GetApplicationsResponseProto
	if err := c.rpc.Call(ctx, "getApplications", request, &response); err != nil {
		return nil, fmt.Errorf("list applications: %w", err)
	}
	return pbconv.ApplicationReports(response.GetApplications()), nil
}

func (f Filter) request() (*yarnpb.GetApplicationsRequestProto, error) {
	request := &yarnpb.GetApplicationsRequestProto{ApplicationTypes: f.Types, Users: f.Users, Queues: f.Queues}
	for _, s := range f.States {
		state := pbconv.ApplicationStateProto(s)
		if state == nil {
			return nil, fmt.Errorf("yarn has no application state %q", s)
		}
		request.ApplicationStates = append(request.ApplicationStates, *state)
	}
	for _, tag := range f.Tags {
		request.ApplicationTags = append(request.ApplicationTags, strings.ToLower(tag))
	}
	if f.Name != "" {
		request.Name = proto.String(f.Name)
	}
	if f.Scope != "" {
		scope, known := yarnpb.ApplicationsRequestScopeProto_value[string(f.Scope)]
		if !known {
			return nil, fmt.Errorf("yarn has no scope %q", f.Scope)
		}
		request.Scope = yarnpb.ApplicationsRequestScopeProto(scope).Enum()
	}
	for _, bound := range []struct {
		to *(*int64)
		at time.Time
	}{
		{&request.StartBegin, f.Started.From},
		{&request.StartEnd, f.Started.To},
		{&request.FinishBegin, f.Finished.From},
		{&request.FinishEnd, f.Finished.To},
	} {
		if !bound.at.IsZero() {
			*bound.to = proto.Int64(bound.at.UnixMilli())
		}
	}
	if f.Limit > 0 {
		request.Limit = proto.Int64(int64(f.Limit))
	}
	return request, nil
}
