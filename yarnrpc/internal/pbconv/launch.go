package pbconv

import (
	"maps"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// Prefixes of enumeration values in protobuf.
const accessPrefix = "APPACCESS_"

// ContainerLaunchContext converts a launch context.
func ContainerLaunchContext(p *yarnpb.ContainerLaunchContextProto) records.ContainerLaunchContext {
	c := records.ContainerLaunchContext{
		Environment: stringMap(p.GetEnvironment()),
		Commands:    p.GetCommand(),
		Tokens:      p.GetTokens(),
		RenewalConf: renewalConf(p.GetTokensConf()),
		Retry:       containerRetry(p.GetContainerRetryContext()),
	}
	if resources := p.GetLocalResources(); len(resources) > 0 {
		c.LocalResources = make(map[string]records.LocalResource, len(resources))
		for _, r := range resources {
			c.LocalResources[r.GetKey()] = LocalResource(r.GetValue())
		}
	}
	if services := p.GetServiceData(); len(services) > 0 {
		c.ServiceData = make(map[string][]byte, len(services))
		for _, s := range services {
			c.ServiceData[s.GetKey()] = s.GetValue()
		}
	}
	c.ACLs = ACLs(p.GetApplication_ACLs())
	return c
}

// ContainerLaunchContextProto converts a launch context. Equal launch contexts give equal
// bytes.
func ContainerLaunchContextProto(c records.ContainerLaunchContext) *yarnpb.ContainerLaunchContextProto {
	return &yarnpb.ContainerLaunchContextProto{
		LocalResources: LocalResourceProtos(c.LocalResources),
		Tokens:         c.Tokens,
		TokensConf:     renewalConfBytes(c.RenewalConf),
		ServiceData: entries(c.ServiceData, func(name string, data []byte) *yarnpb.StringBytesMapProto {
			return &yarnpb.StringBytesMapProto{Key: proto.String(name), Value: data}
		}),
		Environment:           stringMapProto(c.Environment),
		Command:               c.Commands,
		Application_ACLs:      aclProtos(c.ACLs),
		ContainerRetryContext: containerRetryProto(c.Retry),
	}
}

// ACLs converts the rights over an application.
func ACLs(ps []*yarnpb.ApplicationACLMapProto) map[records.ApplicationAccess]string {
	if len(ps) == 0 {
		return nil
	}
	m := make(map[records.ApplicationAccess]string, len(ps))
	for _, p := range ps {
		m[state[records.ApplicationAccess](p.AccessType, accessPrefix)] = p.GetAcl()
	}
	return m
}

func aclProtos(acls map[records.ApplicationAccess]string) []*yarnpb.ApplicationACLMapProto {
	return each(slices.Sorted(maps.Keys(acls)), func(access records.ApplicationAccess) *yarnpb.ApplicationACLMapProto {
		return &yarnpb.ApplicationACLMapProto{
			AccessType: stateProto[yarnpb.ApplicationAccessTypeProto](access, accessPrefix, yarnpb.ApplicationAccessTypeProto_value),
			Acl:        proto.String(acls[access]),
		}
	})
}

func containerRetry(p *yarnpb.ContainerRetryContextProto) records.ContainerRetry {
	if p == nil {
		return records.ContainerRetry{}
	}
	policy := p.GetRetryPolicy() // the default if it is missing
	return records.ContainerRetry{
		Policy:           state[records.RetryPolicy](&policy, ""),
		ErrorCodes:       p.GetErrorCodes(),
		MaxRetries:       int(p.GetMaxRetries()),
		Interval:         time.Duration(p.GetRetryInterval()) * time.Millisecond,
		FailuresValidity: validity(p.GetFailuresValidityInterval()),
	}
}

func containerRetryProto(r records.ContainerRetry) *yarnpb.ContainerRetryContextProto {
	if r.Policy == "" {
		return nil
	}
	return &yarnpb.ContainerRetryContextProto{
		RetryPolicy:              stateProto[yarnpb.ContainerRetryPolicyProto](r.Policy, "", yarnpb.ContainerRetryPolicyProto_value),
		ErrorCodes:               r.ErrorCodes,
		MaxRetries:               proto.Int32(clamp(r.MaxRetries)),
		RetryInterval:            proto.Int32(clamp(int(r.Interval.Milliseconds()))),
		FailuresValidityInterval: proto.Int64(validityMillis(r.FailuresValidity)),
	}
}

// validity converts a time in which failures count. "Always" is -1 in Hadoop and 0 here.
func validity(millis int64) time.Duration { return period(millis, time.Millisecond) }

func validityMillis(d time.Duration) int64 {
	if d <= 0 {
		return -1
	}
	return d.Milliseconds()
}

// LocalResource converts a local resource.
func LocalResource(p *yarnpb.LocalResourceProto) records.LocalResource {
	if p == nil {
		return records.LocalResource{}
	}
	return records.LocalResource{
		URL:        URL(p.GetResource()),
		Size:       p.GetSize(),
		Timestamp:  p.GetTimestamp(),
		Type:       state[records.LocalResourceType](p.Type, ""),
		Visibility: state[records.LocalResourceVisibility](p.Visibility, ""),
		Pattern:    p.GetPattern(),
	}
}

// LocalResourceProto converts a local resource.
func LocalResourceProto(r records.LocalResource) *yarnpb.LocalResourceProto {
	p := &yarnpb.LocalResourceProto{
		Resource:   URLProto(r.URL),
		Size:       proto.Int64(r.Size),
		Timestamp:  proto.Int64(r.Timestamp),
		Type:       stateProto[yarnpb.LocalResourceTypeProto](r.Type, "", yarnpb.LocalResourceTypeProto_value),
		Visibility: stateProto[yarnpb.LocalResourceVisibilityProto](r.Visibility, "", yarnpb.LocalResourceVisibilityProto_value),
	}
	if r.Pattern != "" {
		p.Pattern = proto.String(r.Pattern)
	}
	return p
}

// URL converts the address of a file.
func URL(p *yarnpb.URLProto) records.URL {
	if p == nil {
		return records.URL{}
	}
	return records.URL{
		Scheme:   p.GetScheme(),
		UserInfo: p.GetUserInfo(),
		Host:     p.GetHost(),
		Port:     int(p.GetPort()),
		Path:     p.GetFile(),
	}
}

// URLProto converts the address of a file. It leaves out absent parts, except the port:
// Hadoop writes an absent port as -1.
func URLProto(u records.URL) *yarnpb.URLProto {
	p := &yarnpb.URLProto{Port: proto.Int32(clamp(u.Port)), File: proto.String(u.Path)}
	if u.Scheme != "" {
		p.Scheme = proto.String(u.Scheme)
	}
	if u.Host != "" {
		p.Host = proto.String(u.Host)
	}
	if u.UserInfo != "" {
		p.UserInfo = proto.String(u.UserInfo)
	}
	return p
}

func logAggregationProto(l records.LogAggregation) *yarnpb.LogAggregationContextProto {
	if l == (records.LogAggregation{}) {
		return nil
	}
	p := &yarnpb.LogAggregationContextProto{}
	for _, part := range []struct {
		field **string
		value string
	}{
		{&p.IncludePattern, l.Include},
		{&p.ExcludePattern, l.Exclude},
		{&p.RolledLogsIncludePattern, l.RolledInclude},
		{&p.RolledLogsExcludePattern, l.RolledExclude},
		{&p.LogAggregationPolicyClassName, l.PolicyClass},
		{&p.LogAggregationPolicyParameters, l.PolicyParams},
	} {
		if part.value != "" {
			*part.field = proto.String(part.value)
		}
	}
	return p
}

func logAggregation(p *yarnpb.LogAggregationContextProto) records.LogAggregation {
	if p == nil {
		return records.LogAggregation{}
	}
	value := func(s *string) string {
		if s == nil {
			return ""
		}
		return *s
	}
	return records.LogAggregation{
		Include:       value(p.IncludePattern),
		Exclude:       value(p.ExcludePattern),
		RolledInclude: value(p.RolledLogsIncludePattern),
		RolledExclude: value(p.RolledLogsExcludePattern),
		PolicyClass:   value(p.LogAggregationPolicyClassName),
		PolicyParams:  value(p.LogAggregationPolicyParameters),
	}
}
