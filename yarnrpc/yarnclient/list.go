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

// Filter chooses applications (GetApplicationsRequest). An application must match
// every non-zero field. It matches a list if it matches one of its values.
type Filter struct {
	States []records.ApplicationState
	Types  []string // upper and lower case are equal
	Users  []string
	Queues []string // short names or full paths
	Tags   []string // upper and lower case are equal, because YARN keeps tags in lower case
	Name   string   // exactly this name
	Scope  Scope
	// Times are compared in milliseconds; both ends belong to the range. If
	// Finished has a From, the list leaves out applications that have not ended.
	Started, Finished TimeRange
	// Limit bounds the number of applications in the answer. YARN does not define
	// which ones it leaves out. 0: all.
	Limit int
}

// TimeRange is the time from From to To. A zero time leaves that end open.
type TimeRange struct{ From, To time.Time }

// Scope says whose applications a list contains (ApplicationsRequestScope).
type Scope string

const (
	ScopeAll      Scope = "ALL"      // the default: all, with the details that the user may see
	ScopeViewable Scope = "VIEWABLE" // those that the user may view
	ScopeOwn      Scope = "OWN"      // those that the user has submitted
)

// Applications lists the applications that the ResourceManager knows
// (getApplications): all that have not ended, and the latest
// yarn.resourcemanager.max-completed-applications of those that have ended.
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
